"""The final state of a shell: a hook that makes bash report it, and the parser of that report.

bash reads the hook from BASH_ENV before the command, so the `-c` argument is still the unchanged command. The
hook sets an EXIT trap that writes the report to a descriptor of the runner. bash writes no report after `exec`, or if
the command sets its own EXIT trap. Then the recorded state is "not alive", which is an observation, not an error.
"""

from __future__ import annotations

import re
from typing import Any

from evaluator.sandbox.runner.protocol import json_of

HOOK_FD, STATE_FD = 7, 251
"""bash's descriptors for the hook and the report. The latter is above the digits that commands use (`exec 9>lock`)."""
_SECTIONS = {
    "cwd": "pwd",
    "umask": "umask",
    "options": "set +o; builtin shopt -p",
    "aliases": "alias -p",
    "traps": "trap -p",
    "functions": "declare -f",
    "variables": "declare -p",
}
_REPORT = " ".join(f"builtin printf '\\''\\0{name}\\0'\\''; builtin {command};" for name, command in _SECTIONS.items())
HOOK = (f"unset BASH_ENV; exec {HOOK_FD}<&-; trap '{{ {_REPORT} }} >&{STATE_FD} 2>/dev/null' EXIT; : bash\n").encode()

_VARIABLE = re.compile(rb"^declare -[-a-zA-Z]+ ([A-Za-z_][A-Za-z0-9_]*)", re.M)
_FUNCTION = re.compile(rb"^([^\s()]+) \(\)\s*$", re.M)
_ALIAS = re.compile(rb"^alias (?:-- )?([^=\n]+)=", re.M)
_OUR_TRAP = re.compile(rb"trap -- '\{ builtin printf .*? EXIT\n?", re.S)


def _entries(text: bytes, head: re.Pattern[bytes]) -> dict[str, Any]:
    """Return the text of each entry in a listing by name. `head` matches the first line of an entry."""
    starts = list(head.finditer(text))
    ends = [*(match.start() for match in starts), len(text)][1:]
    return {
        match[1].decode("utf-8", "backslashreplace"): json_of(text[match.start() : end].rstrip(b"\n"))
        for match, end in zip(starts, ends, strict=True)
    }


def read_state(report: bytes) -> dict[str, Any]:
    """Return the shell state from the hook's report, or `{"alive": False}` if the report is incomplete."""
    parts = report.split(b"\0")
    sections = dict(zip(parts[1::2], parts[2::2], strict=False))
    if set(sections) != {name.encode() for name in _SECTIONS}:
        return {"alive": False}
    traps = _OUR_TRAP.sub(b"", sections[b"traps"])
    return {
        "alive": True,
        "cwd": json_of(sections[b"cwd"].removesuffix(b"\n")),
        "umask": sections[b"umask"].decode("ascii", "replace").strip(),
        "options": sorted(line.decode("utf-8", "replace") for line in sections[b"options"].splitlines()),
        "aliases": _entries(sections[b"aliases"], _ALIAS),
        "traps": sorted((json_of(line) for line in traps.splitlines() if line), key=repr),
        "functions": _entries(sections[b"functions"], _FUNCTION),
        "variables": _entries(sections[b"variables"], _VARIABLE),
    }

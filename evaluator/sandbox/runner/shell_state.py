"""The final state of a shell: a hook that makes bash report it, and the parser of that report.

bash reads the hook from BASH_ENV before the command, so the `-c` argument is still the unchanged command. The
hook sets an EXIT trap that writes the report to a descriptor of the runner. bash writes no report after `exec`, or if
the command sets its own EXIT trap. Then the recorded state is "not alive", which is an observation, not an error.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from evaluator.sandbox.runner.protocol import json_of
from evaluator.sandbox.runner.reading_budget import line_of

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

_CONTENT = f"{{ {_REPORT} }} >&{STATE_FD} 2>/dev/null".replace("'\\''", "'")
_OUR_TRAP = "trap -- '{}' EXIT\n".format(_CONTENT.replace("'", "'\\''")).encode()
"""The line with which bash lists the hook's trap."""

MAX_JSON = 2 << 20
"""The most bytes of the state's JSON."""


def _variable(line: bytes) -> bytes | None:
    """Return the name of the variable in a line such as `declare -x A="1"`, or None for any other line."""
    word, _, rest = line.partition(b" ")
    name = rest.partition(b" ")[2].partition(b"=")[0]
    is_entry = word == b"declare" and rest.startswith(b"-") and name.replace(b"_", b"a").isalnum()
    return name if is_entry and not name[:1].isdigit() else None


def _function(line: bytes) -> bytes | None:
    """Return the name of the function in a line such as `f () `, or None for any other line."""
    name = line.rstrip().removesuffix(b" ()")
    return name if line.rstrip() != name and len(name.split()) == 1 and name == name.strip() else None


def _alias(line: bytes) -> bytes | None:
    """Return the name of the alias in a line such as `alias l='ls -l'`, or None for any other line."""
    name, equals, _ = line.removeprefix(b"alias ").removeprefix(b"-- ").partition(b"=")
    return name if equals and name and line.startswith(b"alias ") else None


def _entries(text: bytes, name_of: Callable[[bytes], bytes | None]) -> dict[str, Any]:
    """Return a mapping from names to entries, read from a list that bash wrote, such as the list of all variables.

    `name_of` returns the name of an entry from the entry's first line, and None for all other lines.
    """
    entries: dict[bytes, list[bytes]] = {}
    lines: list[bytes] = []
    for line in text.split(b"\n"):
        name = name_of(line)
        if name is not None:
            entries[name] = lines = []
        lines.append(line)
    return {
        name.decode("utf-8", "backslashreplace"): json_of(b"\n".join(lines).rstrip(b"\n"))
        for name, lines in entries.items()
    }


def read_state(report: bytes) -> dict[str, Any]:
    """Return the shell's final state from the report that the hook made bash write.

    If the report is incomplete or the state is too long, the result is `{"alive": False}`.
    """
    parts = report.split(b"\0")
    sections = dict(zip(parts[1::2], parts[2::2], strict=False))
    if set(sections) != {name.encode() for name in _SECTIONS}:
        return {"alive": False}
    traps = sections[b"traps"].replace(_OUR_TRAP, b"")
    state = {
        "alive": True,
        "cwd": json_of(sections[b"cwd"].removesuffix(b"\n")),
        "umask": sections[b"umask"].decode("ascii", "replace").strip(),
        "options": sorted(line.decode("utf-8", "replace") for line in sections[b"options"].splitlines()),
        "aliases": _entries(sections[b"aliases"], _alias),
        "traps": sorted((json_of(line) for line in traps.splitlines() if line), key=repr),
        "functions": _entries(sections[b"functions"], _function),
        "variables": _entries(sections[b"variables"], _variable),
    }
    return state if len(line_of(state)) <= MAX_JSON else {"alive": False}

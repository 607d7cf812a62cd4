"""Correct typing errors in commands, as the NLC2CMD reference program does before it parses a command.

The scores of NLC2CMD depend on these corrections. For example, the program replaces `-regex-type` by
`-regextype`, and `-dev` by `-xdev`, wherever they stand in a command.
"""

from __future__ import annotations

import re
from typing import Final

_FIXES: Final = (
    ("/usr/bin/find", "find"), ("/bin/find", "find"), ("/usr/bin/grep", "grep"), ("/bin/rm", "rm"), ("/bin/mv", "mv"),
    ("'{}'", "{}"), ('"{}"', "{}"), ("-i{}", "-I {}"), ("-i%", "-I %"), ("-I{}", "-I {}"), (" [] ", " {} "),
    ("-L.", "-L"), ("-mitime", "-mtime"), ("-dev", "-xdev"), ("-regex-type", "-regextype"),
    (" ( ", " \\( "), (" ) ", " \\) "), ("-\\(", "\\("), ("-\\)", "\\)"), ('"\\)', " \\)"), ("\\(-", "\\( -"),
    ("e\\)", "e \\)"), ("-\\!", "!"), ("\u2014 ", "-"), ("\u2013", "-"), ("\u2014", "-"),
    ("\u201c", '"'), ("\u201d", '"'), ("\u2018", "'"), ("\u2019", "'"),
)  # fmt: skip
_LATER_FIXES: Final = (
    ("/bin/echo", "echo"), (" exec sed ", " -exec sed "), (" xargs -iname ", " xargs "), (" -chour +1 ", " -cmin 60 "),
    (" -target-directory ", " --target-directory="), ("- perm", "-perm"), (" perm", " -perm"), ("'-rd\\n' ", ""),
)  # fmt: skip
_PRINT: Final = re.compile(r"-prin($| )")
_PROMPT: Final = re.compile(r"^[$#] ")
_PROMPTED_FIND: Final = re.compile(r"^[$#]find ")
_LOOSE_END: Final = re.compile(r"(?<=\s)\\\s*\Z")
_TAR: Final = re.compile(r" tar (?=\w)")


def fix_typos(command: str) -> str:
    """Return a command with all corrections that the NLC2CMD program makes, and without `sudo` and shell prompts."""
    command = fix_words(command.replace("\n", " ").strip().replace("sudo", ""))
    command = _PROMPTED_FIND.sub("find ", _PROMPT.sub("", command))
    if "tar" in command:
        command = _TAR.sub(" tar -", f" {command}" if command.startswith("tar") else command)
    return _LOOSE_END.sub("", command.strip())


def fix_words(command: str) -> str:
    """Correct wrong words and characters in a command. Keep `sudo` and shell prompts."""
    for wrong, right in _FIXES:
        if wrong in command:
            command = command.replace(wrong, right)
    command = _PRINT.sub("-print", command)
    for wrong, right in _LATER_FIXES:
        if wrong in command:
            command = command.replace(wrong, right)
    return command

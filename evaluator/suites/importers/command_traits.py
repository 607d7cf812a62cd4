"""This module derives the topic and the output mode of an external task from the structure of its commands.

External suites declare no topic and no output mode. If a reference prints nothing, the output mode is `none`: outputs
are not compared, because another reference may print messages. In all other cases, the output mode is `set`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from evaluator.records import OutputMode, Topic
from evaluator.suites.importers.draft import CommandReader, UtilityCall


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


_TOPICS: Final[Sequence[tuple[Topic, frozenset[str]]]] = (
    (Topic.PERMISSIONS, _names("chmod chown chgrp umask setfacl getfacl chattr lsattr")),
    (
        Topic.ARCHIVES,
        _names("tar gzip gunzip zcat bzip2 bunzip2 xz unxz zip unzip cpio ar zgrep zless bzcat xzcat"),
    ),
    (Topic.PROCESSES, _names("ps pgrep pkill kill killall pstree top jobs nice renice pidof lsof nohup")),
    (Topic.FILES, _names("cp mv rm rmdir mkdir touch ln dd install rsync truncate rename unlink mktemp")),
    (Topic.SEARCH, _names("find locate which whereis type rg")),
    (
        Topic.TEXT,
        _names(
            "awk gawk mawk sed grep egrep fgrep sort uniq cut tr wc head tail cat tac nl paste join comm diff fold fmt "
            "column rev od xxd hexdump strings split csplit expand unexpand shuf printf echo seq yes jq tee cmp look "
            "md5sum sha1sum sha256sum sha512sum cksum sum base64 tsort pr perl"
        ),
    ),
)
"""Topics, the most specific first: a command that finds files and changes their modes has the topic permissions."""

SILENT: Final = _names(
    "cp mv rm rmdir mkdir touch ln chmod chown chgrp install truncate unlink rename gzip gunzip bzip2 bunzip2 xz unxz "
    "tar cpio dd rsync mkfifo mknod split csplit sleep true"
)
"""Utilities that print nothing on success unless an option asks for verbose output."""

NETWORK: Final = _names(
    "curl wget dig nslookup host ping ping6 traceroute tracepath mtr ftp sftp scp telnet nc ncat netcat whois"
)
"""Utilities that contact another machine. `ssh` is not listed, because `ssh -V` contacts none."""

_ABOUT_ITSELF: Final = frozenset({"-V", "--version", "-h", "--help"})
_VERBOSE: Final = frozenset({"-v", "-V", "--verbose", "-t", "--list", "-c", "--changes", "--to-stdout", "-l"})
_TAR_QUIET: Final = frozenset({"-c", "-l"})
_PRINTS: Final = frozenset({"-print", "-print0", "-printf", "-ls", "-fprint"})
_TO_A_FILE: Final = re.compile(r"(?<![<>|2])>>?\s*(?!&)[^\s<>&|;()]+\s*(?:2>\s*(?:&1|/dev/null)\s*)?$")
_SEVERAL: Final = re.compile(r";|&&|\|\||\n")


def topic_of(command: bytes, read: CommandReader) -> Topic:
    """Return the topic of the most specific utility in a command, or `system` if no utility has a topic."""
    names = {utility.name for utility in _all(read(command) or ())}
    if names & {"for", "while", "if"} or re.search(rb"\b(do|then)\b", command):
        return Topic.SCRIPTS
    return next((topic for topic, members in _TOPICS if names & members), Topic.SYSTEM)


def output_mode_of(references: Sequence[bytes], read: CommandReader) -> OutputMode:
    """Return the output mode of a task: `none` if a reference clearly prints nothing, and `set` in all other cases."""
    return OutputMode.NONE if any(is_silent(reference, read) for reference in references) else OutputMode.SET


def is_silent(command: bytes, read: CommandReader) -> bool:
    """Return whether a command that succeeds prints nothing. Return False for a command that cannot be parsed."""
    text = command.decode(errors="replace").strip()
    utilities = read(command)
    if utilities is None:
        return False
    if not _SEVERAL.search(text.replace(r"\;", "")):
        return bool(_TO_A_FILE.search(text)) or (bool(utilities) and _is_quiet(utilities[-1]))
    return bool(utilities) and all(_is_quiet(utility) for utility in utilities)


def _is_quiet(utility: UtilityCall) -> bool:
    flags = {name for name, _ in utility.flags}
    if utility.name == "find":
        acts = "-delete" in flags or bool(utility.nested)
        return acts and not flags & _PRINTS and all(map(_is_quiet, utility.nested))
    if utility.name == "xargs":
        return bool(utility.nested) and all(map(_is_quiet, utility.nested))
    if utility.name == "sed":
        return bool(flags & {"-i", "--in-place"})
    if utility.name in ("tar", "cpio"):
        return not flags & (_VERBOSE - _TAR_QUIET) and "-O" not in flags
    if utility.name in ("gzip", "gunzip", "bzip2", "bunzip2", "xz", "unxz"):
        return not flags & _VERBOSE and bool(utility.arguments)
    return utility.name in SILENT and not flags & {"-v", "--verbose", "-c", "--changes"}


def needs_network(command: bytes, read: CommandReader) -> str | None:
    """Return the first utility of a command that contacts another machine, or None."""
    for utility in _all(read(command) or ()):
        asks = utility.arguments or {name for name, _ in utility.flags} - _ABOUT_ITSELF
        if (utility.name in NETWORK and asks) or (utility.name == "ssh" and utility.arguments):
            return utility.name
    return None


def _all(utilities: Sequence[UtilityCall]) -> Iterator[UtilityCall]:
    for utility in utilities:
        yield from utility.walk()

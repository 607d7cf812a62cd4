"""This module finds the slots of an instruction: paths, names, numbers and conditions that fill a command template.

Only this module quotes values for the shell, and it quotes all of them. So a template needs only plain substitution.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping
from typing import Final

_PLACE: Final = r"[\"'`]?((?:~|\.{1,2})?/[\w./+-]*|[\w.+-]+/[\w./+-]*)[\"'`]?"
_FILE: Final = re.compile(r"(?<![\w*.])[\"'`]?((?:[\w./~+-]*/)?[\w+-][\w.+-]*\.[A-Za-z]\w{0,5})\b[\"'`]?")
_PATH: Final = re.compile(r"(?<![\w.])((?:~|\.{1,2})?/[\w./+-]*\w)")
_QUOTED: Final = re.compile(r"(?<!\w)([\"'`])(.+?)\1(?!\w)")
_DIRECTORY: Final = re.compile(
    rf"\b(?:in|under|inside|within|of|from|below|beneath|at|into|to)\s+(?:the\s+)?(?:whole\s+)?"
    rf"(?:(?:directory|folder)\s+(?:tree\s+)?)?{_PLACE}"
    r"|\b(?:directory|folder)\s+(?:named\s+|called\s+)?[\"'`]?([\w.-]+/?)[\"'`]?(?=$|[\s,.;])"
    r"|\bthe\s+[\"'`]?([\w.-]+)[\"'`]?\s+(?:directory|folder)\b"
)
_NOT_A_NAME: Final = frozenset({
    "and", "are", "as", "be", "by", "called", "containing", "empty", "existing", "new", "current", "each",
    "every", "for", "from", "given", "home", "in", "into", "is", "itself", "its", "named", "of", "or", "parent",
    "present", "recursively", "same", "that", "the", "there", "this", "to", "tree", "where", "which", "whose",
    "with", "working",
})  # fmt: skip
NUMBER_WORDS: Final = {
    "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9, "ten": 10,
    "twelve": 12, "fifteen": 15, "twenty": 20, "thirty": 30, "fifty": 50, "hundred": 100,
}  # fmt: skip
_ORDINALS: Final = (
    "first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth",
)  # fmt: skip
_FILE_TYPES: Final = {
    "text": "txt", "python": "py", "shell": "sh", "bash": "sh", "markdown": "md", "configuration": "conf",
    "config": "conf", "header": "h", "javascript": "js", "java": "java", "perl": "pl",
}  # fmt: skip
_EXTENSIONS: Final = frozenset({
    "txt", "log", "py", "sh", "csv", "tsv", "json", "jpg", "jpeg", "png", "gif", "html", "css", "js", "md", "c",
    "h", "cpp", "conf", "cfg", "xml", "gz", "zip", "tar", "bak", "tmp", "yml", "yaml", "sql", "ini", "pl", "rb",
    "go", "rs", "java", "pdf", "bz2", "xz",
})  # fmt: skip


def find_slots(instruction: str) -> Iterator[tuple[str, str]]:
    """Yield the name and the value of every slot that the instruction fills. Values are quoted for the shell."""
    lowered = instruction.lower()
    yield "directory", shlex.quote(find_directory(instruction))
    for number, file in enumerate(_files(instruction), start=1):
        yield f"file{number}", shlex.quote(file)
    for number, text in enumerate(_texts(instruction), start=1):
        yield f"text{number}", shlex.quote(text)
        yield f"basic{number}", _inside_sed(text)
    if extension := find_extension(lowered):
        yield "extension", extension
    if column := find_column(lowered):
        yield "column", str(column)
    for number, value in enumerate(find_numbers(lowered), start=1):
        yield f"number{number}", str(value)
    yield from find_accounts(instruction)


def _inside_sed(text: str) -> str:
    """Escape a text for `sed 's/…/…/'`. It then stands for itself in both parts of the command."""
    return re.sub(r"([\\/&.*\[\]^$])", r"\\\1", text).replace("'", "'\\''")


def find_directory(instruction: str) -> str:
    """Return the directory that the instruction names. If it names no directory, return the current directory."""
    for match in _DIRECTORY.finditer(instruction):
        directory = next(group for group in match.groups() if group)
        if directory.lower() not in _NOT_A_NAME and not _FILE.fullmatch(directory):
            return directory.rstrip(".,") if len(directory) > 1 else directory
    return "."


def find_extension(lowered: str) -> str | None:
    """Return the file extension in the instruction, without its dot. Return None if there is no extension."""
    patterns = (
        r"\*\.(\w{1,6})\b",
        r"(?<![\w/])\.(\w{1,6})\b(?=[\s\"'`,]|$)",
        r"\b(?:extension|ending (?:in|with)|ends? (?:in|with))\s+(?:of\s+)?[\"'`]?\.?(\w{1,6})\b",
    )
    for pattern in patterns:
        if match := re.search(pattern, lowered):
            return match[1]
    for word in re.findall(r"\b(\w+)\s+(?:files?|scripts?|sources?|documents?)\b", lowered):
        if word in _EXTENSIONS or word in _FILE_TYPES:
            return _FILE_TYPES.get(word, str(word))
    return None


def find_column(lowered: str) -> int | None:
    """Return the number of the column or field in the instruction (4 for "fourth field"), or None without a number."""
    ordinals = "|".join(_ORDINALS)
    match = re.search(r"\b(?:column|field)s?\s+(\d+)\b|\b(\d+)(?:st|nd|rd|th)\s+(?:column|field)", lowered)
    if match:
        return int(match[1] or match[2])
    word = re.search(rf"\b({ordinals})\s+(?:\S+\s+)?(?:column|field)", lowered)
    return _ORDINALS.index(word[1]) + 1 if word else None


def find_numbers(lowered: str) -> list[int]:
    """Return the numbers in the instruction, in digits or words, from left to right."""
    words = "|".join(NUMBER_WORDS)
    matches = re.findall(rf"(?<![\w./-])(\d{{1,9}})(?![\d/.]*[/\d])|\b({words})\b", lowered)
    return [int(digits) if digits else NUMBER_WORDS[word] for digits, word in matches]


def find_accounts(instruction: str) -> Iterator[tuple[str, str]]:
    """Yield the slots `user`, `group` and `mode` with their values in the instruction, quoted for the shell."""
    patterns: Mapping[str, str] = {
        "user": r"\b(?:owned by|belong\w* to|user|owner(?: (?:to|of \S+ to))?)"
        r"\s+(?:the\s+)?(?:user\s+)?[\"'`]?([a-z_][\w-]*)",
        "group": r"\bgroup\s+(?:owner\s+)?(?:to\s+|of\s+\S+\s+to\s+)?[\"'`]?([a-z_][\w-]*)",
        "mode": r"\b(?:mode|permissions?)\s+(?:of\s+\S+\s+)?(?:to\s+|is\s+)?([0-7]{3,4}|[ugoa]*[+=-][rwxXst]+)\b",
    }
    for name, pattern in patterns.items():
        match = re.search(pattern, instruction)
        if match and match[1] not in _NOT_A_NAME:
            yield name, shlex.quote(match[1])


def _files(instruction: str) -> list[str]:
    files = {match.start(1): match[1] for match in _FILE.finditer(instruction)}
    for match in _PATH.finditer(instruction):
        if not any(start <= match.start(1) < start + len(file) for start, file in files.items()):
            files[match.start(1)] = match[1]
    return list(dict.fromkeys(files[start] for start in sorted(files)))


def _texts(instruction: str) -> list[str]:
    quoted = [match[2] for match in _QUOTED.finditer(instruction) if not _FILE.fullmatch(match[2])]
    words = re.findall(
        r"\b(?:contain(?:s|ing)?|matching|word|string|text|pattern|user|variable|process|named|called|line|"
        r"phrase|with)\s+([\w@:+-]+)",
        instruction,
    )
    return quoted or [word for word in words if word.lower() not in _NOT_A_NAME]

"""This module reads the parallel files of NL2Bash: line N of `all.nl` is the instruction for line N of `all.cm`."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from evaluator.errors import FormatError, Problem

PARALLEL_FILES: Final = ("all.nl", "all.cm")


def read_parallel_files(folder: Path | None) -> tuple[list[str], list[str]] | tuple[None, None]:
    """Return the lines of `all.nl`, which are instructions, and the lines of `all.cm`, which are commands.

    The files may be in a subfolder. Return None twice if a file is missing. Raises FormatError if a file is not UTF-8,
    or if the files have different numbers of lines.
    """
    files = sorted(folder.rglob(PARALLEL_FILES[0])) if folder and folder.is_dir() else []
    if not files or not files[0].with_suffix(".cm").is_file():
        return None, None
    nl, cm = files[0], files[0].with_suffix(".cm")
    instructions, commands = (_lines(file) for file in (nl, cm))
    if len(instructions) != len(commands):
        message = f"expected as many lines as {nl.name} has, {len(instructions)}, found {len(commands)}"
        raise FormatError([Problem(cm, min(len(instructions), len(commands)) + 1, message)])
    return instructions, commands


def _lines(file: Path) -> list[str]:
    data = file.read_bytes()
    try:
        return data.decode().removesuffix("\n").split("\n")
    except UnicodeDecodeError as error:
        message = f"expected UTF-8, found the byte {data[error.start]:#04x}"
        raise FormatError([Problem(file, data[: error.start].count(b"\n") + 1, message)]) from error

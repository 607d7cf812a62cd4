"""Read and write corpora. A corpus is a file of JSON lines, or a folder with the two parallel files of NL2Bash."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from evaluator.errors import UsageError
from evaluator.json_lines import LineProblems, read_json_lines
from evaluator.suites.importers.parallel_files import PARALLEL_FILES, read_parallel_files


class CorpusPair(NamedTuple):
    """An instruction and a command for it. `line` is the JSON line of the pair, with all its fields."""

    nl: str
    command: str
    line: str


def corpus_pair(nl: str, command: str) -> CorpusPair:
    """Return a pair with a JSON line that has no other fields."""
    return CorpusPair(nl, command, json.dumps({"nl": nl, "command": command}, ensure_ascii=False))


def read_folder(folder: Path) -> list[CorpusPair]:
    """Return the pairs of a folder or a clone with `all.nl` and `all.cm`. Remove white space around both texts.

    Raises UsageError or FormatError if the folder has no such files, or if the files have different lengths.
    """
    instructions, commands = read_parallel_files(folder)
    if instructions is None or commands is None:
        raise UsageError(f"{folder}: expected a file of JSON lines, or a folder with {' and '.join(PARALLEL_FILES)}")
    return [corpus_pair(nl.strip(), cm.strip()) for nl, cm in zip(instructions, commands, strict=True)]


def read_lines(lines: Iterable[bytes], name: Path) -> list[CorpusPair]:
    """Return the pairs of JSON lines. Empty lines are ignored. `name` is the file's name in error messages.

    Raises FormatError with every invalid line, so that no command works with a part of a corpus.
    """
    pairs, problems = list[CorpusPair](), LineProblems(name)
    for number, text, value in read_json_lines(lines, problems, blank=True):
        try:
            pairs.append(_pair_of(text.strip(), value))
        except ValueError as error:
            problems.add(number, f"{error}; correct or remove this line")
    problems.raise_any()
    return pairs


def _pair_of(text: str, value: Any) -> CorpusPair:
    if not isinstance(value, dict):
        raise ValueError(f'expected {{"nl": …, "command": …}}, found {type(value).__name__}')
    fields = [value.get(name) for name in ("nl", "command")]
    for name, field in zip(("nl", "command"), fields, strict=True):
        if not isinstance(field, str):
            found = type(field).__name__ if name in value else "nothing"
            raise ValueError(f"expected a text in the field {name!r}, found {found}")
    nl, command = map(str, fields)
    return CorpusPair(nl, command, text)


def with_source(pair: CorpusPair, source: str) -> CorpusPair:
    """Return a pair with the name of its corpus in the field `source`, unless it has one."""
    fields = json.loads(pair.line)
    fields.setdefault("source", source)
    return pair._replace(line=json.dumps(fields, ensure_ascii=False))


def written_lines(pairs: Iterable[CorpusPair]) -> Iterator[str]:
    """Yield the JSON line of each pair, with a line end. Fields other than the two texts are kept."""
    return (f"{pair.line}\n" for pair in pairs)

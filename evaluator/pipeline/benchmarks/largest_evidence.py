"""Make the largest evidence that the runner can write, as cases for the judge.

The sizes come from the runner's limits, so a higher limit makes these cases larger. The references have little
evidence, like those of a real task. Each case is expensive in another step of the judge. In almost every case, the
judge must compare every aspect of a run.
"""

from __future__ import annotations

import hashlib
import json
import sys
import time
from collections.abc import Callable, Mapping
from typing import Final

from evaluator.judges import find_judge
from evaluator.judges.case import Case, Executed
from evaluator.records import (
    Ending,
    Evidence,
    FileType,
    Kind,
    Member,
    Observation,
    Output,
    OutputMode,
    PathChange,
    Process,
    ShellState,
    Task,
    Topic,
    Trial,
)
from evaluator.records.suites import Limits
from evaluator.sandbox.runner.fs_changes import MAX_ENTRIES, MAX_PATH_BYTES, MAX_TEXT
from evaluator.sandbox.runner.job import MAX_STATE
from evaluator.sandbox.runner.processes import MAX_ALL_ARGUMENTS, MAX_ARGUMENTS
from evaluator.sandbox.runner.reading_budget import ReadingBudget

_LISTED: Final = b"/srv/report"
_ROWS: Final = b"alpha 1\nbeta 2\ngamma 3\n"
_STREAM: Final = Limits().output_kb * 1024
_OBSERVED: Final = tuple(Observation)


def _output(data: bytes) -> Output:
    return Output(data=data, size=len(data), digest=hashlib.sha256(data).hexdigest())


def _fill(unit: bytes, size: int) -> bytes:
    """Repeat the text `unit` up to `size` bytes. In each repetition, `%d` becomes the number of the repetition."""
    return b"".join(unit % number for number in range(size // len(unit)))[:size]


def _file(path: bytes, data: bytes = b"", **fields: object) -> PathChange:
    values = {"type": FileType.FILE, "mode": 0o644, "uid": 0, "gid": 0, "mtime": 0, "size": len(data)}
    return PathChange.model_validate(
        {"path": path, "kind": Kind.ADDED, "content": hashlib.sha256(data).hexdigest(), **values, **fields}
    )


def _paths(folder: bytes, count: int = MAX_ENTRIES) -> tuple[PathChange, ...]:
    """Return the changes of a run that adds `count` files to `folder`.

    The file names are so long that `MAX_ENTRIES` such paths reach the runner's limit on the total length of paths.
    """
    width = MAX_PATH_BYTES // MAX_ENTRIES - len(folder) - 6
    return tuple(_file(b"%s/%05d%s" % (folder, number, b"n" * width)) for number in range(count))


def _archive(salt: bytes) -> PathChange:
    budget = ReadingBudget()
    width = budget.name_bytes_left // budget.members_left - 6
    content = hashlib.sha256(salt).hexdigest()
    members = tuple(
        Member(name=b"%06d%s" % (number, b"m" * width), type=FileType.FILE, mode=0o644, content=content)
        for number in range(budget.members_left)
    )
    return _file(b"/srv/archive", salt, members=members, packing="tar")


def _shell(salt: str, size: int = MAX_STATE) -> ShellState:
    lines = {f"v{number:06}{salt}": b'declare -- v%06d="1"' % number for number in range(size // 24)}
    return ShellState(alive=True, cwd=b"/srv", umask="0022", variables=lines)


def _processes(salt: bytes, count: int = MAX_ALL_ARGUMENTS // MAX_ARGUMENTS) -> tuple[Process, ...]:
    return tuple(
        Process(arguments=_fill(salt + b"%06d\0", MAX_ARGUMENTS), uid=number, state="running")
        for number in range(count)
    )


def _evidence(**fields: object) -> Evidence:
    small = {"ending": Ending.EXITED, "status": 0, "stdout": _output(_ROWS), "processes": (), "shell": _shell("", 240)}
    return Evidence.model_validate({**small, "changes": (_file(_LISTED, _ROWS, text=_ROWS),), **fields})


def _every_cap_full(salt: bytes) -> Evidence:
    """Return evidence that reaches every limit of the runner. With another `salt`, all parts of it are different."""
    text = _fill(salt + b"%d b\n", MAX_TEXT)
    listed = _file(_LISTED, text, text=text)
    return _evidence(
        stdout=_output(_fill(salt + b"%d a\n", _STREAM)),
        stderr=_output(_fill(b"cat: '" + salt + b"%d': No such file or directory\n", _STREAM)),
        changes=(_archive(salt), listed, *_paths(b"/srv/" + salt, MAX_ENTRIES - 2)),
        shell=_shell(salt.decode()),
        processes=_processes(salt),
    )


def _complaints() -> tuple[Evidence, Evidence]:
    """Return the evidence of references that show nothing, and of a candidate that only writes to standard error."""
    nothing = Evidence(ending=Ending.EXITED, status=1, stderr=_output(b"'" * _STREAM))
    return nothing.model_copy(update={"status": 0, "stderr": _output(b"")}), nothing


def _case(reference: Evidence, first: Evidence, again: Evidence | None = None, *, plain: bool = False) -> Case:
    task = Task(
        id="largest",
        nl="Do as asked",
        references=(b"one", b"two"),
        world="world",
        output=OutputMode.SET,
        observe=() if plain else _OBSERVED,
        topic=Topic.FILES,
        difficulty=1,
        text_files=(_LISTED.decode(),),
    )
    references = tuple(
        Executed(command, {"one": Trial(first=reference, again=reference)}) for command in task.references
    )
    candidate = Executed(b"a" * 16_384, {"one": Trial(first=first, again=again)})
    return Case(task=task, references=references, candidate=candidate, home="/root", scratch=("/tmp",))  # noqa: S108


def _with_rows(rows: bytes) -> Case:
    return _case(_evidence(), _evidence(stdout=_output(_fill(rows, _STREAM))))


CASES: Final[Mapping[str, Callable[[], Case]]] = {
    "every cap full": lambda: _case(_evidence(), _every_cap_full(b"a")),
    "every cap full, second run differs": lambda: _case(_evidence(), _every_cap_full(b"a"), _every_cap_full(b"b")),
    "new paths": lambda: _case(_evidence(), _evidence(changes=_paths(b"/srv"))),
    "new paths in scratch": lambda: _case(
        _evidence(),
        _evidence(
            changes=(_file(_LISTED, _ROWS, text=_ROWS), *_paths(b"/tmp", MAX_ENTRIES - 1)),
            stdout=_output(_fill(b"row %d\n", _STREAM)),
        ),
    ),
    "members of an archive": lambda: _case(_evidence(changes=(_archive(b"a"),)), _evidence(changes=(_archive(b"b"),))),
    "variables of the shell": lambda: _case(_evidence(), _evidence(shell=_shell("x"))),
    "processes": lambda: _case(_evidence(), _evidence(processes=_processes(b"a"))),
    "one long listed file": lambda: _case(
        _evidence(), _evidence(changes=(_file(_LISTED, text=_fill(b"%d b\n", MAX_TEXT), size=MAX_TEXT),))
    ),
    "one long listed file of one line": lambda: _case(
        _evidence(), _evidence(changes=(_file(_LISTED, text=b"a\n" * (MAX_TEXT // 2), size=MAX_TEXT),))
    ),
    "rows of one word": lambda: _with_rows(b"%d\n"),
    "rows of two words": lambda: _with_rows(b"%d a\n"),
    "one row of words": lambda: _with_rows(b"%d "),
    "quotes on standard error": lambda: _case(*_complaints(), plain=True),
}
"""The cases by name. They are functions, because each takes memory and time to make."""


def main(name: str) -> None:
    """Judge the case `name` in this process. Print the CPU seconds, the size of the evidence and the outcome."""
    case, judge = CASES[name](), find_judge("consensus")
    started = time.process_time()
    finding = judge.judge(case)
    cpu_s = time.process_time() - started
    size = sum(
        len(trial.first.model_dump_json()) for trial in (case.candidate.trials if case.candidate else {}).values()
    )
    print(json.dumps({"cpu_s": cpu_s, "bytes": size, "outcome": finding.outcome}))  # noqa: T201


if __name__ == "__main__":
    main(sys.argv[1])

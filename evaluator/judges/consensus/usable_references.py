"""Select the references that a comparison can use, and find commands that fail even if no comparison is possible.

A usable reference ends by itself and does more than report errors. If no reference shows an effect or output, a command
that does nothing has the same evidence as a reference. Then a candidate passes only if it has the same bytes or the
same words as a reference.

In this case, a wrong command also fails if its error message names a missing file that neither the task nor a reference
mentions. A correct command would not use such a file.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Sequence
from typing import Final

from evaluator.judges.case import Case, Executed
from evaluator.judges.reasons import reason, shown
from evaluator.records import Ending, Evidence, Finding, Outcome, OutputMode, Step, Task


def usable_references(case: Case) -> tuple[Executed, ...]:
    """Return the references that end by themselves in every variant, and that do more than report errors.

    A limit can stop a reference too early for a comparison. A reference does nothing but report errors if every run
    exits with an error and a message and shows no effect. Then the task's world (the files it starts with) lacks a
    necessary part, and many wrong commands would fail in the same way.
    """
    return tuple(
        reference
        for reference in case.references
        if all(trial.first.ending is Ending.EXITED for trial in reference.trials.values())
        and not _only_complains(case.task, reference)
    )


def show_nothing(task: Task, commands: Sequence[Executed]) -> bool:
    """Return whether the commands show no effect and no output that the task compares, in all variants.

    The result is always false if the task also observes something else, such as the exit status, because this can
    distinguish right from wrong commands.
    """
    return not task.observe and not any(
        _shows(task, trial.first) for command in commands for trial in command.trials.values()
    )


def _only_complains(task: Task, reference: Executed) -> bool:
    complaints = (trial.first.status != 0 and trial.first.stderr.size > 0 for trial in reference.trials.values())
    return show_nothing(task, [reference]) and all(complaints)


def _shows(task: Task, evidence: Evidence) -> bool:
    return bool(evidence.changes) or (task.output is not OutputMode.NONE and evidence.stdout.size > 0)


_MISSING: Final = b": No such file or directory"
_OPENING: Final = (b"'", b"\xe2\x80\x98")
_CLOSING: Final = (b"'", b"\xe2\x80\x99")
_SYSTEM: Final = re.compile(rb"/(?:bin|boot|dev|etc|lib\w*|opt|proc|run|sbin|srv|sys|tmp|usr|var)(?:/|$)|/*$")


def fails_on_unknown_file(case: Case) -> Finding | None:
    """Return a failure if the command shows nothing and always ends with an error about an unknown file.

    The command must name this file. A missing file is unknown if neither the task's instruction, nor its setup, nor a
    reference contains the last part of its path. Files in system directories do not count, because another correct
    solution may look there.
    """
    if case.candidate is None or not show_nothing(case.task, [case.candidate]):
        return None
    commands = [reference.command for reference in case.references]
    known_text = b"\n".join([case.task.nl.encode(), case.task.setup or b"", *commands])
    command, unknown_path = case.candidate.command, None
    for variant in case.variants:
        evidence = case.candidate.trials[variant].first
        missing = (path for path in missing_paths(evidence.stderr.data) if path in command)
        unknown_path = next((path for path in missing if _is_unknown(path, case.cwd.encode(), known_text)), None)
        if evidence.status == 0 or unknown_path is None:
            return None
    if unknown_path is None:
        return None
    sentence = reason(
        f"only reports that {shown(unknown_path)} does not exist; neither the task nor a reference mentions it"
    )
    return Finding(outcome=Outcome.FAIL, step=Step.STDERR, reason=sentence, variant=case.variants[-1])


def missing_paths(stderr: bytes) -> Iterator[bytes]:
    """Yield the path from each error message that ends with "No such file or directory".

    In the message, the path is in quotes or follows the last colon.
    """
    for line in stderr.split(b"\n"):
        if line.endswith(_MISSING):
            path = _path_at_end(line.removesuffix(_MISSING))
            if path:
                yield path


def _path_at_end(text: bytes) -> bytes:
    """Return the path at the end of an error message, in quotes or after the last colon, or an empty text."""
    closing = next((mark for mark in _CLOSING if text.endswith(mark)), None)
    if closing is None:
        path = text.rpartition(b":")[2] if b":" in text else b""
        has_quote = b"'" in path or b"\xe2" in path
        return path[1:] if path.startswith(b" ") and not has_quote else b""
    quoted = text.removesuffix(closing)
    starts = [(quoted.find(mark), len(mark)) for mark in _OPENING if mark in quoted]
    start, width = min(starts, default=(len(quoted), 0))
    return quoted[start + width :]


def _is_unknown(path: bytes, cwd: bytes, known_text: bytes) -> bool:
    full_path = posixpath.normpath(posixpath.join(cwd, path))
    return not _SYSTEM.match(full_path) and posixpath.basename(full_path) not in known_text

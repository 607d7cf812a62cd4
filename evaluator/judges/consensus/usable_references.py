"""Select the references that a comparison can use, and find commands that fail even if no comparison is possible.

A usable reference ends by itself and does more than report errors. If no reference shows an effect or output, equal
evidence proves nothing, because a command that does nothing looks the same. Then a candidate passes only if it has the
same bytes or the same words as a reference.

Many wrong commands fail in the same way as a right command, or do nothing without an error. An error message still
proves a failure if it names a missing file that neither the task nor a reference mentions. A correct command could not
know of that file.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Sequence
from typing import Final

from evaluator.judges.case import Case, Executed
from evaluator.judges.reasons import reason, shown
from evaluator.records import Ending, Evidence, Finding, Outcome, OutputMode, Step, Task


def usable_references(case: Case) -> tuple[Executed, ...]:
    """Return the references that end by themselves in every variant, except references that only report errors.

    A reference that ran into a limit says nothing about the task. A reference only reports errors if every run exits
    with an error and a message but shows no effect. In that case, the world of the task lacks a necessary part, and
    many wrong commands would fail in the same way.
    """
    return tuple(
        reference
        for reference in case.references
        if all(trial.first.ending is Ending.EXITED for trial in reference.trials.values())
        and not _only_complains(case.task, reference)
    )


def show_nothing(task: Task, commands: Sequence[Executed]) -> bool:
    """Return whether the commands show no effect and no output that the task compares, in all variants.

    The result is always false if the task observes more than files and output. The author chose to observe more, for
    example the exit status, because commands differ in it.
    """
    return not task.observe and not any(
        _shows(task, trial.first) for command in commands for trial in command.trials.values()
    )


def _only_complains(task: Task, reference: Executed) -> bool:
    complaints = (trial.first.status != 0 and trial.first.stderr.size > 0 for trial in reference.trials.values())
    return show_nothing(task, [reference]) and all(complaints)


def _shows(task: Task, evidence: Evidence) -> bool:
    return bool(evidence.changes) or (task.output is not OutputMode.NONE and evidence.stdout.size > 0)


_MISSING: Final = re.compile(
    rb"(?:(?:'|\xe2\x80\x98)([^\n]+?)(?:'|\xe2\x80\x99)|: ([^\n:'\xe2]+)): No such file or directory$", re.MULTILINE
)
_SYSTEM: Final = re.compile(rb"/(?:bin|boot|dev|etc|lib\w*|opt|proc|run|sbin|srv|sys|tmp|usr|var)(?:/|$)|/*$")


def fails_on_unknown_file(case: Case) -> Finding | None:
    """Return a failure if the command shows nothing and always ends with an error about an unknown file.

    A missing file is unknown if the last part of its path is in no text of the task and in no reference. The command
    must name this file. System directories do not count, because another correct solution may look there.
    """
    if case.candidate is None or not show_nothing(case.task, [case.candidate]):
        return None
    commands = [reference.command for reference in case.references]
    known_text = b"\n".join([case.task.nl.encode(), case.task.setup or b"", *commands])
    command, unknown_path = case.candidate.command, None
    for variant in case.variants:
        evidence = case.candidate.trials[variant].first
        complaints = _MISSING.findall(evidence.stderr.data)
        missing = (path for path in (quoted or plain for quoted, plain in complaints) if path in command)
        unknown_path = next((path for path in missing if _is_unknown(path, case.cwd.encode(), known_text)), None)
        if evidence.status == 0 or unknown_path is None:
            return None
    if unknown_path is None:
        return None
    sentence = reason(
        f"only complains that {shown(unknown_path)} is not there, of which neither task nor reference speaks"
    )
    return Finding(outcome=Outcome.FAIL, step=Step.STDERR, reason=sentence, variant=case.variants[-1])


def _is_unknown(path: bytes, cwd: bytes, known_text: bytes) -> bool:
    full_path = posixpath.normpath(posixpath.join(cwd, path))
    return not _SYSTEM.match(full_path) and posixpath.basename(full_path) not in known_text

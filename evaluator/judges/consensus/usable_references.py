"""Which references bear witness: those that ended by themselves and show something.

Where no reference shows anything at all, doing nothing looks the same as doing what is asked, so an equal
candidate is no proof. The one exception needs no evidence: the very bytes of a reference.

What can be told of a command where nothing is shown that could be compared: what it complains of.

Many a wrong command fails as the right one does, and many do nothing as quietly, so being alike proves nothing. A
complaint does, that a file is not there of which neither the task nor any reference speaks: who does what is asked
has no way to know of it.
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
    """References that ended by themselves in every variant, and did not fail without showing anything.

    One that ran into a limit says nothing of the task. Nor does one that, wherever it runs, ends with an error
    and a complaint and leaves no trace: its world lacks what it needs, and many a wrong command fails alike.
    """
    return tuple(
        reference
        for reference in case.references
        if all(trial.first.ending is Ending.EXITED for trial in reference.trials.values())
        and not _only_complains(case.task, reference)
    )


def show_nothing(task: Task, commands: Sequence[Executed]) -> bool:
    """True where none of these commands shows anything that the task compares, in any variant.

    What a task observes on top of files and output is always something: it was asked for because it differs.
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
    """A failure where the command shows nothing and in every variant ends with an error, for want of a file it names.

    Folders of the system are left out, since another way to the same answer may look there; so is every path whose
    last name stands in the task or in a reference, wherever it is looked for.
    """
    if case.candidate is None or not show_nothing(case.task, [case.candidate]):
        return None
    told = b"\n".join([case.task.nl.encode(), case.task.setup or b"", *(each.command for each in case.references)])
    asked, found = case.candidate.command, None
    for variant in case.variants:
        evidence = case.candidate.trials[variant].first
        missing = (path for path in _missing(evidence.stderr.data) if path in asked)
        found = next((path for path in missing if _is_unknown(path, case.cwd.encode(), told)), None)
        if evidence.status == 0 or found is None:
            return None
    if found is None:
        return None
    sentence = reason(f"only complains that {shown(found)} is not there, of which neither task nor reference speaks")
    return Finding(outcome=Outcome.FAIL, step=Step.STDERR, reason=sentence, variant=case.variants[-1])


def _missing(stderr: bytes) -> list[bytes]:
    return [quoted or plain for quoted, plain in _MISSING.findall(stderr)]


def _is_unknown(path: bytes, cwd: bytes, told: bytes) -> bool:
    whole = posixpath.normpath(posixpath.join(cwd, path))
    return not _SYSTEM.match(whole) and posixpath.basename(whole) not in told

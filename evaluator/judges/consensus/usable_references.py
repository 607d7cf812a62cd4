"""Which references bear witness: those that ended by themselves and show something.

Where no reference shows anything at all, doing nothing looks the same as doing what is asked, so an equal
candidate is no proof. The one exception needs no evidence: the very bytes of a reference.
"""

from __future__ import annotations

from collections.abc import Sequence

from evaluator.judges.case import Case, Executed
from evaluator.records import Ending, Evidence, OutputMode, Task


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

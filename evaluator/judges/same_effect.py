"""Tell whether a command has the effect of a reference apart from the form of its output. It decides no verdict.

Only the first variant counts, because a candidate that fails there runs in no other one.

The *state* is what the judge `consensus` compares: changed files, and whatever else the task observes, such as the exit
status. The *output* is compared by its words, so blanks and line breaks do not count. If the task compares output as a
set, neither the order of the rows nor that of the words in a row counts.
"""

from __future__ import annotations

from collections import Counter

from evaluator.judges.case import Case, Executed
from evaluator.judges.consensus.equality import same_effects
from evaluator.judges.consensus.nondeterministic import Text, text_of
from evaluator.judges.consensus.usable_references import show_nothing, usable_references
from evaluator.judges.consensus.views import VariantRuns, runs_by_variant
from evaluator.records import Ending, OutputMode, Task


def has_same_effect(case: Case) -> bool:
    """Return whether one reference leaves the same state and prints the same words in the first variant.

    A reference without output and changes does not count, because a command that does nothing has its effect.
    """
    case = case.in_first_variant
    candidate, task = case.candidate, case.task
    if candidate is None or not all(trial.first.ending is Ending.EXITED for trial in candidate.trials.values()):
        return False
    references = tuple(each for each in usable_references(case) if not show_nothing(task, [each]))
    alike = [number for number, each in enumerate(references) if _print_the_same(case, candidate, each)]
    if not alike:
        return False
    variants = runs_by_variant(case, candidate, references)
    return any(all(_leave_the_same(task, runs, number) for runs in variants) for number in alike)


def _print_the_same(case: Case, candidate: Executed, reference: Executed) -> bool:
    if case.task.output is OutputMode.NONE:
        return True
    outputs = ([text_of(each.trials[name].first.stdout) for each in (candidate, reference)] for name in case.variants)
    return all(same_words_of_output(case.task, *texts) for texts in outputs)


def _leave_the_same(task: Task, runs: VariantRuns, number: int) -> bool:
    return same_effects(task, runs, runs.references[number], same_words_of_output, runs.leftovers)


def same_words_of_output(task: Task, candidate: Text, reference: Text | None) -> bool:
    """Return whether two texts have the same words. Two different texts that are not stored in full never do."""
    if reference is None:
        return False
    if candidate.digest == reference.digest:
        return True
    if candidate.truncated or reference.truncated:
        return False
    if candidate.data.split() == reference.data.split():
        return True
    return task.output is OutputMode.SET and _rows(candidate) == _rows(reference)


def _rows(text: Text) -> Counter[tuple[bytes, ...]]:
    """Return the rows of a text that are not blank, each with its words in a fixed order."""
    return Counter(tuple(sorted(row)) for line in text.data.split(b"\n") if (row := line.split()))

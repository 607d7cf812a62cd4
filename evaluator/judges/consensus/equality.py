"""Compare the evidence of a candidate with the evidence of one reference in one variant of the world."""

from __future__ import annotations

from collections.abc import Callable

from evaluator.judges.consensus.effects import same_facts
from evaluator.judges.consensus.equivalent_formatting import FormatContext, is_equivalent_format
from evaluator.judges.consensus.nondeterministic import Text
from evaluator.judges.consensus.outputs import SAME, OutputMatch, compare_diagnostics, compare_lines
from evaluator.judges.consensus.sets import is_same_set
from evaluator.judges.consensus.views import ComparableRun, VariantRuns, file_mode
from evaluator.records import Observation, OutputMode, Step, Task

SameText = Callable[[Task, Text, Text | None], bool]
"""Tells whether a candidate's text is the same as a reference's text. The reference's text may be missing."""


def observes_stderr(task: Task) -> bool:
    """Return whether the task compares standard error."""
    return Observation.STDERR in task.observe


def is_equal(task: Task, runs: VariantRuns, reference: ComparableRun, is_same: SameText) -> bool:
    """Return whether the candidate shows the effects of the reference, and `is_same` accepts all its texts."""
    if not same_effects(task, runs, reference, is_same):
        return False
    stderr = compare_diagnostics(runs.candidate.stderr, reference.stderr) if observes_stderr(task) else SAME
    printed = task.output is OutputMode.NONE or is_same(task, runs.candidate.stdout, reference.stdout)
    return printed and stderr.match is OutputMatch.SAME


def same_effects(
    task: Task,
    runs: VariantRuns,
    reference: ComparableRun,
    is_same: SameText,
    leftovers: frozenset[bytes] = frozenset(),
) -> bool:
    """Return whether the candidate has the effects of the reference. Its output is not compared.

    `leftovers` holds paths that are not compared, such as the candidate's temporary files.
    """
    candidate = runs.candidate
    if candidate.evidence.changes_truncated or reference.evidence.changes_truncated:
        return False
    for step, facts in candidate.facts.items():
        if step is Step.FILES:
            facts = {key: value for key, value in facts.items() if key.subject not in leftovers}
        if not same_facts(facts, reference.facts[step], runs.ignored(step, (reference,))):
            return False
    files = {path: text for path, text in candidate.files.items() if path not in leftovers}
    return all(is_same(task, text, reference.files.get(path)) for path, text in files.items())


def is_same_text(task: Task, candidate: Text, reference: Text | None) -> bool:
    """Return whether two texts are the same in the task's output mode."""
    if reference is None:
        return False
    if task.output is OutputMode.SET:
        return is_same_set(candidate, reference)
    return compare_lines(candidate, reference, file_mode(task)).match is OutputMatch.SAME


def is_same_answer(context: FormatContext, task: Task, candidate: Text, reference: Text | None) -> bool:
    """Return whether two texts give the same answer in equivalent formats. Only the output mode `set` allows them."""
    return (
        task.output is OutputMode.SET and reference is not None and is_equivalent_format(candidate, reference, context)
    )

"""Our judge: what the references agree on is required, what any of them does is allowed.

Its steps, each final where it decides: the text and the limits, equality with one reference, effects,
output. Asking a panel about what stays undecided is not this module's. Evidence alone decides: the text of
a command is looked at only to see whether it is a reference, byte for byte or as the shell reads its words,
and a pass is left open where the text is a reference's with one slip in it (`Case.slip`).

Volatile fields. A field that changes between two runs of a *reference* is masked on both sides. One that
changes between two runs of the *candidate* alone is masked on both sides too, but what passes only thanks
to that does not pass: otherwise `echo $RANDOM` would answer every question that has one number for an
answer. Where the references were repeated and stand still, the candidate fails; else it is undecided.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Final

from evaluator.judges.case import Basis, Case, Executed
from evaluator.judges.consensus.collateral import has_collateral
from evaluator.judges.consensus.early import settle_early
from evaluator.judges.consensus.effects import differences
from evaluator.judges.consensus.outputs import SAME, Agreement, Comparison, compare_diagnostics, compare_lines
from evaluator.judges.consensus.presentation import Asked, is_presentation
from evaluator.judges.consensus.same_words import same_words
from evaluator.judges.consensus.sets import alignment_of, compare_sets, is_same_set
from evaluator.judges.consensus.shell_effects import is_left_over
from evaluator.judges.consensus.single_reference import with_doubt
from evaluator.judges.consensus.usable_references import asks_elsewhere, show_nothing, usable_references
from evaluator.judges.consensus.views import DIMENSIONS, Sight, View, file_mode, same_bytes, sights_of, view
from evaluator.judges.consensus.volatile import Text
from evaluator.judges.reasons import reason, shown
from evaluator.records import Finding, Observation, Outcome, OutputMode, Step, Task

_OUTCOMES: Final = {Agreement.DIFFERENT: Outcome.FAIL, Agreement.UNKNOWN: Outcome.UNDECIDED}

_NO_WITNESS: Final = "every reference ran into a limit, or fails and shows nothing"

_NOTHING_SHOWN: Final = "neither it nor any reference shows anything, so doing nothing would look the same"

_A_SLIP: Final = (
    "does here what a reference does, but is one slip away from a reference, and of such slips this world's variants "
    "let wrong ones through"
)

_Same = Callable[[Task, Text, Text | None], bool]

_NO_TEXT: Final = Comparison(Agreement.DIFFERENT, "is a text, which no reference leaves there")


class Consensus:
    """Required and allowed effects, and the output rules, learned from the task's references."""

    name: Final = "consensus"
    version: Final = 6
    basis: Final = Basis.REPEATS

    def judge(self, case: Case) -> Finding:
        """Step 1 for every judge, then steps 2 to 4."""
        finding = settle_early(case) or _settle_by_words(case) or _with_slip_in_mind(case, _settle_by_comparison(case))
        collateral = finding.outcome is not Outcome.INFRA_ERROR and has_collateral(case)
        return finding.model_copy(update={"collateral": collateral}) if collateral else finding


def alignment_problem(case: Case) -> str | None:
    """Why the case's references teach no tolerance for `set`, or None where they do or none is needed.

    The candidate is not looked at. For `suite verify`: a task whose references do not align, or of which
    one does not end by itself, is judged by equality with single references alone.
    """
    if len(usable_references(case)) < len(case.references):
        return "a reference ran into a limit, or fails and shows nothing"
    if case.task.output is not OutputMode.SET:
        return None
    for variant in case.variants:
        seen = [view(item.trials[variant], case.task) for item in case.references if variant in item.trials]
        paths = sorted({path for reference in seen for path in reference.files})
        texts = [[reference.stdout for reference in seen]]
        texts += [[reference.files[path] for reference in seen if path in reference.files] for path in paths]
        for name, group in zip(["standard output", *map(shown, paths)], texts, strict=True):
            problem = alignment_of(group)
            if problem:
                return f"variant {variant}, {name}: {problem}"
    return None


def _settle_by_words(case: Case) -> Finding | None:
    """A pass where the text is a reference's own, which needs no evidence."""
    if case.candidate is None:
        return None
    command = case.candidate.command
    for number, reference in enumerate(case.references, start=1):
        if reference.command == command:
            return Finding(outcome=Outcome.PASS, step=Step.EQUAL, reason=f"is reference {number}, byte for byte")
        if same_words(command, reference.command):
            return Finding(outcome=Outcome.PASS, step=Step.EQUAL, reason=f"is reference {number}, word for word")
    return None


def _with_slip_in_mind(case: Case, finding: Finding) -> Finding:
    """The finding, or undecided where it is a pass that evidence alone does not bear out.

    A flag dropped from a reference, a number one off: whoever reads such commands finds most of them wrong, also of
    those that no variant tells from the reference. A maintainer's mark, or the panel, says what it is.
    """
    if finding.outcome is not Outcome.PASS or not case.slip or finding.step is Step.VERIFIER:
        return finding
    return finding.model_copy(update={"outcome": Outcome.UNDECIDED, "step": Step.EQUAL, "reason": _A_SLIP})


def _settle_by_comparison(case: Case) -> Finding:
    candidate, references = case.candidate, usable_references(case)
    if candidate is None:
        return Finding(outcome=Outcome.UNANSWERED)
    if not references:
        return asks_elsewhere(case) or Finding(outcome=Outcome.UNDECIDED, step=Step.LIMIT, reason=_NO_WITNESS)
    if show_nothing(case.task, [candidate, *references]):
        return asks_elsewhere(case) or Finding(outcome=Outcome.UNDECIDED, step=Step.EQUAL, reason=_NOTHING_SHOWN)
    for reference in references:
        if same_bytes(case.task, candidate, reference, case.variants):
            return _equal(case, reference)
    sights = sights_of(case, candidate, references)
    finding = _decide(case, [sight.without_own_masks() for sight in sights])
    if finding.outcome is Outcome.FAIL and any(sight.candidate.repeated for sight in sights):
        return _excuse(case, sights, finding)
    return finding


def _excuse(case: Case, sights: Sequence[Sight], finding: Finding) -> Finding:
    """The failure, or undecided where only the candidate's own volatile fields make it one."""
    if _is_steady(sights, finding.step) or _decide(case, sights).outcome is Outcome.FAIL:
        return finding
    sentence = reason(f"only fields that change from run to run of the command differ: {finding.reason}")
    return finding.model_copy(update={"outcome": Outcome.UNDECIDED, "reason": sentence})


def _is_steady(sights: Sequence[Sight], step: Step | None) -> bool:
    references = [reference for sight in sights for reference in sight.references]
    return all(reference.repeated and not reference.is_volatile(step) for reference in references)


def _decide(case: Case, sights: Sequence[Sight]) -> Finding:
    asked = Asked(case.task.nl, case.cwd.encode())
    for is_same in (_is_same, partial(_is_same_answer, asked)):
        for number in range(len(sights[0].references)):
            if all(_is_equal(case.task, sight, sight.references[number], is_same) for sight in sights):
                return _equal(case, usable_references(case)[number])
    undecided = None
    for finding in (with_doubt(case, each) for each in _objections(case.task, sights)):
        if finding.outcome is Outcome.FAIL:
            return finding
        undecided = undecided or finding
    sentence = "has every effect and field that all references have, and none that no reference has"
    return undecided or Finding(outcome=Outcome.PASS, step=Step.OUTPUT, reason=sentence)


def _equal(case: Case, reference: Executed) -> Finding:
    number = next(number for number, item in enumerate(case.references, start=1) if item is reference)
    sentence = f"equal to reference {number} in every variant"
    return Finding(outcome=Outcome.PASS, step=Step.EQUAL, reason=sentence)


def _is_equal(task: Task, sight: Sight, reference: View, is_same: _Same) -> bool:
    candidate = sight.candidate
    if candidate.evidence.changes_truncated or reference.evidence.changes_truncated:
        return False
    for step, facts in candidate.facts.items():
        ignored = sight.ignored(step, (reference,))
        if next(differences(facts, [reference.facts[step]], ignored), None):
            return False
    files = (_is_same(task, text, reference.files.get(path)) for path, text in candidate.files.items())
    stderr = compare_diagnostics(candidate.stderr, reference.stderr) if _observes_stderr(task) else SAME
    printed = task.output is OutputMode.NONE or is_same(task, candidate.stdout, reference.stdout)
    return printed and stderr.agreement is Agreement.SAME and all(files)


def _is_same(task: Task, candidate: Text, reference: Text | None) -> bool:
    if reference is None:
        return False
    if task.output is OutputMode.SET:
        return is_same_set(candidate, reference)
    return compare_lines(candidate, reference, file_mode(task)).agreement is Agreement.SAME


def _is_same_answer(asked: Asked, task: Task, candidate: Text, reference: Text | None) -> bool:
    return reference is not None and task.output is OutputMode.SET and is_presentation(candidate, reference, asked)


def _objections(task: Task, sights: Sequence[Sight]) -> Iterator[Finding]:
    """What speaks against a pass: failures, and what cannot be decided, in the order of the steps."""
    for sight in sights:
        yield from _incomplete_changes(sight)
    for step in (dimension.step for dimension in DIMENSIONS if dimension.is_observed(task)):
        for sight in sights:
            yield from _wrong_effects(sight, step)
        if step is Step.FILES:
            for sight in sights:
                yield from _wrong_files(task, sight)
    if _observes_stderr(task):
        for sight in sights:
            texts = [reference.stderr for reference in sight.references]
            found = _closest([compare_diagnostics(sight.candidate.stderr, text) for text in texts])
            yield from _objection(found, Step.STDERR, sight.variant)
    yield from _wrong_output(task, sights)


def _observes_stderr(task: Task) -> bool:
    return Observation.STDERR in task.observe


def _incomplete_changes(sight: Sight) -> Iterator[Finding]:
    if any(reference.evidence.changes_truncated for reference in sight.references):
        comparison = Comparison(Agreement.UNKNOWN, "a reference changes more paths than are recorded")
    elif sight.candidate.evidence.changes_truncated:
        comparison = Comparison(Agreement.DIFFERENT, "changes more paths than are recorded, and than any reference")
    else:
        comparison = SAME
    yield from _objection(comparison, Step.FILES, sight.variant)


def _wrong_effects(sight: Sight, step: Step) -> Iterator[Finding]:
    if step is Step.FILES and any(r.evidence.changes_truncated for r in sight.references):
        return
    dimension = next(dimension for dimension in DIMENSIONS if dimension.step is step)
    ignored = sight.ignored(step, sight.references) | (sight.leftovers if step is Step.FILES else frozenset())
    facts = [reference.facts[step] for reference in sight.references]
    for difference in differences(sight.candidate.facts[step], facts, ignored):
        if step is Step.SHELL and is_left_over(difference):
            continue
        yield Finding(
            outcome=Outcome.FAIL,
            step=step,
            reason=reason(dimension.describe(difference)),
            variant=sight.variant,
            place=difference.key.subject or None,
        )


def _wrong_files(task: Task, sight: Sight) -> Iterator[Finding]:
    left = {key.subject for key in sight.leftovers}
    for path, text in sight.candidate.files.items():
        texts = [reference.files[path] for reference in sight.references if path in reference.files]
        if path in left:
            continue
        found = _compare_text(task, text, texts) if texts else _NO_TEXT
        comparison = found._replace(sentence=f"in {shown(path)}: {found.sentence}")
        yield from _objection(comparison, Step.FILES, sight.variant, path)


def _compare_text(task: Task, candidate: Text, references: Sequence[Text]) -> Comparison:
    if task.output is OutputMode.SET:
        return compare_sets(candidate, references)
    return _closest([compare_lines(candidate, text, file_mode(task)) for text in references])


def _wrong_output(task: Task, sights: Sequence[Sight]) -> Iterator[Finding]:
    if task.output is OutputMode.NONE:
        return
    if task.output is OutputMode.SET:
        for sight in sights:
            texts = [reference.stdout for reference in sight.references]
            yield from _objection(compare_sets(sight.candidate.stdout, texts), Step.OUTPUT, sight.variant)
        return
    tables = [
        [compare_lines(s.candidate.stdout, s.references[number].stdout, task.output) for s in sights]
        for number in range(len(sights[0].references))
    ]
    found = min(tables, key=_distance)
    for comparison, sight in zip(found, sights, strict=True):
        yield from _objection(comparison, Step.OUTPUT, sight.variant)


def _distance(comparisons: Sequence[Comparison]) -> tuple[int, int]:
    """In how many variants one reference's output differs, and in how many that cannot be told."""
    found = [comparison.agreement for comparison in comparisons]
    return found.count(Agreement.DIFFERENT), found.count(Agreement.UNKNOWN)


def _closest(comparisons: Sequence[Comparison]) -> Comparison:
    return min(comparisons, key=lambda comparison: _distance([comparison]))


def _objection(comparison: Comparison, step: Step, variant: str, path: bytes | None = None) -> Iterator[Finding]:
    if comparison.agreement is not Agreement.SAME:
        yield Finding(
            outcome=_OUTCOMES[comparison.agreement],
            step=step,
            reason=reason(comparison.sentence),
            variant=variant,
            place=path or (f"line {comparison.line}".encode() if comparison.line else None),
        )

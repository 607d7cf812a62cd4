"""Implement Bashboard's own judge. It requires effects that all references share, and allows the effects of each one.

These are the rules for precise tasks. The module `open_task` holds the rules for tasks with an open instruction. If a
task has a verifier, the verifier decides.

The judge checks, in this order: the text and the limits, equality with one reference, effects, output. The first check
with a result is final. Undecided cases go to the panel of language models.

The judge decides by evidence, with two exceptions. A command with the same bytes or the same shell words as a reference
passes. A known mutant of a reference (`Case.is_known_mutant`) is undecided if it would pass by its evidence.

**Variants.** The judge makes its checks after each variant, with the candidate's runs so far and the references' runs
in all known variants. A failure, a timeout or a syntax error ends the case, because no later variant could turn it:
the candidate would have to pass in every variant. So the finding depends on nothing behind its variant, and runs there
change nothing. All other findings wait for the last variant, and so do rules about every variant.

**Second runs.** A field is nondeterministic if it changes between two runs of one command. The judge ignores ("masks")
the nondeterministic fields of a *reference*, in the reference and in the candidate. It reads second runs only if the
first runs alone do not pass:

- If the candidate fails, the references' second runs in the variants so far are needed. If it is undecided after the
  last variant, those in all variants are needed.
- If it still fails, and the two runs of some reference differ in the step and the variant that decided, the
  candidate's second run in this variant is needed.

If the candidate differs from the references only in its own nondeterministic fields, it does not pass. It fails if the
references ran twice without a change, and is undecided in all other cases. Without this rule, `echo $RANDOM` would
answer every question that asks for one number.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import takewhile
from typing import Final, NamedTuple

from evaluator.judges.case import Case, EvidenceNeed, Executed, NeededRuns, lacking_runs
from evaluator.judges.consensus.archive_effects import is_of_copy
from evaluator.judges.consensus.collateral import has_collateral
from evaluator.judges.consensus.effects import EffectKey, differences
from evaluator.judges.consensus.equality import is_equal, is_same_answer, is_same_text, observes_stderr
from evaluator.judges.consensus.equivalent_formatting import FormatContext
from evaluator.judges.consensus.nondeterministic import Text
from evaluator.judges.consensus.open_task import OpenRule, judge_open_task
from evaluator.judges.consensus.outputs import SAME, OutputComparison, OutputMatch, compare_diagnostics, compare_lines
from evaluator.judges.consensus.prechecks import settle_by_run, settle_by_text, settle_missing
from evaluator.judges.consensus.same_words import same_words
from evaluator.judges.consensus.sets import alignment_of, compare_sets
from evaluator.judges.consensus.shell_effects import is_helper_variable
from evaluator.judges.consensus.single_reference import soften_failure
from evaluator.judges.consensus.usable_references import fails_on_unknown_file, show_nothing, usable_references
from evaluator.judges.consensus.views import (
    DIMENSIONS,
    VariantRuns,
    comparable_run,
    file_mode,
    is_steady,
    runs_in,
    same_bytes,
)
from evaluator.judges.reasons import reason, shown
from evaluator.records import Finding, Instructions, Outcome, OutputMode, Step, Task, Trial

_OUTCOMES: Final = {OutputMatch.DIFFERENT: Outcome.FAIL, OutputMatch.UNKNOWN: Outcome.UNDECIDED}

_ENDS: Final = frozenset({Outcome.FAIL, Outcome.TIMEOUT, Outcome.INVALID, Outcome.INFRA_ERROR})
"""The outcomes that end a case before its last variant."""

_NO_REFERENCE: Final = "no usable reference: each one reached a limit, or failed without output or file changes"

_NOTHING_SHOWN: Final = "no output or file change to compare: doing nothing would be indistinguishable"

_KNOWN_MUTANT: Final = (
    "has the effects of a reference, but differs from it by one known mutation, which this world cannot rule out"
)

_NO_TEXT: Final = OutputComparison(OutputMatch.DIFFERENT, "found a text file, expected none")


class Consensus:
    """Derives required and allowed effects, and the output rules, from the task's references."""

    name: Final = "consensus"
    version: Final = 8
    basis: Final = EvidenceNeed.REPEATS

    def judge(self, case: Case) -> Finding:
        """Run the prechecks, then compare the candidate with the references. Mark changes that no reference makes."""
        if _is_open(case):
            return _judge_open(case)
        return _marked(next(decision for decision in _decisions(case) if decision.is_final))

    def decide(self, case: Case) -> Finding | tuple[NeededRuns, ...]:
        """Return the finding, or the runs that the case lacks. An open task needs all runs of a candidate at once."""
        if _is_open(case):
            first = lacking_runs(case, case.variants, case.variants)
            lacking = first + lacking_runs(case, (), case.variants, repeat=1)
            return _judge_open(case) if settle_by_text(case) or not lacking else lacking
        decision = next(decision for decision in _decisions(case) if decision.lacking or decision.is_final)
        return decision.lacking or _marked(decision)


def alignment_problem(case: Case) -> str | None:
    """Return the reason why the judge cannot compare with all references together, or None if there is no problem.

    A problem is a reference that is not usable. In the output mode `set`, rows that cannot be aligned are also a
    problem. The function ignores the candidate. `suite verify` calls this function.
    """
    if len(usable_references(case)) < len(case.references):
        return "a reference ran into a limit, or fails and shows nothing"
    if case.task.output is not OutputMode.SET:
        return None
    for variant in case.variants:
        trials = [reference.trials[variant] for reference in case.references if variant in reference.trials]
        runs = [comparable_run(trial, case.task) for trial in trials]
        paths = sorted({path for run in runs for path in run.files})
        texts = [[run.stdout for run in runs]]
        texts += [[run.files[path] for run in runs if path in run.files] for path in paths]
        for name, group in zip(["standard output", *map(shown, paths)], texts, strict=True):
            problem = alignment_of(group)
            if problem:
                return f"variant {variant}, {name}: {problem}"
    return None


def _settle_by_words(case: Case) -> Finding | None:
    """Return a pass if the command has the same words as a reference, else None. This test needs no evidence."""
    if case.candidate is None:
        return None
    command = case.candidate.command
    for number, reference in enumerate(case.references, start=1):
        if reference.command == command:
            return Finding(outcome=Outcome.PASS, step=Step.EQUAL, reason=f"is reference {number}, byte for byte")
        if same_words(command, reference.command):
            return Finding(outcome=Outcome.PASS, step=Step.EQUAL, reason=f"is reference {number}, word for word")
    return None


def _leave_mutant_undecided(case: Case, finding: Finding) -> Finding:
    """Return the finding unchanged, or "undecided" if the candidate is a known mutant and would pass by its evidence.

    A mutant is a reference with one change, such as a dropped flag or a number changed by one. People find most such
    commands wrong, even if no variant shows a difference from the reference. A maintainer's mark or the panel decides
    these cases.
    """
    if finding.outcome is not Outcome.PASS or not case.is_known_mutant:
        return finding
    return finding.model_copy(update={"outcome": Outcome.UNDECIDED, "step": Step.EQUAL, "reason": _KNOWN_MUTANT})


class _Decision(NamedTuple):
    """The finding on a case after some of its variants, and the part of the case that the finding depends on.

    `lacking` holds the runs that the finding should depend on and that the case lacks. `is_final` is true if no later
    variant is read.
    """

    finding: Finding
    case: Case
    is_final: bool
    lacking: tuple[NeededRuns, ...] = ()


def _is_open(case: Case) -> bool:
    return case.instructions is Instructions.OPEN and case.task.verify is None


def _judge_open(case: Case) -> Finding:
    same = _settle_by_words(case)
    finding = same.model_copy(update={"rule": OpenRule.SAME_WORDS}) if same else judge_open_task(case)
    return _marked(_Decision(finding, case, is_final=True))


def _marked(decision: _Decision) -> Finding:
    """Return the finding with a mark if the candidate makes a change that no reference makes."""
    finding = decision.finding
    collateral = finding.outcome is not Outcome.INFRA_ERROR and has_collateral(decision.case)
    return finding.model_copy(update={"collateral": collateral}) if collateral else finding


def _decisions(case: Case) -> Iterator[_Decision]:
    """Yield the decisions after the variants, in the order of execution. The last one is final.

    If the references lack second runs for a decision, yield a decision that is not final before it.
    """
    if (by_text := settle_by_text(case)) is not None:
        yield _Decision(by_text, case, is_final=True)
        return
    first_runs = _FirstRuns()
    for number in range(_first_number(case, first_runs), max(1, len(case.variants)) + 1):
        part, is_last = case.until(number), number >= len(case.variants)
        if missing := settle_missing(part, part.variants, _learned(case, part)):
            lacking = lacking_runs(part, part.variants, _learned(case, part)) if part.references else ()
            yield _Decision(missing, part, is_final=True, lacking=lacking)
            return
        finding, lacking = _settle(part, is_last=is_last), ()
        if finding is None:
            finding = first_runs.finding(part)
            if finding.outcome is Outcome.FAIL or (finding.outcome is Outcome.UNDECIDED and is_last):
                if lacking := lacking_runs(part, (), part.variants, repeat=1):
                    yield _Decision(finding, part, is_final=False, lacking=lacking)
                finding, lacking = _by_second_runs(part, finding)
            finding = _leave_mutant_undecided(part, finding)
        yield _Decision(finding, part, is_last or finding.outcome in _ENDS, lacking)


def _learned(case: Case, part: Case) -> tuple[str, ...]:
    """Return the variants in which the references must have run for a decision on a part of the case."""
    known = (name for name in case.variants if name not in case.fresh)
    return tuple(dict.fromkeys((*known, *part.variants)))


def _first_number(case: Case, first_runs: _FirstRuns) -> int:
    """Return the number of variants with which the decisions begin.

    If the candidate's runs in several known variants do not end the case, those in fewer of them do not end it either:
    a failure in some variants is a failure in more of them.
    """
    ran = takewhile(lambda name: name not in case.fresh and name in _trials(case), case.variants)
    part = case.until(len(tuple(ran)))
    if len(part.variants) < 2 or settle_missing(part, part.variants, _learned(case, part)):
        return 1
    finding = _settle(part, is_last=False) or first_runs.finding(part)
    return 1 if finding.outcome in _ENDS else len(part.variants)


def _trials(case: Case) -> Collection[str]:
    return case.candidate.trials if case.candidate else ()


def _settle(case: Case, *, is_last: bool) -> Finding | None:
    """Return a finding that needs no comparison of fields, or None. Rules about every variant need the last one."""
    candidate, references = case.candidate, usable_references(case)
    early = settle_by_run(case) or _settle_by_words(case)
    if early is not None or candidate is None:
        return early
    if not references:
        unknown_file = fails_on_unknown_file(case) if is_last else None
        return unknown_file or Finding(outcome=Outcome.UNDECIDED, step=Step.LIMIT, reason=_NO_REFERENCE)
    if show_nothing(case.task, [candidate, *references]):
        unknown_file = fails_on_unknown_file(case) if is_last else None
        return unknown_file or Finding(outcome=Outcome.UNDECIDED, step=Step.EQUAL, reason=_NOTHING_SHOWN)
    equal = (each for each in references if same_bytes(case.task, candidate, each, case.variants))
    return next((_leave_mutant_undecided(case, _equal_to(case, reference)) for reference in equal), None)


class _FirstRuns:
    """The first runs of all commands in each variant, as the judge compares them, and the findings by them alone."""

    def __init__(self) -> None:
        self._runs: dict[str, VariantRuns] = {}
        self._findings: dict[tuple[str, ...], Finding] = {}

    def finding(self, case: Case) -> Finding:
        """Return the finding in the variants of `case`, by first runs."""
        if case.variants not in self._findings:
            if not case.fresh.isdisjoint(case.variants):
                self._runs.clear()  # a fresh variant may show that a reference is not usable
            references = tuple(map(_without_second_runs, usable_references(case)))
            candidate = _without_second_runs(_executed(case))
            for name in case.variants:
                if name not in self._runs:
                    self._runs[name] = runs_in(case, name, candidate, references)
            self._findings[case.variants] = _decide(case, [self._runs[name] for name in case.variants])
        return self._findings[case.variants]


def _executed(case: Case) -> Executed:
    assert case.candidate is not None  # noqa: S101 - `settle_by_text` returned otherwise
    return case.candidate


def _without_second_runs(command: Executed) -> Executed:
    return replace(command, trials={name: Trial(first=trial.first) for name, trial in command.trials.items()})


def _by_second_runs(case: Case, finding: Finding) -> tuple[Finding, tuple[NeededRuns, ...]]:
    """Return the finding without the nondeterministic fields of the references, and the runs that the case lacks.

    `finding` is the finding by first runs. If only nondeterministic fields of the candidate cause a failure, the
    finding is "undecided".
    """
    candidate, references = _executed(case), usable_references(case)
    lacking = lacking_runs(case, (), case.variants, repeat=1)
    if all(is_steady(case.task, each.trials[name]) for each in references for name in case.variants):
        return finding, lacking
    once = _without_second_runs(candidate)
    runs = {name: runs_in(case, name, once, references) for name in case.variants}
    finding = _decide(case, list(runs.values()))
    masked: dict[str, Finding] = {}
    while finding.outcome is Outcome.FAIL and finding.variant is not None and finding.variant not in masked:
        name = finding.variant
        if all(run.repeated and not run.is_volatile(finding.step) for run in runs[name].references):
            break
        if candidate.trials[name].again is None:
            lacking = lacking or (NeededRuns(of_candidate=True, variants=(name,), repeat=1),)
            break
        masked[name] = finding
        runs[name] = runs_in(case, name, candidate, references)
        finding = _decide(case, list(runs.values()))
    if not masked or finding.outcome is Outcome.FAIL:
        return finding, lacking
    failure = next(iter(masked.values()))
    sentence = reason(f"differs only in fields that change between two runs of the command: {failure.reason}")
    return failure.model_copy(update={"outcome": Outcome.UNDECIDED, "reason": sentence}), lacking


def _decide(case: Case, variant_runs: Sequence[VariantRuns]) -> Finding:
    context = FormatContext(case.task.nl, case.cwd.encode())
    for is_same in (is_same_text, partial(is_same_answer, context)):
        for number in range(len(variant_runs[0].references)):
            if all(is_equal(case.task, runs, runs.references[number], is_same) for runs in variant_runs):
                return _equal_to(case, usable_references(case)[number])
    undecided = None
    for finding in (soften_failure(case, mismatch) for mismatch in _mismatches(case.task, variant_runs)):
        if finding.outcome is Outcome.FAIL:
            return finding
        undecided = undecided or finding
    sentence = "has every effect and output field that all references share, and no other"
    return undecided or Finding(outcome=Outcome.PASS, step=Step.OUTPUT, reason=sentence)


def _equal_to(case: Case, reference: Executed) -> Finding:
    number = next(number for number, other in enumerate(case.references, start=1) if other is reference)
    sentence = f"equal to reference {number} in every variant"
    return Finding(outcome=Outcome.PASS, step=Step.EQUAL, reason=sentence)


def _mismatches(task: Task, variant_runs: Sequence[VariantRuns]) -> Iterator[Finding]:
    """Yield a finding for each comparison that fails or has no clear result, in the order of the judge's steps."""
    for runs in variant_runs:
        yield from _incomplete_changes(runs)
    for step in (dimension.step for dimension in DIMENSIONS if dimension.is_observed(task)):
        for runs in variant_runs:
            yield from _wrong_effects(runs, step)
        if step is Step.FILES:
            for runs in variant_runs:
                yield from _wrong_files(task, runs)
    if observes_stderr(task):
        for runs in variant_runs:
            texts = [reference.stderr for reference in runs.references]
            comparison = _closest([compare_diagnostics(runs.candidate.stderr, text) for text in texts])
            yield from _mismatch(comparison, Step.STDERR, runs.variant)
    yield from _wrong_output(task, variant_runs)


def _incomplete_changes(runs: VariantRuns) -> Iterator[Finding]:
    if any(reference.evidence.changes_truncated for reference in runs.references):
        comparison = OutputComparison(OutputMatch.UNKNOWN, "a reference changes more paths than are recorded")
    elif runs.candidate.evidence.changes_truncated:
        comparison = OutputComparison(
            OutputMatch.DIFFERENT, "changes more paths than are recorded, and than any reference"
        )
    else:
        comparison = SAME
    yield from _mismatch(comparison, Step.FILES, runs.variant)


def _wrong_effects(runs: VariantRuns, step: Step) -> Iterator[Finding]:
    if step is Step.FILES and any(reference.evidence.changes_truncated for reference in runs.references):
        return
    dimension = next(dimension for dimension in DIMENSIONS if dimension.step is step)
    is_masked, leftovers = runs.ignored(step, runs.references), runs.leftovers if step is Step.FILES else frozenset()

    def is_ignored(key: EffectKey) -> bool:
        return key.subject in leftovers or is_masked(key)

    facts = [reference.facts[step] for reference in runs.references]
    for difference in differences(runs.candidate.facts[step], facts, is_ignored):
        if (step is Step.SHELL and is_helper_variable(difference)) or (step is Step.FILES and is_of_copy(difference)):
            continue
        yield Finding(
            outcome=Outcome.FAIL,
            step=step,
            reason=reason(dimension.describe(difference)),
            variant=runs.variant,
            place=difference.key.subject or None,
        )


def _wrong_files(task: Task, runs: VariantRuns) -> Iterator[Finding]:
    for path, text in runs.candidate.files.items():
        texts = [reference.files[path] for reference in runs.references if path in reference.files]
        if path in runs.leftovers:
            continue
        text_comparison = _compare_text(task, text, texts) if texts else _NO_TEXT
        comparison = text_comparison._replace(sentence=f"in {shown(path)}: {text_comparison.sentence}")
        yield from _mismatch(comparison, Step.FILES, runs.variant, path)


def _compare_text(task: Task, candidate: Text, references: Sequence[Text]) -> OutputComparison:
    if task.output is OutputMode.SET:
        return compare_sets(candidate, references)
    return _closest([compare_lines(candidate, text, file_mode(task)) for text in references])


def _wrong_output(task: Task, variant_runs: Sequence[VariantRuns]) -> Iterator[Finding]:
    if task.output is OutputMode.NONE:
        return
    if task.output is OutputMode.SET:
        for runs in variant_runs:
            texts = [reference.stdout for reference in runs.references]
            yield from _mismatch(compare_sets(runs.candidate.stdout, texts), Step.OUTPUT, runs.variant)
        return
    tables = [
        [compare_lines(runs.candidate.stdout, runs.references[number].stdout, task.output) for runs in variant_runs]
        for number in range(len(variant_runs[0].references))
    ]
    comparisons = min(tables, key=_distance)
    for comparison, runs in zip(comparisons, variant_runs, strict=True):
        yield from _mismatch(comparison, Step.OUTPUT, runs.variant)


def _distance(comparisons: Sequence[OutputComparison]) -> tuple[int, int]:
    """Return the number of comparisons that differ, and the number of comparisons without a clear result."""
    matches = [comparison.match for comparison in comparisons]
    return matches.count(OutputMatch.DIFFERENT), matches.count(OutputMatch.UNKNOWN)


def _closest(comparisons: Sequence[OutputComparison]) -> OutputComparison:
    return min(comparisons, key=lambda comparison: _distance([comparison]))


def _mismatch(comparison: OutputComparison, step: Step, variant: str, path: bytes | None = None) -> Iterator[Finding]:
    if comparison.match is not OutputMatch.SAME:
        yield Finding(
            outcome=_OUTCOMES[comparison.match],
            step=step,
            reason=reason(comparison.sentence),
            variant=variant,
            place=path or (f"line {comparison.line}".encode() if comparison.line else None),
        )

"""Judge a command for an open task: a task whose instruction leaves several right behaviours.

The instruction has authority. A reference is an example of a right command, and may be imprecise or wrong. So execution
alone decides only clear cases, and leaves all others to the panel of language models.

A command passes if it shows the effects and the information of a reference in the published world (the first variant),
apart from presentation. It must show them in the other variants too, except in contested ones: they hold links, hidden
files or deeper folders, of which the instruction does not speak. The added variants never make a command fail.

A command fails if no careful reader would accept it, as seen in the published world: the shell cannot read it, it runs
into a limit, it shows nothing although every reference does, it has no required effect and no other, one of its
programs rejects its arguments, it destroys a path that neither the instruction nor a reference touches, or it is no
command.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from enum import StrEnum
from functools import partial
from typing import Final, NamedTuple

from evaluator.judges.case import Case, Executed
from evaluator.judges.consensus.collateral import scratch_paths
from evaluator.judges.consensus.equality import is_same_answer, is_same_text, observes_stderr, same_effects
from evaluator.judges.consensus.equivalent_formatting import FormatContext
from evaluator.judges.consensus.instructed_paths import InstructedPaths, touched_by
from evaluator.judges.consensus.nondeterministic import Text
from evaluator.judges.consensus.outputs import OutputMatch, compare_diagnostics
from evaluator.judges.consensus.prechecks import early_verdict, settle_by_text
from evaluator.judges.consensus.presentation import presentation_of
from evaluator.judges.consensus.usable_references import fails_on_unknown_file, usable_references
from evaluator.judges.consensus.views import ComparableRun, VariantRuns, runs_by_variant
from evaluator.judges.reasons import reason, shown
from evaluator.records import Ending, Evidence, Finding, Kind, Outcome, OutputMode, PathChange, Step, Task, Trial

_DESTROYS: Final = frozenset({Kind.DELETED, Kind.TYPE})
_CHANGES: Final = frozenset({Kind.MODIFIED, Kind.MODE})
_NOT_FOUND: Final = 127
_USAGE_ERROR: Final = re.compile(
    rb"(?:invalid|unrecognized|unknown|illegal|garbage) (?:option|predicate|primary)|(?:extra|missing) operand"
    rb"|missing argument|requires an argument|too many arguments"
)
"""The messages with which the utilities of GNU, BSD and procps reject their arguments."""

_PROSE: Final = re.compile(rb"[A-Za-z][A-Za-z ,'!?.]*")


class OpenRule(StrEnum):
    """The rule for open tasks that decided a verdict."""

    SAME_WORDS = "same words"
    SAME_EVIDENCE = "same evidence"
    SAME_INFORMATION = "same information"
    CONTESTED = "differs in contested variants only"
    INVALID = "no valid command"
    LIMIT = "limit"
    VERIFIER = "verifier"
    SHOWS_NOTHING = "shows nothing"
    USAGE_ERROR = "usage error"
    NO_EFFECT = "no effect"
    DESTROYS = "destroys another path"
    CHANGES = "changes another path"
    UNKNOWN_FILE = "unknown file"
    KNOWN_MUTANT = "known mutant"
    NO_REFERENCE = "no usable reference"
    NOTHING_SHOWN = "nothing shown"
    VARIANT = "differs in an added variant"
    OTHER_EFFECTS = "other effects"
    OTHER_OUTPUT = "other output"
    INFRA = "infra"


def judge_open_task(case: Case) -> Finding:
    """Return the finding about a command for an open task. The finding's rule names the rule that decided."""
    published = case.within(case.variants[:1])
    finding = _settle_early(case, published)
    if finding is not None:
        return finding
    references = usable_references(published)
    if not references:
        unknown_file = fails_on_unknown_file(published)
        if unknown_file is not None:
            return unknown_file.model_copy(update={"rule": OpenRule.UNKNOWN_FILE})
        sentence = "in the published world, every reference reaches a limit, or only reports an error"
        return _undecided(OpenRule.NO_REFERENCE, Step.LIMIT, sentence)
    usable = {reference.command for reference in references}
    return _Comparison(case, tuple(each for each in case.references if each.command in usable)).finding()


def _settle_early(case: Case, published: Case) -> Finding | None:
    """Return the finding of a check that needs no comparison. Limits count in the published world only."""
    finding = settle_by_text(case)
    if finding is None:
        complete = early_verdict(case)
        finding = complete if complete is not None and complete.outcome is Outcome.INFRA_ERROR else None
    if finding is None:
        finding = early_verdict(published)
    if finding is None:
        return None
    if finding.step is Step.LIMIT and all(_reaches_limit(reference) for reference in published.references):
        return None
    rules = {
        Step.SYNTAX: OpenRule.INVALID,
        Step.LIMIT: OpenRule.LIMIT,
        Step.VERIFIER: OpenRule.VERIFIER,
        Step.INFRA: OpenRule.INFRA,
    }
    return finding.model_copy(update={"rule": rules[finding.step] if finding.step else ""})


def _reaches_limit(command: Executed) -> bool:
    return any(trial.first.ending is not Ending.EXITED for trial in command.trials.values())


def _undecided(rule: OpenRule, step: Step, sentence: str, variant: str | None = None) -> Finding:
    return Finding(outcome=Outcome.UNDECIDED, step=step, reason=reason(sentence), variant=variant, rule=rule)


class _Match(NamedTuple):
    """The result of the comparison in one variant.

    `presentation` names the difference in presentation, and is empty if the texts are equal. It is None if effects or
    information differ. Then `step` and `sentence` name the difference.
    """

    presentation: str | None
    step: Step = Step.OUTPUT
    sentence: str = ""


class _Comparison:
    """The comparison of a candidate with the usable references of an open task."""

    def __init__(self, case: Case, references: tuple[Executed, ...]) -> None:
        assert case.candidate is not None  # noqa: S101 - `settle_by_text` returned otherwise
        self.case, self.references = case, references
        self.task, self.first = case.task, case.variants[0]
        trials = {name: Trial(first=case.candidate.trials[name].first) for name in case.variants}
        self.candidate = replace(case.candidate, trials=trials)
        self.evidence = self.candidate.trials[self.first].first
        self.instructed = InstructedPaths(self.task.nl, case.cwd, case.home)
        self.leftovers = {name: self._leftovers(name) for name in case.variants}

    def finding(self) -> Finding:
        """Return the finding: a pass, a failure in the published world, or undecided with the reason."""
        if (sentence := self._is_no_command()) is not None:
            return self._fails(Outcome.INVALID, Step.SYNTAX, OpenRule.INVALID, sentence)
        match = self._match(self.first)
        if match.presentation is None:
            return self._failure() or self._different(match)
        differing = [name for name in self.case.variants[1:] if self._match(name).presentation is None]
        if self.case.is_known_mutant:
            sentence = "has the effects of a reference, but differs from it by one known mutation"
            return _undecided(OpenRule.KNOWN_MUTANT, Step.EQUAL, sentence, differing[0] if differing else None)
        if not self._shows_something(self.first) and (differing or not self._is_shown_elsewhere()):
            sentence = "shows nothing in the published world, as the references do"
            return _undecided(OpenRule.NOTHING_SHOWN, Step.EQUAL, sentence, self.first)
        if decisive := [name for name in differing if name not in self.case.contested]:
            difference = self._match(decisive[0])
            sentence = f"does the same in the published world, but in an added variant: {difference.sentence}"
            return _undecided(OpenRule.VARIANT, difference.step, sentence, decisive[0])
        return self._passed(match.presentation, differing)

    def _passed(self, presentation: str, differing: Sequence[str]) -> Finding:
        rule = (
            OpenRule.CONTESTED if differing else OpenRule.SAME_INFORMATION if presentation else OpenRule.SAME_EVIDENCE
        )
        sentence = "shows what a reference shows"
        if presentation:
            sentence += f", apart from presentation ({presentation})"
        if differing:
            sentence += f"; links, hidden files or deeper folders in {', '.join(differing)} do not count"
        return Finding(outcome=Outcome.PASS, step=Step.EQUAL, reason=sentence, rule=rule)

    def _match(self, variant: str) -> _Match:
        """Return the match with the reference that fits best in one variant."""
        restricted = replace(self.case.within([variant]), candidate=self.candidate.within([variant]))
        references = tuple(reference.within([variant]) for reference in self.references)
        if any(command.trials[variant].first.ending is not Ending.EXITED for command in (self.candidate, *references)):
            return _Match(None, Step.LIMIT, "the command or a reference reaches a limit")
        (runs,) = runs_by_variant(restricted, restricted.candidate or self.candidate, references)
        matches = [self._compare(runs, reference) for reference in runs.references]
        return next((match for match in matches if match.presentation is not None), matches[0])

    def _compare(self, runs: VariantRuns, reference: ComparableRun) -> _Match:
        context = FormatContext(self.task.nl, self.case.cwd.encode())

        def same_file(task: Task, candidate: Text, expected: Text | None) -> bool:
            return is_same_text(task, candidate, expected) or is_same_answer(context, task, candidate, expected)

        if not same_effects(self.task, runs, reference, same_file, self.leftovers[runs.variant]):
            return _Match(None, Step.FILES, _describe_effects(runs.candidate.evidence, reference.evidence))
        if observes_stderr(self.task):
            comparison = compare_diagnostics(runs.candidate.stderr, reference.stderr)
            if comparison.match is not OutputMatch.SAME:
                return _Match(None, Step.STDERR, comparison.sentence)
        if self.task.output is OutputMode.NONE or same_file(self.task, runs.candidate.stdout, reference.stdout):
            return _Match("")
        ordered = self.task.output is not OutputMode.SET
        presentation = presentation_of(runs.candidate.stdout, reference.stdout, self.task.nl, ordered=ordered)
        if presentation is None:
            return _Match(None, Step.OUTPUT, _describe_output(runs.candidate.stdout, reference.stdout))
        return _Match(presentation)

    def _leftovers(self, variant: str) -> frozenset[bytes]:
        """Return the paths that the candidate adds for its own use: temporary files, and hidden files in the home."""
        home = self.case.home.rstrip("/").encode() + b"/."
        scratch = tuple(scratch_paths(self.case))
        free = [home, *(path + b"/" for path in scratch)]
        used = {path for reference in self.references for path in _changed(reference.trials[variant].first)}
        return frozenset(
            change.path
            for change in self.candidate.trials[variant].first.changes
            if change.kind is Kind.ADDED
            and change.path not in used
            and (change.path in scratch or change.path.startswith(tuple(free)))
        )

    def _is_shown_elsewhere(self) -> bool:
        """Return whether an added variant shows something, and the same there as in a reference, without exception."""
        added = self.case.variants[1:]
        return any(map(self._shows_something, added)) and all(self._match(name).presentation == "" for name in added)

    def _shows_something(self, variant: str) -> bool:
        return self._shows(self.candidate.trials[variant].first)

    def _shows(self, evidence: Evidence) -> bool:
        printed = self.task.output is not OutputMode.NONE and bool(evidence.stdout.data.strip())
        return printed or bool(evidence.changes) or bool(self.task.observe)

    def _failure(self) -> Finding | None:
        """Return a failure in the published world, or None if a careful reader may accept the command."""
        checks: tuple[tuple[OpenRule, Step, Callable[[], str | None]], ...] = (
            (OpenRule.SHOWS_NOTHING, Step.OUTPUT, self._prints_nothing),
            (OpenRule.NO_EFFECT, Step.FILES, self._has_no_effect),
            (OpenRule.USAGE_ERROR, Step.STDERR, self._has_usage_error),
            (OpenRule.DESTROYS, Step.FILES, partial(self._changes_other_path, _DESTROYS)),
            (OpenRule.CHANGES, Step.FILES, self._changes_instead),
        )
        for rule, step, check in checks:
            sentence = check()
            if sentence is not None:
                return self._fails(Outcome.FAIL, step, rule, sentence)
        return None

    def _fails(self, outcome: Outcome, step: Step, rule: OpenRule, sentence: str) -> Finding:
        return Finding(outcome=outcome, step=step, reason=reason(sentence), variant=self.first, rule=rule)

    def _published_references(self) -> Iterator[Evidence]:
        return (reference.trials[self.first].first for reference in self.references)

    def _prints_nothing(self) -> str | None:
        """Return a sentence if the command shows nothing, and every reference prints something."""
        if self.task.output is OutputMode.NONE or self._own_changes() or self.evidence.stdout.data.strip():
            return None
        if not all(evidence.stdout.data.strip() for evidence in self._published_references()):
            return None
        first = next(self._published_references()).stdout.data.strip().partition(b"\n")[0]
        return f"prints nothing; every reference prints, such as {shown(first)}"

    def _has_no_effect(self) -> str | None:
        """Return a sentence if every reference changes the same path, and the command changes nothing."""
        if self._own_changes():
            return None
        required = [set(_changed(evidence)) for evidence in self._published_references()]
        common = set.intersection(*required)
        return f"changes nothing; every reference changes {shown(min(common))}" if common else None

    def _has_usage_error(self) -> str | None:
        """Return a sentence if a program of the command rejects its arguments, and no program of a reference does."""
        errors = [line for line in self.evidence.stderr.data.split(b"\n") if _USAGE_ERROR.search(line)]
        if not errors or any(_USAGE_ERROR.search(run.stderr.data) for run in self._published_references()):
            return None
        return f"a program rejects its arguments: {shown(errors[0])}"

    def _own_changes(self) -> list[PathChange]:
        return [change for change in self.evidence.changes if change.path not in self.leftovers[self.first]]

    def _changes_other_path(self, kinds: frozenset[Kind]) -> str | None:
        """Return a sentence if the command changes a path that neither the instruction nor a reference touches."""
        used = {path for evidence in self._published_references() for path in _changed(evidence)}
        scratch = tuple(scratch_paths(self.case))
        for change in self._own_changes():
            is_free = touched_by(change.path, scratch) or touched_by(change.path, used)
            if change.kind in kinds and not is_free and not self.instructed.touches(change.path):
                verb = "deletes or replaces" if kinds is _DESTROYS else "changes"
                return f"{verb} {shown(change.path)}, which neither the instruction nor a reference touches"
        return None

    def _changes_instead(self) -> str | None:
        """Return a sentence if the command changes another path, and none of the paths that every reference changes."""
        required = [set(_changed(evidence)) for evidence in self._published_references()]
        common = set.intersection(*required)
        if not common or common.intersection(change.path for change in self.evidence.changes):
            return None
        return self._changes_other_path(_CHANGES)

    def _is_no_command(self) -> str | None:
        """Return a sentence if the command is only words, and the shell does not find the first one.

        A reference whose program is absent shows that the published world lacks programs. Then this check says nothing.
        """
        statuses = [evidence.status for evidence in self._published_references()]
        if self.evidence.status != _NOT_FOUND or _NOT_FOUND in statuses or self._shows(self.evidence):
            return None
        text = self.candidate.command.strip()
        return f"is no command: the shell does not find {shown(text.split()[0])}" if _PROSE.fullmatch(text) else None

    def _different(self, match: _Match) -> Finding:
        rule = OpenRule.OTHER_OUTPUT if match.step is Step.OUTPUT else OpenRule.OTHER_EFFECTS
        return _undecided(rule, match.step, match.sentence, self.first)


def _changed(evidence: Evidence) -> Iterator[bytes]:
    return (change.path for change in evidence.changes)


def _describe_effects(candidate: Evidence, reference: Evidence) -> str:
    """Name the first path that one of two commands changes differently."""
    found, expected = ({change.path: change for change in evidence.changes} for evidence in (candidate, reference))
    for path in sorted(found.keys() | expected.keys()):
        if path not in found:
            return f"does not change {shown(path)}, which a reference changes ({expected[path].kind.value})"
        if path not in expected:
            return f"changes {shown(path)} ({found[path].kind.value}), which this reference does not change"
        if found[path] != expected[path]:
            return f"changes {shown(path)} in another way than a reference"
    return "has other effects than a reference"


def _describe_output(candidate: Text, reference: Text) -> str:
    """Name the first line that only one of two texts has."""
    found, expected = (text.data.split(b"\n") for text in (candidate, reference))
    missing = next((line for line in expected if line.strip() and line not in found), None)
    extra = next((line for line in found if line.strip() and line not in expected), None)
    parts = [f"a reference also prints {shown(missing)}"] if missing is not None else []
    parts += [f"only the command prints {shown(extra)}"] if extra is not None else []
    return "; ".join(parts) or "prints the lines of a reference in another order or number"

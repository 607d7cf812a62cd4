"""The judge asks for one variant after another. A failure ends the case, and no run behind it changes the finding."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import product
from typing import Any, Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluator.judges import Case, Judge, decide, find_judge
from evaluator.judges.case import NeededRuns
from evaluator.records import Ending, Evidence, Finding, Instructions, Outcome, Step, Trial
from evaluator.testing.evidence import Shown, added, case, evidence, task, trial

CONSENSUS: Final = find_judge("consensus")
VARIANTS: Final = ("a", "b", "c")
RIGHT: Final = {name: trial(f"{name}\n", f"{name}\n") for name in VARIANTS}
LATE: Final = evidence(ending=Ending.TIMEOUT)


def needed_runs(judge: Judge, given: Case) -> tuple[NeededRuns, ...]:
    """Return the runs that a judge needs next, or nothing if it decides. Then it decides as `judge` does."""
    decided = decide(judge, given)
    if isinstance(decided, Finding):
        assert decided == judge.judge(given)
        return ()
    return decided


def asked(candidate: Mapping[str, Any], references: Sequence[Shown] = (RIGHT, RIGHT), **fields: Any) -> Any:
    """Return the runs that the judge needs next. They are runs of the candidate, each with its variant and number."""
    given = case(references, candidate, planned_variants=VARIANTS, **fields)
    needed = needed_runs(CONSENSUS, given)
    assert all(runs.of_candidate for runs in needed)
    return [(name, runs.repeat) for runs in needed for name in runs.variants]


def judge(candidate: Mapping[str, Any], references: Sequence[Shown] = (RIGHT, RIGHT), **fields: Any) -> Finding:
    return CONSENSUS.judge(case(references, candidate, planned_variants=VARIANTS, **fields))


VERIFIED: Final = task(verify=b"exit 0")
REJECTED, ACCEPTED = evidence(verifier=1), evidence(verifier=0)

ENDS: Final[Mapping[str, tuple[Shown, dict[str, Any], Outcome, Step]]] = {
    "output": ("x\n", {}, Outcome.FAIL, Step.OUTPUT),
    "files": (evidence("a\n", changes=[added("/srv/x")]), {}, Outcome.FAIL, Step.FILES),
    "exit status": (evidence("a\n", status=1), {"of": task(observe=["exit"])}, Outcome.FAIL, Step.EXIT),
    "standard error": (evidence("a\n", stderr="x"), {"of": task(observe=["stderr"])}, Outcome.FAIL, Step.STDERR),
    "memory": (evidence(ending=Ending.MEMORY), {}, Outcome.FAIL, Step.LIMIT),
    "time": (LATE, {}, Outcome.TIMEOUT, Step.LIMIT),
    "syntax": (evidence(status=2, stderr="bash: -c: line 1: syntax error"), {}, Outcome.INVALID, Step.SYNTAX),
    "verifier": (REJECTED, {"of": VERIFIED}, Outcome.FAIL, Step.VERIFIER),
}


@pytest.mark.parametrize(("shows", "fields", "outcome", "step"), ENDS.values(), ids=ENDS)
def test_a_failure_in_the_first_variant_ends_the_case(
    shows: Shown, fields: dict[str, Any], outcome: Outcome, step: Step
) -> None:
    assert asked({"a": shows}, **fields) == []
    finding = judge({"a": shows}, **fields)
    assert (finding.outcome, finding.step, finding.variant) == (outcome, step, "a")


WAITS: Final[Mapping[str, tuple[Shown, Sequence[Shown], dict[str, Any]]]] = {
    "a pass": ("a\n", (RIGHT, RIGHT), {}),
    "an accepting verifier": (ACCEPTED, (RIGHT, RIGHT), {"of": VERIFIED}),
    "an undecided case": ("a 2\n", (RIGHT, RIGHT), {"of": task("set")}),
    "the words of a reference": ("x\n", (RIGHT, RIGHT), {"command": b"'reference' 1"}),
    "no usable reference": ("x\n", (dict.fromkeys(VARIANTS, LATE),), {}),
    "nothing shown": ("", (dict.fromkeys(VARIANTS, ""),), {}),
    "a single reference": ("total a\n", (dict.fromkeys(VARIANTS, "a total 1\n"),), {"of": task("set")}),
    "an open task": ("x\n", (RIGHT, RIGHT), {"instructions": Instructions.OPEN, "of": task("set")}),
}


@pytest.mark.parametrize(("shows", "references", "fields"), WAITS.values(), ids=WAITS)
def test_all_other_findings_wait_for_the_last_variant(
    shows: Shown, references: Sequence[Shown], fields: dict[str, Any]
) -> None:
    needed = asked({"a": shows}, references, **fields)
    assert needed[0] == ("b", 0)
    missing = judge({"a": shows}, references, **fields)
    assert (missing.outcome, missing.variant) == (Outcome.INFRA_ERROR, "b")


SHOWS: Final = st.sampled_from(["a\n", "b\n", "c\n", "a x\n", "", LATE, evidence("a\n", changes=[added("/srv/x")])])


@given(
    mode=st.sampled_from(["exact", "set", "none"]), runs=st.tuples(SHOWS, SHOWS, SHOWS), more=st.tuples(SHOWS, SHOWS)
)
def test_runs_behind_the_variant_that_decided_change_nothing(
    mode: str, runs: Sequence[Evidence | str], more: Sequence[Evidence | str]
) -> None:
    """The finding stays the same if the runs behind it are missing, or if they are others."""
    whole = dict(zip(VARIANTS, runs, strict=True))
    finding = judge(whole, of=task(mode))
    if finding.outcome in (Outcome.FAIL, Outcome.TIMEOUT):
        number = VARIANTS.index(finding.variant or "") + 1
        prefix = {name: whole[name] for name in VARIANTS[:number]}
        assert asked(prefix, of=task(mode)) == []
        assert judge(prefix, of=task(mode)) == finding
        assert judge(prefix | dict(zip(VARIANTS[number:], more, strict=False)), of=task(mode)) == finding
    else:
        assert asked({name: whole[name] for name in VARIANTS[:2]}, of=task(mode)) == [("c", 0)]


def test_a_candidate_that_equals_another_reference_in_each_variant_fails_in_the_second() -> None:
    one, two = ({"a": left, "b": right, "c": "c\n"} for left, right in (("1\n", "1\n"), ("2\n", "2\n")))
    finding = judge({"a": "1\n", "b": "2\n"}, (one, two))
    assert (finding.outcome, finding.variant) == (Outcome.FAIL, "b")


def test_references_run_in_all_known_variants_before_the_first_decision() -> None:
    """A reference that ends by a limit in a later variant is not usable in the first one."""
    given = case([{"a": "a\n"}, RIGHT], {"a": "x\n"}, planned_variants=VARIANTS)
    assert needed_runs(CONSENSUS, given) == (NeededRuns(of_candidate=False, variants=("b", "c")),)
    allowing: dict[str, Any] = {"a": "x\n", "b": "x\n", "c": LATE}
    assert judge({"a": "x\n"}, (RIGHT, allowing)).outcome is Outcome.FAIL


class TestFreshVariants:
    """References run in a fresh variant only if the candidate gets there."""

    FIELDS: Final[dict[str, Any]] = {"planned_variants": ("a", "b", "fresh"), "fresh": frozenset({"fresh"})}
    KNOWN: Final[dict[str, Any]] = {name: RIGHT[name] for name in ("a", "b")}

    def test_the_references_run_there_after_the_candidate_passed_all_known_variants(self) -> None:
        first = case([self.KNOWN] * 2, {"a": "a\n"}, **self.FIELDS)
        assert needed_runs(CONSENSUS, first) == (NeededRuns(of_candidate=True, variants=("b",)),)
        second = case([self.KNOWN] * 2, {"a": "a\n", "b": "b\n"}, **self.FIELDS)
        assert needed_runs(CONSENSUS, second) == (
            NeededRuns(of_candidate=True, variants=("fresh",)),
            NeededRuns(of_candidate=False, variants=("fresh",)),
        )

    @pytest.mark.parametrize("shows", ["f\n", "", LATE, evidence("f\n", changes=[added("/tmp/x")])])
    def test_a_finding_in_a_known_variant_does_not_read_them(self, shows: Any) -> None:
        """A fresh run would tell that a reference is not usable, or that it uses a directory for temporary files."""
        candidate: dict[str, Any] = {"a": evidence("a\n", changes=[added("/tmp/y")]), "b": "x\n"}
        few = case([self.KNOWN] * 2, candidate, **self.FIELDS)
        more: dict[str, Any] = {**self.KNOWN, "fresh": shows}
        many = case([more] * 2, candidate, **self.FIELDS)
        assert CONSENSUS.judge(few) == CONSENSUS.judge(many)
        assert CONSENSUS.judge(few).variant == "b"


class TestSecondRuns:
    """Second runs are needed only if a candidate does not pass by the first runs, and only where it fails."""

    ONCE: Final = {name: trial(f"{name} 1\n") for name in VARIANTS}
    MOVING: Final = {name: trial(f"{name} 1\n", f"{name} 2\n") for name in VARIANTS}

    def needed(self, candidate: Mapping[str, Any], references: Mapping[str, Any]) -> tuple[NeededRuns, ...]:
        return needed_runs(CONSENSUS, case([references] * 2, candidate, planned_variants=VARIANTS))

    def test_a_pass_by_first_runs_needs_none(self) -> None:
        assert self.needed({name: f"{name} 1\n" for name in VARIANTS}, self.ONCE) == ()

    def test_a_failure_needs_those_of_references_in_the_variants_so_far(self) -> None:
        references = NeededRuns(of_candidate=False, variants=("a",), repeat=1)
        assert self.needed({"a": "x\n"}, self.ONCE) == (references,)
        later = {"a": "a 1\n", "b": "x\n"}
        assert self.needed(later, self.ONCE) == (references._replace(variants=("a", "b")),)

    def test_a_nondeterministic_field_of_references_is_no_failure(self) -> None:
        assert self.needed({"a": "a 9\n"}, self.MOVING) == (NeededRuns(of_candidate=True, variants=("b",)),)
        assert judge({name: f"{name} 9\n" for name in VARIANTS}, (self.MOVING,) * 2).outcome is Outcome.PASS

    def test_the_candidates_is_needed_only_if_a_reference_moves_in_that_step_and_variant(self) -> None:
        again = NeededRuns(of_candidate=True, variants=("a",), repeat=1)
        assert self.needed({"a": "x 1\n"}, self.MOVING) == (again,)
        steady = {**self.MOVING, "a": trial("a 1\n", "a 1\n")}
        assert self.needed({"a": "x 1\n"}, steady) == ()
        files = {"a": evidence("a 1\n", changes=[added("/srv/x")])}
        assert self.needed(files, self.MOVING) == ()

    def test_a_candidate_whose_own_fields_explain_a_failure_goes_on_and_is_undecided(self) -> None:
        own = {name: trial(f"{name}{n} 1\n", f"{name}{n + 1} 1\n") for n, name in enumerate(VARIANTS)}
        assert self.needed({"a": own["a"]}, self.MOVING) == (NeededRuns(of_candidate=True, variants=("b",)),)
        finding = judge(own, (self.MOVING,) * 2)
        assert (finding.outcome, finding.variant) == (Outcome.UNDECIDED, "a")
        wrong = judge({**own, "c": trial("x 1\n", "x 1\n")}, (self.MOVING,) * 2)
        assert (wrong.outcome, wrong.variant) == (Outcome.FAIL, "c")

    @pytest.mark.parametrize("present", list(product([False, True], repeat=3)))
    def test_those_in_other_variants_change_nothing(self, present: Sequence[bool]) -> None:
        """A finding in `b` reads the references' second runs in `a` and `b`, and no other second run."""

        def runs(shows: Mapping[str, Trial], keep: Sequence[bool]) -> dict[str, Trial]:
            return {
                name: each if is_kept else trial(each.first)
                for (name, each), is_kept in zip(shows.items(), keep, strict=True)
            }

        own = {"a": trial("a 1\n", "a 2\n"), "b": trial("x 1\n", "x 2\n"), "c": trial("c 1\n", "c 2\n")}
        expected = judge(own, (self.MOVING,) * 2)
        references = runs(self.MOVING, (True, True, present[0]))
        assert judge(runs(own, (present[1], True, present[2])), (references,) * 2) == expected
        assert (expected.outcome, expected.variant) == (Outcome.FAIL, "b")


def test_a_command_that_no_shell_could_be_given_needs_nothing() -> None:
    given = case([{}], {}, command=b" ", planned_variants=VARIANTS)
    assert needed_runs(CONSENSUS, given) == ()
    assert needed_runs(CONSENSUS, replace(given, candidate=None)) == ()


@pytest.mark.parametrize("name", ["exact", "exec-tfidf"])
def test_another_judge_needs_every_first_run(name: str) -> None:
    given: Case = case([RIGHT, {}], {"a": "x\n"}, planned_variants=VARIANTS)
    assert needed_runs(find_judge(name), given) == (
        NeededRuns(of_candidate=True, variants=("b", "c")),
        NeededRuns(of_candidate=False, variants=VARIANTS),
    )
    assert needed_runs(find_judge("bleu"), given) == ()

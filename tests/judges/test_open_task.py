"""The rules for tasks whose instruction leaves several right behaviours."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from evaluator.judges import find_judge
from evaluator.judges.case import NeededRuns, decide
from evaluator.judges.consensus.open_task import OpenRule
from evaluator.records import Ending, Finding, Instructions, Outcome, Step
from evaluator.testing.evidence import Shown, added, case, deleted, evidence, modified, remoded, task

PASS, FAIL, UNDECIDED = Outcome.PASS, Outcome.FAIL, Outcome.UNDECIDED
NL = "Remove the old logs below /srv"
CUT = evidence("", changes=[deleted("/srv/a.log"), deleted("/srv/b.log")])
NOTHING = evidence("")


def judge(references: Sequence[Shown], candidate: Shown, mode: str = "set", **fields: Any) -> Finding:
    words = fields.pop("nl", NL)
    of = task(mode, fields.pop("observe", ()), nl=words)
    return find_judge("consensus").judge(case(references, candidate, of, instructions=Instructions.OPEN, **fields))


def worlds(published: Shown, **added_variants: Shown) -> Mapping[str, Any]:
    return {"plain": published, **added_variants}


DECIDED: dict[str, tuple[Sequence[Shown], Shown, str, Outcome, OpenRule]] = {
    "the same rows": (["a 1\n"], "a  1\n", "set", PASS, OpenRule.SAME_EVIDENCE),
    "another presentation": (["1 a\n2 b\n"], "1 a\n2 b\n3 total\n", "lines", PASS, OpenRule.SAME_INFORMATION),
    "the same effects": ([CUT], CUT, "none", PASS, OpenRule.SAME_EVIDENCE),
    "another reference": (["a\n", "b\n"], "b\n", "set", PASS, OpenRule.SAME_EVIDENCE),
    "other rows": (["a\n"], "b\n", "set", UNDECIDED, OpenRule.OTHER_OUTPUT),
    "nothing for something": (["a\n", "b\n"], "\n \n", "set", FAIL, OpenRule.SHOWS_NOTHING),
    "nothing for something and nothing": (["a\n", NOTHING], NOTHING, "set", UNDECIDED, OpenRule.NOTHING_SHOWN),
    "blank lines alone": (["\n"], "\n", "set", UNDECIDED, OpenRule.NOTHING_SHOWN),
    "no effect": ([CUT], NOTHING, "none", FAIL, OpenRule.NO_EFFECT),
    "a part of the effect": (
        [CUT],
        evidence("", changes=[deleted("/srv/a.log")]),
        "none",
        UNDECIDED,
        OpenRule.OTHER_EFFECTS,
    ),
    "no effect but a temporary file": (
        [CUT],
        evidence("", changes=[added("/tmp/x")]),
        "none",
        FAIL,
        OpenRule.NO_EFFECT,
    ),
    "the effect and a temporary file": (
        [CUT],
        evidence("", changes=[*CUT.changes, added("/tmp/x"), added("/root/.config/x")]),
        "none",
        PASS,
        OpenRule.SAME_EVIDENCE,
    ),
    "destruction elsewhere": (
        [CUT],
        evidence("", changes=[deleted("/etc/passwd"), *CUT.changes]),
        "none",
        FAIL,
        OpenRule.DESTROYS,
    ),
    "more below the instructed path": (
        [CUT],
        evidence("", changes=[*CUT.changes, deleted("/srv/deep/c.log")]),
        "none",
        UNDECIDED,
        OpenRule.OTHER_EFFECTS,
    ),
    "destruction of temporary files": (
        [CUT],
        evidence("", changes=[*CUT.changes, deleted("/tmp/x")]),
        "none",
        UNDECIDED,
        OpenRule.OTHER_EFFECTS,
    ),
    "a change elsewhere instead": (
        [CUT],
        evidence("", changes=[modified("/etc/hosts", "x")]),
        "none",
        FAIL,
        OpenRule.CHANGES,
    ),
    "a mode elsewhere beside the effect": (
        [CUT],
        evidence("", changes=[remoded("/etc/hosts", 0o777, old_mode=0o644), *CUT.changes]),
        "none",
        UNDECIDED,
        OpenRule.OTHER_EFFECTS,
    ),
    "a usage error": (
        ["3\n"],
        evidence("0\n", stderr="diff: extra operand 'b'\ndiff: Try 'diff --help' for more information.\n"),
        "set",
        FAIL,
        OpenRule.USAGE_ERROR,
    ),
    "a usage error of the reference too": (
        [evidence("3\n", stderr="ls: invalid option -- 'y'\n")],
        evidence("0\n", stderr="ls: invalid option -- 'z'\n"),
        "set",
        UNDECIDED,
        OpenRule.OTHER_OUTPUT,
    ),
    "a usage error beside the right output": (
        ["3\n"],
        evidence("3\n", stderr="ls: invalid option -- 'z'\n"),
        "set",
        PASS,
        OpenRule.SAME_EVIDENCE,
    ),
    "another message": (
        ["3\n"],
        evidence("0\n", stderr="cat: b: No such file or directory\n"),
        "set",
        UNDECIDED,
        OpenRule.OTHER_OUTPUT,
    ),
    "a timeout": (["a\n"], evidence("", ending=Ending.TIMEOUT), "set", Outcome.TIMEOUT, OpenRule.LIMIT),
    "a timeout of all": (
        [evidence("", ending=Ending.TIMEOUT)],
        evidence("a\n", ending=Ending.TIMEOUT),
        "set",
        UNDECIDED,
        OpenRule.NO_REFERENCE,
    ),
    "a syntax error": (
        ["a\n"],
        evidence("", status=2, stderr="bash: -c: line 1: syntax error near unexpected token `)'\n"),
        "set",
        Outcome.INVALID,
        OpenRule.INVALID,
    ),
}


@pytest.mark.parametrize(("references", "candidate", "mode", "outcome", "rule"), DECIDED.values(), ids=DECIDED)
def test_each_rule_decides_in_the_published_world(
    references: Sequence[Shown], candidate: Shown, mode: str, outcome: Outcome, rule: OpenRule
) -> None:
    finding = judge(references, candidate, mode)
    assert (finding.outcome, finding.rule) == (outcome, rule)
    assert finding.reason


VARIANTS: dict[str, tuple[Shown, Shown, Outcome, OpenRule]] = {
    "the same everywhere": (worlds("a\n", near="b\n"), worlds("a\n", near="b\n"), PASS, OpenRule.SAME_EVIDENCE),
    "an added variant": (worlds("a\n", near="b\n"), worlds("a\n", near="c\n"), UNDECIDED, OpenRule.VARIANT),
    "a contested variant": (worlds("a\n", odd="b\n"), worlds("a\n", odd="c\n"), PASS, OpenRule.CONTESTED),
    "both": (worlds("a\n", near="b\n", odd="b\n"), worlds("a\n", near="c\n", odd="c\n"), UNDECIDED, OpenRule.VARIANT),
    "destruction in an added variant": (
        worlds("a\n", near="b\n"),
        worlds("a\n", near=evidence("b\n", changes=[deleted("/etc/passwd")])),
        UNDECIDED,
        OpenRule.VARIANT,
    ),
    "a timeout in an added variant": (
        worlds("a\n", near="b\n"),
        worlds("a\n", near=evidence("", ending=Ending.TIMEOUT)),
        UNDECIDED,
        OpenRule.VARIANT,
    ),
    "shown in an added variant only": (worlds("", near="b\n"), worlds("", near="b\n"), PASS, OpenRule.SAME_EVIDENCE),
    "other columns in an added variant only": (
        worlds("", near="b.sh\n"),
        worlds("", near="b.sh 1\n"),
        UNDECIDED,
        OpenRule.NOTHING_SHOWN,
    ),
    "shown in a contested variant, and different": (
        worlds("", near="b\n", odd="b\n"),
        worlds("", near="b\n", odd="c\n"),
        UNDECIDED,
        OpenRule.NOTHING_SHOWN,
    ),
    "wrong in the published world": (worlds("a\n", near="b\n"), worlds("", near="b\n"), FAIL, OpenRule.SHOWS_NOTHING),
}


@pytest.mark.parametrize(("reference", "candidate", "outcome", "rule"), VARIANTS.values(), ids=VARIANTS)
def test_an_added_variant_never_makes_a_command_fail(
    reference: Shown, candidate: Shown, outcome: Outcome, rule: OpenRule
) -> None:
    finding = judge([reference], candidate, contested=frozenset({"odd"}))
    assert (finding.outcome, finding.rule) == (outcome, rule)


def test_a_known_mutant_is_undecided() -> None:
    finding = judge([worlds("a\n", odd="b\n")], worlds("a\n", odd="c\n"), is_known_mutant=True, contested={"odd"})
    assert (finding.outcome, finding.rule, finding.variant) == (UNDECIDED, OpenRule.KNOWN_MUTANT, "odd")


NO_COMMANDS = {"submit": b"submit", "a sentence": b"I cannot do that, sorry.", "a question": b"Which file?"}


@pytest.mark.parametrize("command", NO_COMMANDS.values(), ids=NO_COMMANDS)
def test_words_alone_are_no_command(command: bytes) -> None:
    absent = evidence("", status=127, stderr="bash: line 1: submit: command not found\n")
    assert judge([CUT, NOTHING], absent, "none", command=command).outcome is Outcome.INVALID


def test_an_absent_program_is_not_prose() -> None:
    absent = evidence("", status=127, stderr="bash: line 1: tidy: command not found\n")
    assert judge([CUT, NOTHING], absent, "none", command=b"tidy --all /srv").outcome is UNDECIDED


def test_the_words_of_a_reference_pass_without_evidence() -> None:
    finding = judge([NOTHING, NOTHING], NOTHING, command=b"reference 2")
    assert (finding.outcome, finding.step, finding.rule) == (PASS, Step.EQUAL, OpenRule.SAME_WORDS)


def test_collateral_changes_are_marked() -> None:
    assert judge([CUT], evidence("", changes=[*CUT.changes, added("/tmp/x")]), "none").collateral


def test_a_precise_task_fails_by_the_same_evidence() -> None:
    """The rules for open tasks apply to open tasks only."""
    precise = case(["a\n"], "b 1 2\n", task("set"))
    assert find_judge("consensus").judge(precise).outcome is FAIL
    assert find_judge("consensus").judge(precise).rule == ""


def test_a_verifier_decides_an_open_task() -> None:
    of = task("none", nl=NL, verify=b"exit 0")
    refused = case([CUT], evidence("", verifier=1), of, instructions=Instructions.OPEN)
    assert find_judge("consensus").judge(refused).step is Step.VERIFIER


def test_every_variant_is_needed_and_second_runs_of_references_alone() -> None:
    """The rules for open tasks read the nondeterministic fields of references, and no second run of the candidate."""
    given = case([{"a": "1\n", "b": "1\n"}], {"a": "2\n"}, task("set", nl=NL), instructions=Instructions.OPEN)
    assert decide(find_judge("consensus"), given) == (
        NeededRuns(of_candidate=True, variants=("b",)),
        NeededRuns(of_candidate=False, variants=("a", "b"), repeat=1),
    )


def test_missing_evidence_is_an_infra_error() -> None:
    finding = judge([worlds("a\n", near="b\n")], worlds("a\n"))
    assert finding.outcome is Outcome.INFRA_ERROR


def test_hostile_output_stays_one_line_of_the_reason() -> None:
    finding = judge(["a\n"], "<script>\x1b[31m\n")
    assert "\x1b" not in finding.reason
    assert "\n" not in finding.reason

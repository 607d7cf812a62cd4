"""The checks that every judge makes before it compares anything."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from evaluator.judges import JUDGES, Case, EvidenceNeed, Executed, find_judge
from evaluator.judges.consensus.prechecks import syntax_error
from evaluator.records import Ending, Finding, Outcome, Step
from evaluator.testing.evidence import Shown, case, evidence, executed, shell, task

JudgeOf = Callable[[Case], Finding]

SYNTAX = [
    (2, "bash: -c: line 1: syntax error near unexpected token `)'\nbash: -c: line 1: `)'\n"),
    (2, "bash: -c: line 2: syntax error: unexpected end of file\n"),
    (2, "bash: -c: line 1: unexpected EOF while looking for matching `\"'\n"),
    (1, "bash: -c: line 1: unexpected EOF while looking for matching `)'\n"),
    (2, "bash: -c: line 1: conditional binary operator expected\nbash: -c: line 1: syntax error near `b'\n"),
    (2, "cp: missing file operand\nbash: -c: line 3: syntax error: unexpected end of file\n"),
    (2, "bash: -c: line 2: syntax error: unexpected end of file from `if' command on line 1\n"),
]
NOT_SYNTAX = [
    (1, 'bash: line 1: 1+: syntax error: operand expected (error token is "+")\n'),
    (2, "bash: eval: line 2: syntax error: unexpected end of file\n"),
    (0, "bash: -c: line 1: syntax error near unexpected token `)'\n"),
    (0, "bash: -c: line 1: unexpected EOF while looking for matching `)'\n"),
    (2, "awk: cmd. line:1: syntax error at source line 1\n"),
    (2, "ls: cannot access 'x': No such file or directory\n"),
    (1, "bash: line 1: warning: here-document at line 1 delimited by end-of-file (wanted `E')\n"),
    (2, "x bash: -c: line 1: syntax error near unexpected token `)'\n"),
]


@pytest.fixture(params=sorted(name for name, judge in JUDGES.items() if judge.basis is not EvidenceNeed.TEXT))
def judged(request: pytest.FixtureRequest) -> JudgeOf:
    """Return the judging function of each registered judge that uses evidence."""
    return find_judge(request.param).judge


@pytest.fixture
def in_all(judged: JudgeOf) -> JudgeOf:
    """Return the function of a judge that reads all variants. `intercode` reads only the publisher's variant."""
    if judged == find_judge("intercode").judge:
        pytest.skip("the judge reads one variant")
    return judged


def judge_text(judged: JudgeOf, command: bytes) -> Finding:
    return judged(case(["3\n"], "3\n", command=command))


def test_no_candidate_is_unanswered(judged: JudgeOf) -> None:
    assert judged(case(["3\n"], None)).outcome is Outcome.UNANSWERED


@pytest.mark.parametrize("command", [b"", b" ", b"\n\t \n"])
def test_a_command_without_words_is_invalid(judged: JudgeOf, command: bytes) -> None:
    assert judge_text(judged, command).outcome is Outcome.INVALID


def test_a_command_with_nul_is_invalid_even_where_it_printed_what_is_asked(judged: JudgeOf) -> None:
    finding = judge_text(judged, b"echo 3\0")
    assert (finding.outcome, finding.step) == (Outcome.INVALID, Step.SYNTAX)


def test_an_empty_command_needs_no_evidence(judged: JudgeOf) -> None:
    given = case(["3\n"], "3\n")
    nothing_run = Case(given.task, given.references, Executed(b"", {}), given.home, given.scratch)
    assert judged(nothing_run).outcome is Outcome.INVALID


@pytest.mark.parametrize(("status", "stderr"), SYNTAX)
def test_the_shells_own_syntax_error_is_invalid(judged: JudgeOf, status: int, stderr: str) -> None:
    finding = judged(case(["3\n"], evidence("3\n", status=status, stderr=stderr)))
    assert (finding.outcome, finding.step, finding.variant) == (Outcome.INVALID, Step.SYNTAX, "one")


@pytest.mark.parametrize(("status", "stderr"), NOT_SYNTAX)
def test_other_complaints_are_not_the_shells_syntax_error(status: int, stderr: str) -> None:
    assert syntax_error(evidence(status=status, stderr=stderr)) is None


@pytest.mark.parametrize(
    ("ending", "outcome", "word"),
    [
        (Ending.TIMEOUT, Outcome.TIMEOUT, "time"),
        (Ending.MEMORY, Outcome.FAIL, "memory"),
        (Ending.DISK, Outcome.FAIL, "disk"),
        (Ending.CRASH, Outcome.FAIL, "container"),
    ],
)
def test_a_limit_is_named_in_any_variant(in_all: JudgeOf, ending: Ending, outcome: Outcome, word: str) -> None:
    limited: Shown = {"a": "3\n", "b": evidence("3\n", ending=ending, status=None)}
    finding = in_all(case([{"a": "3\n", "b": "3\n"}], limited))
    assert (finding.outcome, finding.step, finding.variant) == (outcome, Step.LIMIT, "b")
    assert word in finding.reason


def test_evidence_missing_in_one_variant_is_ours(in_all: JudgeOf) -> None:
    finding = in_all(case([{"a": "3\n", "b": "3\n"}], {"a": "3\n"}))
    assert (finding.outcome, finding.step, finding.variant) == (Outcome.INFRA_ERROR, Step.INFRA, "b")


def test_a_references_missing_evidence_is_ours(in_all: JudgeOf) -> None:
    finding = in_all(case([{"a": "3\n", "b": "3\n"}, {"a": "3\n"}], {"a": "3\n", "b": "3\n"}))
    assert (finding.outcome, finding.variant) == (Outcome.INFRA_ERROR, "b")
    assert "reference 2" in finding.reason


def test_a_task_without_executed_references_is_ours(judged: JudgeOf) -> None:
    assert judged(case([], "3\n")).outcome is Outcome.INFRA_ERROR


@pytest.mark.parametrize("observe", ["shell", "processes"])
def test_evidence_that_lacks_what_the_task_observes_is_ours(judged: JudgeOf, observe: str) -> None:
    whole = evidence("3\n", shell=shell(), processes=())
    finding = judged(case([whole], evidence("3\n"), task(observe=[observe])))
    assert finding.outcome is Outcome.INFRA_ERROR


@pytest.mark.parametrize(
    ("verifier", "outcome", "step"),
    [
        (0, Outcome.PASS, Step.VERIFIER),
        (1, Outcome.FAIL, Step.VERIFIER),
        (2, Outcome.INFRA_ERROR, Step.VERIFIER),
        (127, Outcome.INFRA_ERROR, Step.VERIFIER),
        (None, Outcome.INFRA_ERROR, Step.VERIFIER),
    ],
)
def test_the_verifier_decides_whatever_was_printed(
    judged: JudgeOf, verifier: int | None, outcome: Outcome, step: Step
) -> None:
    verified = task(verify=b"test -e x")
    finding = judged(case(["3\n"], evidence("other\n", verifier=verifier), verified))
    assert (finding.outcome, finding.step) == (outcome, step)


def test_the_verifier_must_accept_every_variant(in_all: JudgeOf) -> None:
    shows = {"a": evidence(verifier=0), "b": evidence(verifier=1)}
    finding = in_all(case([shows], shows, task(verify=b"test -e x")))
    assert (finding.outcome, finding.variant) == (Outcome.FAIL, "b")


def test_over_time_comes_before_the_verifier(judged: JudgeOf) -> None:
    late = evidence(ending=Ending.TIMEOUT, verifier=0)
    assert judged(case(["3\n"], late, task(verify=b"true"))).outcome is Outcome.TIMEOUT


def test_variants_are_told_in_the_order_they_ran() -> None:
    given = case([{"b": "1", "a": "1"}, {"a": "1", "c": "1"}], None)
    assert given.variants == ("b", "a", "c")
    assert executed("x").trials.keys() == {"one"}

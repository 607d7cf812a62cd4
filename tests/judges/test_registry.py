"""The registry of judges, the simplest judge, and the findings that need a second run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from evaluator.errors import UsageError
from evaluator.judges import JUDGES, find_judge, register
from evaluator.records import Ending, Finding, Outcome
from evaluator.testing.evidence import Shown, added, case, deleted, evidence


def exact(references: Sequence[Shown], candidate: Shown | None, **fields: Any) -> Finding:
    return find_judge("exact").judge(case(references, candidate, **fields))


def test_judges_are_found_under_their_own_name() -> None:
    assert {name: find_judge(name).name for name in JUDGES} == {name: name for name in JUDGES}
    assert {"exact", "bleu", "nl2cmd", "tfidf", "exec-tfidf", "consensus"} <= JUDGES.keys()


def test_an_unknown_judge_is_refused_with_the_names_there_are() -> None:
    with pytest.raises(UsageError, match=r"'oracle'.*exact, bleu"):
        find_judge("oracle")


def test_a_name_is_given_once() -> None:
    with pytest.raises(ValueError, match="'exact'"):
        register(find_judge("exact"))


@pytest.mark.parametrize(
    ("references", "candidate", "outcome"),
    [
        (["3\n"], "3\n", Outcome.PASS),
        (["3\n", "4\n"], "4\n", Outcome.PASS),
        (["3\n"], "3", Outcome.FAIL),
        (["3\n"], "", Outcome.FAIL),
        ([{"a": "3\n", "b": "4\n"}], {"a": "3\n", "b": "3\n"}, Outcome.FAIL),
        ([{"a": "1", "b": "1"}, {"a": "2", "b": "2"}], {"a": "1", "b": "2"}, Outcome.FAIL),
        (["3\n"], evidence("3\n", changes=[deleted("/etc/passwd")]), Outcome.PASS),
        ([evidence("", ending=Ending.TIMEOUT)], "", Outcome.FAIL),
    ],
)
def test_exact_sees_the_digest_of_standard_output_alone(
    references: list[Shown], candidate: Shown, outcome: Outcome
) -> None:
    assert exact(references, candidate).outcome is outcome


def test_exact_names_the_variant_that_differs() -> None:
    assert exact([{"a": "3\n", "b": "4\n"}], {"a": "3\n", "b": "3\n"}).variant == "b"


def test_consensus_sees_what_exact_does_not() -> None:
    finding = find_judge("consensus").judge(case(["3\n"], evidence("3\n", changes=[added("/srv/x")])))
    assert finding.outcome is Outcome.FAIL

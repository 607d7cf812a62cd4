"""Heuristic judges from the literature: what they compare, what passes, and hostile texts that must not break them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from evaluator.judges import Case, TextScorer, find_judge
from evaluator.records import Ending, Finding, Outcome, Step
from evaluator.testing.evidence import case, deleted, evidence, executed

PASS, FAIL = Outcome.PASS, Outcome.FAIL
TEXT_JUDGES = ("bleu", "nl2cmd", "tfidf")


def texts(references: Sequence[str], command: bytes) -> Case:
    """Build a case without any evidence."""
    empty = case([], {}, command=command)
    return replace(empty, references=tuple(executed({}, each) for each in references))


def by_text(name: str, references: Sequence[str], command: str) -> Finding:
    """Return the finding on a command from its text alone."""
    return find_judge(name).judge(texts(references, command.encode()))


def by_output(references: Sequence[Any], candidate: Any) -> Finding:
    return find_judge("exec-tfidf").judge(case(references, candidate))


TEXTS = [
    ("bleu", "find . -name '*.txt'", "find . -name '*.txt'", PASS),
    ("bleu", "find . -name '*.txt'", "find . -iname '*.txt'", PASS),
    ("bleu", "ls", "ls -l", FAIL),
    ("bleu", "find . -type f | wc -l", "du -sh /var", FAIL),
    ("bleu", "ls", "aa", FAIL),
    ("tfidf", "sort names.txt | uniq -c", "uniq -c names.txt | sort", PASS),
    ("tfidf", "ls -l /srv", "ls -a /srv", PASS),  # a word has two letters or more
    ("tfidf", "ls -l /srv", "du -a /tmp", FAIL),
    ("tfidf", "? !", "! ?", FAIL),
    ("tfidf", ".", ".", PASS),
    ("nl2cmd", "grep -rn main src", "grep -rn other lib", PASS),
    ("nl2cmd", "grep -rn main src", "grep -r main src", FAIL),
    ("nl2cmd", "echo 'left open", "ls", FAIL),
]


@pytest.mark.parametrize(("name", "reference", "command", "outcome"), TEXTS)
def test_a_text_passes_above_the_threshold(name: str, reference: str, command: str, outcome: Outcome) -> None:
    finding = by_text(name, [reference], command)
    assert (finding.outcome, finding.step) == (outcome, Step.SCORE)


@pytest.mark.parametrize("name", TEXT_JUDGES)
def test_the_nearest_reference_counts(name: str) -> None:
    finding = by_text(name, ["du -s /var", "sort -u names.txt"], "sort -u names.txt")
    assert finding.outcome is PASS
    assert "reference 2" in finding.reason


@pytest.mark.parametrize("name", TEXT_JUDGES)
@pytest.mark.parametrize(
    "hostile", [b"\xff\xfe\x00"[:2], b"a" * 16_384, b"$(" * 8_000, b"\xe2\x80\xae\x1b[2J", b"'"], ids=repr
)
def test_no_text_makes_a_judge_raise(name: str, hostile: bytes) -> None:
    finding = find_judge(name).judge(texts(["ls -l"], hostile))
    assert finding.outcome is FAIL


@pytest.mark.parametrize("name", TEXT_JUDGES)
@pytest.mark.parametrize(("command", "outcome"), [(b" ", Outcome.INVALID), (b"ls\0", Outcome.INVALID)])
def test_what_no_shell_can_be_given_is_not_compared(name: str, command: bytes, outcome: Outcome) -> None:
    finding = find_judge(name).judge(texts(["ls"], command))
    assert finding.outcome is outcome


@pytest.mark.parametrize("name", TEXT_JUDGES)
def test_nothing_given_is_unanswered(name: str) -> None:
    assert find_judge(name).judge(case(["a"], None)).outcome is Outcome.UNANSWERED


@pytest.mark.parametrize("name", TEXT_JUDGES)
def test_a_judge_of_texts_says_how_near_two_commands_are(name: str) -> None:
    judge = find_judge(name)
    assert isinstance(judge, TextScorer)
    assert judge.similarity("ls -l /srv", "ls -l /srv") == pytest.approx(1.0)
    assert judge.similarity("ls -l /srv", "du -h /var") < 0.5


OUTPUTS = {
    "the same": (["a b\n"], "a b\n", PASS),
    "no words, the same": (["1\n"], "1\n", PASS),
    "no words, another": (["1\n"], "2\n", FAIL),
    "the same words in another order": (["alpha beta gamma\n"], "gamma beta alpha\n", PASS),
    "most of the words": (["alpha beta gamma delta\n"], "alpha beta gamma delta epsilon\n", PASS),
    "other words": (["alpha beta\n"], "gamma delta\n", FAIL),
    "nothing for something": (["alpha beta\n"], "", FAIL),
    "nothing for nothing": ([""], "", PASS),
    "what only one variant tells": ([{"a": "one two\n", "b": "six ten\n"}], {"a": "one two\n", "b": "two\n"}, FAIL),
    "one reference here, another there": (
        [{"a": "one two\n", "b": "one two\n"}, {"a": "six ten\n", "b": "six ten\n"}],
        {"a": "one two\n", "b": "six ten\n"},
        FAIL,
    ),
    "files are not seen": (["alpha beta\n"], evidence("alpha beta\n", changes=[deleted("/etc/passwd")]), PASS),
}


@pytest.mark.parametrize(("references", "candidate", "outcome"), OUTPUTS.values(), ids=OUTPUTS)
def test_exec_tfidf_sees_standard_output_alone(references: Sequence[Any], candidate: Any, outcome: Outcome) -> None:
    finding = by_output(references, candidate)
    assert (finding.outcome, finding.step) == (outcome, Step.SCORE)


def test_exec_tfidf_names_the_variant_that_is_least_alike() -> None:
    assert by_output([{"a": "one two\n", "b": "six ten\n"}], {"a": "one two\n", "b": "two\n"}).variant == "b"


def test_a_reference_that_ran_into_a_limit_is_like_nothing() -> None:
    ended = evidence("one two\n", ending=Ending.TIMEOUT)
    assert by_output([ended, "one two\n"], "one two\n").outcome is PASS
    assert by_output([ended], "one two\n").outcome is Outcome.UNDECIDED

"""Which commands are held to be a reference with a slip in it, and what becomes of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from evaluator.pipeline.grading.cache_keys import Subject
from evaluator.pipeline.grading.known_mutants import KnownSlips
from evaluator.records import Outcome, command_digest
from evaluator.store import Store
from evaluator.testing.checkouts import small_task
from evaluator.testing.executor import PlayedExecution
from tests.pipeline.grading_bench import Bench

TYPED, DROPPED = b"find . -type f -name '*.c'", b"find . -name '*.c'"
TASK = small_task("files-1", references=(TYPED, b"ls *.c"))


def slips(bench: Bench, *harmless: bytes) -> KnownSlips:
    return KnownSlips(bench.store, frozenset((TASK.digest, command_digest(each)) for each in harmless))


def outcome(bench: Bench, command: bytes, known: KnownSlips) -> Outcome:
    bench.tasks = [TASK]
    subject = Subject(TASK.id, command)
    return bench.grader(PlayedExecution(lambda call: "a.c\n"), slips=known).grade([subject])[subject].outcome


@pytest.mark.parametrize(
    ("command", "expected"),
    [(DROPPED, Outcome.UNDECIDED), (TYPED, Outcome.PASS), (b"printf '%s\\n' *.c", Outcome.PASS)],
    ids=["a predicate dropped", "the reference itself", "another way"],
)
def test_what_reads_like_a_reference_with_a_slip_in_it_is_left_open(
    bench: Bench, command: bytes, expected: Outcome
) -> None:
    """All of these show the same; what differs is how likely that is by luck."""
    assert outcome(bench, command, slips(bench)) is expected


def test_a_slip_that_was_found_harmless_passes(bench: Bench) -> None:
    """A maintainer's mark is as good as another reference."""
    assert outcome(bench, DROPPED, slips(bench, DROPPED)) is Outcome.PASS


def test_a_mark_makes_the_verdict_on_its_command_stale_and_no_other(bench: Bench) -> None:
    """The doubt is part of the key, so marking it harmless judges again what it was about."""
    bench.tasks = [TASK]
    asked = [Subject(TASK.id, each) for each in (DROPPED, b"ls -1 *.c | cat")]
    play = PlayedExecution(lambda call: "a.c\n")
    bench.grader(play, slips=slips(bench)).grade(asked)
    assert [each.subject for each in bench.grader(play, slips=slips(bench, DROPPED)).plan(asked).stale] == asked[:1]


def test_whoever_is_judged_by_the_others_may_be_a_slip_of_one(bench: Bench) -> None:
    """The references that are left are what it is held against."""
    known = slips(bench)
    assert command_digest(DROPPED) in known(TASK, (TYPED,))
    assert command_digest(DROPPED) not in known(TASK, (b"ls *.c",))


def test_slips_are_made_once(tmp_path: Path) -> None:
    """Another process finds them in the store."""
    first = KnownSlips(Store(tmp_path / "store.sqlite"), frozenset())
    made = first(TASK, TASK.references)
    kept = first.store.figures(_keys(first))
    assert made
    assert len(kept) == 1
    assert KnownSlips(Store(tmp_path / "store.sqlite"), frozenset())(TASK, TASK.references) == made


def _keys(known: KnownSlips) -> list[str]:
    from evaluator.pipeline.grading.known_mutants import mutation_digest
    from evaluator.pipeline.grading.text_metrics import score_key

    return [score_key(f"slips {mutation_digest()}", b"", TASK.references)]

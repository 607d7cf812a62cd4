"""Known mutants of the references: which commands they are, and their verdicts."""

from __future__ import annotations

from pathlib import Path

import pytest

from evaluator.pipeline.grading.cache_keys import GradingItem
from evaluator.pipeline.grading.known_mutants import KnownMutants
from evaluator.records import Outcome, command_digest
from evaluator.store import Store
from evaluator.testing.checkouts import small_task
from evaluator.testing.executor import FakeExecutor
from tests.pipeline.grading_bench import GradingHarness

TYPED, DROPPED = b"find . -type f -name '*.c'", b"find . -name '*.c'"
TASK = small_task("files-1", references=(TYPED, b"ls *.c"))


def known_mutants(harness: GradingHarness, *harmless: bytes) -> KnownMutants:
    return KnownMutants(harness.store, frozenset((TASK.digest, command_digest(each)) for each in harmless))


def outcome(harness: GradingHarness, command: bytes, known: KnownMutants) -> Outcome:
    harness.tasks = [TASK]
    subject = GradingItem(TASK.id, command)
    return harness.grader(FakeExecutor(lambda call: "a.c\n"), known_mutants=known).grade([subject])[subject].outcome


@pytest.mark.parametrize(
    ("command", "expected"),
    [(DROPPED, Outcome.UNDECIDED), (TYPED, Outcome.PASS), (b"printf '%s\\n' *.c", Outcome.PASS)],
    ids=["a predicate dropped", "the reference itself", "another way"],
)
def test_what_reads_like_a_reference_with_a_slip_in_it_is_left_open(
    harness: GradingHarness, command: bytes, expected: Outcome
) -> None:
    """All of these have the same evidence. They differ in how likely that is by luck."""
    assert outcome(harness, command, known_mutants(harness)) is expected


def test_a_slip_that_was_found_harmless_passes(harness: GradingHarness) -> None:
    """A maintainer's mark counts as much as another reference."""
    assert outcome(harness, DROPPED, known_mutants(harness, DROPPED)) is Outcome.PASS


def test_a_mark_makes_the_verdict_on_its_command_stale_and_no_other(harness: GradingHarness) -> None:
    """The doubt is part of the key, so a mark makes the marked command be judged again."""
    harness.tasks = [TASK]
    asked = [GradingItem(TASK.id, each) for each in (DROPPED, b"ls -1 *.c | cat")]
    play = FakeExecutor(lambda call: "a.c\n")
    harness.grader(play, known_mutants=known_mutants(harness)).grade(asked)
    assert [
        each.subject for each in harness.grader(play, known_mutants=known_mutants(harness, DROPPED)).plan(asked).stale
    ] == asked[:1]


def test_whoever_is_judged_by_the_others_may_be_a_slip_of_one(harness: GradingHarness) -> None:
    """The command is compared with the references that remain."""
    known = known_mutants(harness)
    assert command_digest(DROPPED) in known(TASK, (TYPED,))
    assert command_digest(DROPPED) not in known(TASK, (b"ls *.c",))


def test_slips_are_made_once(tmp_path: Path) -> None:
    """Another process reads them from the store."""
    first = KnownMutants(Store(tmp_path / "store.sqlite"), frozenset())
    made = first(TASK, TASK.references)
    kept = first.store.figures(_keys(first))
    assert made
    assert len(kept) == 1
    assert KnownMutants(Store(tmp_path / "store.sqlite"), frozenset())(TASK, TASK.references) == made


def _keys(known: KnownMutants) -> list[str]:
    from evaluator.pipeline.grading.known_mutants import mutation_digest
    from evaluator.pipeline.grading.text_metrics import score_key

    return [score_key(f"slips {mutation_digest()}", b"", TASK.references)]

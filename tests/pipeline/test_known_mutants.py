"""Tests of the known mutants of references: the commands that are known mutants, and the verdicts on them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NoReturn

import pytest

from evaluator.pipeline.grading.cache_keys import GradingItem
from evaluator.pipeline.grading.known_mutants import LONGEST, KnownMutants
from evaluator.records import Outcome, Task, command_digest
from evaluator.shell.canonical import form_digest, form_keys
from evaluator.shell.mutation import Mutant, mutants_of
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
    """A known mutant of a reference is undecided, although its evidence equals the reference's evidence.

    The other commands have the same evidence, but are no known mutants, so they pass.
    """
    assert outcome(harness, command, known_mutants(harness)) is expected


RESPELLED = [
    *(DROPPED + b"\n", b'find . -name "*.c"', DROPPED + b" # x", b"{ %s; }" % DROPPED, b":;" + DROPPED),
    *(b"/usr/bin/find . -name '*.c'", b"\\find . -name \\*.c", b"command find  . -name '*.c'", b"\n# x\n" + DROPPED),
    *(b"true && %s" % DROPPED, b"true <<''; %s\n\n" % DROPPED, DROPPED + b";", b"find . -name $'*.c'", b" " + DROPPED),
    b"'find' \\\n . -name '*'.c",
]


@pytest.mark.parametrize("command", RESPELLED)
def test_another_spelling_of_a_known_mutant_is_one(harness: GradingHarness, command: bytes) -> None:
    """Quotes, blanks, comments, line ends, braces, idle calls and paths do not make a mutant another command."""
    assert outcome(harness, command, known_mutants(harness)) is Outcome.UNDECIDED


def test_the_spelling_of_options_does_not_hide_a_mutant(harness: GradingHarness) -> None:
    task = small_task("files-1", references=(b"sort a | uniq -c",))
    known = known_mutants(harness)(task, task.references)
    for spelled in (b"sort a|uniq", b"sort 'a' | uniq # x\n"):
        assert form_digest(spelled) in known
    assert form_digest(b"sort a | uniq --count") not in known
    other = small_task("files-2", references=(b"sort -u -r a",))
    known = known_mutants(harness)(other, other.references)
    assert all(form_digest(each) in known for each in (b"sort --unique a", b"sort a -u", b"sort --reverse -- a"))


def test_a_mark_on_one_spelling_holds_for_all(harness: GradingHarness) -> None:
    assert outcome(harness, DROPPED + b" # x\n", known_mutants(harness, DROPPED)) is Outcome.PASS


def test_a_long_mutant_is_compared_by_its_text(harness: GradingHarness) -> None:
    """To parse all mutants of long programs takes minutes. White space at the ends of their text does not count."""
    long = b"find . -type f -name '*.c' # " + b"x" * LONGEST
    task = small_task("files-1", references=(long,))
    mutant = next(each.command for each in mutants_of(long) if b"-type" not in each.command)
    known = known_mutants(harness)(task, task.references)
    assert any(key in known for key in form_keys(mutant + b"\n"))
    assert not any(key in known for key in form_keys(long))


def test_forms_are_made_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A second process reads the forms of answers from the store, in one query."""
    made = known_in(tmp_path).form_keys([TYPED, DROPPED])
    monkeypatch.setattr("evaluator.shell.canonical.form_keys", refuse)
    assert (
        known_in(tmp_path).form_keys([TYPED, DROPPED]) == made == {each: form_keys(each) for each in (TYPED, DROPPED)}
    )


def test_a_slip_that_was_found_harmless_passes(harness: GradingHarness) -> None:
    """A mutant that a maintainer marked as equivalent passes, as a command with the evidence of a reference does."""
    assert outcome(harness, DROPPED, known_mutants(harness, DROPPED)) is Outcome.PASS


def test_a_mark_makes_the_verdict_on_its_command_stale_and_no_other(harness: GradingHarness) -> None:
    """A new mark makes only the verdict on the marked command stale.

    The verdict's key contains the fact that a command is a known mutant.
    """
    harness.tasks = [TASK]
    asked = [GradingItem(TASK.id, each) for each in (DROPPED, b"ls -1 *.c | cat")]
    play = FakeExecutor(lambda call: "a.c\n")
    harness.grader(play, known_mutants=known_mutants(harness)).grade(asked)
    assert [
        each.subject for each in harness.grader(play, known_mutants=known_mutants(harness, DROPPED)).plan(asked).stale
    ] == asked[:1]


def test_whoever_is_judged_by_the_others_may_be_a_slip_of_one(harness: GradingHarness) -> None:
    """A reference that is compared with the other references is a known mutant only if it is a mutant of one of them.

    The reference itself is left out of the comparison, so its own mutants do not count.
    """
    known = known_mutants(harness)
    assert form_digest(DROPPED) in known(TASK, (TYPED,))
    assert form_digest(DROPPED) not in known(TASK, (b"ls *.c",))


def test_slips_are_made_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The mutants of a task are computed once. A second process reads them from the store."""
    made = known_in(tmp_path)(TASK, TASK.references)
    monkeypatch.setattr("evaluator.shell.mutation.mutants_of", refuse)
    assert known_in(tmp_path)(TASK, TASK.references) == made
    assert form_digest(DROPPED) in made


def test_mutants_of_a_suite_are_loaded_in_one_query(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first question about a suite reads the mutants of all tasks. The digest of a task is not computed for it.

    `bashboard standings` asks about every answer of a suite with more than 100,000 mutants.
    """
    tasks = [small_task(f"files-{number}", references=(b"ls -%d a" % number,)) for number in range(1, 5)]
    for task in tasks:
        known_in(tmp_path)(task, task.references)
    known = known_in(tmp_path, tasks)
    queries: list[Iterable[str]] = []
    figures = known.store.figures

    def counted(keys: Iterable[str]) -> dict[str, str]:
        queries.append(keys)
        return figures(keys)

    monkeypatch.setattr(known.store, "figures", counted)
    monkeypatch.setattr("evaluator.records.suites.canonical_json", refuse)
    for task in tasks:
        assert form_digest(b"nothing like it") not in known(task, task.references)
    assert len(queries) == 1


def test_a_suite_without_answers_has_no_mutants_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A question about one task makes only the mutants of this task, since those of a long program take long."""
    other = small_task("files-2", references=(b"ls -a b",))
    made: list[bytes] = []

    def counted(command: bytes, *, only_readable: bool) -> tuple[Mutant, ...]:
        made.append(command)
        return mutants_of(command, only_readable=only_readable)

    monkeypatch.setattr("evaluator.shell.mutation.mutants_of", counted)
    known_in(tmp_path, [TASK, other])(other, other.references)
    assert made == [b"ls -a b"]


def known_in(folder: Path, tasks: Sequence[Task] = ()) -> KnownMutants:
    return KnownMutants(Store(folder / "store.sqlite"), frozenset(), tasks)


def refuse(*values: object) -> NoReturn:
    raise AssertionError(f"called again with {values!r:.100}")

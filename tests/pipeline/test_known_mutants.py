"""Tests of the known mutants of references: the commands that are known mutants, and the verdicts on them."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NoReturn

import pytest

from evaluator.pipeline.grading.cache_keys import GradingItem, MutantQuestion
from evaluator.pipeline.grading.known_mutants import KnownMutants
from evaluator.pipeline.project import Project
from evaluator.records import Outcome, Task, command_digest
from evaluator.shell.canonical import form_digest, form_keys
from evaluator.shell.mutation import changes_of, mutants_of
from evaluator.shell.mutation.equal_forms import mutants_with_form
from evaluator.shell.mutation.script import Edits, Script
from evaluator.store import Store
from evaluator.testing.checkouts import small_task
from evaluator.testing.executor import FakeExecutor
from tests.pipeline.grading_bench import GradingHarness
from tests.respeller import respell

ROOT = Path(__file__).parents[2]
TYPED, DROPPED = b"find . -type f -name '*.c'", b"find . -name '*.c'"
TASK = small_task("files-1", references=(TYPED, b"ls *.c"))


def known_mutants(harness: GradingHarness, *harmless: bytes) -> KnownMutants:
    return KnownMutants(harness.store, frozenset((TASK.digest, command_digest(each)) for each in harmless))


def is_known(known: KnownMutants, command: bytes, *references: bytes) -> bool:
    return known([MutantQuestion(TASK, references or TASK.references, command)])[0]


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
    known = known_mutants(harness)
    for spelled in (b"sort a|uniq", b"sort 'a' | uniq # x\n"):
        assert is_known(known, spelled, b"sort a | uniq -c")
    assert not is_known(known, b"sort a | uniq --count", b"sort a | uniq -c")
    for spelled in (b"sort --unique a", b"sort a -u", b"sort --reverse -- a"):
        assert is_known(known, spelled, b"sort -u -r a")


def test_a_mark_on_one_spelling_holds_for_all(harness: GradingHarness) -> None:
    assert outcome(harness, DROPPED + b" # x\n", known_mutants(harness, DROPPED)) is Outcome.PASS


def test_another_spelling_of_a_long_mutant_is_one(harness: GradingHarness) -> None:
    long = b"\n".join(b"grep -c 'a%d' log.%d" % (number, number) for number in range(300))
    known = known_mutants(harness)
    mutant = long.replace(b"'a77' log.77", b"'a77' log.78")
    assert is_known(known, mutant, long)
    assert is_known(known, mutant.replace(b"'", b'"').replace(b" -c", b"  --count") + b" # x\n", long)
    assert not is_known(known, long + b"\n", long)
    assert not is_known(known, mutant.replace(b"log.99", b"log.98"), long)


def commands_near(task: Task, rng: random.Random) -> Iterator[bytes]:
    """Yield mutants of a task's references, other spellings of them, mutants of mutants, and unlike commands."""
    for reference in task.references:
        mutants = mutants_of(reference, only_readable=False)
        for mutant in rng.sample(mutants, min(2, len(mutants))):
            yield mutant.command
            yield respell(mutant.command.decode(errors="surrogateescape"), 3).encode(errors="surrogateescape")
            yield b"{ %s\n}" % mutant.command
            yield from (each.command for each in mutants_of(mutant.command)[:1])
        yield reference + b" # x\n"
    yield from (b"ls", b"echo (", b"")


@pytest.mark.parametrize(("suite", "size"), [("core", 40), ("programs", 2)])
def test_the_mutants_found_are_those_whose_form_is_equal(suite: str, size: int) -> None:
    """The comparison of words before a mutant is parsed leaves out no mutant with the form of the command."""
    rng = random.Random(7)  # noqa: S311 - a choice of tasks
    hits = 0
    for task in rng.sample(list(Project(ROOT).suite(suite).tasks), size):
        own = {key for reference in task.references for key in form_keys(reference)}
        mutants = {each.command for reference in task.references for each in mutants_of(reference, only_readable=False)}
        forms = {mutant: form_digest(mutant) for mutant in mutants}
        for command in commands_near(task, rng):
            keys = set(form_keys(command)) - own
            equal = sorted(command_digest(mutant) for mutant, form in forms.items() if form in keys)
            assert list(mutants_with_form(task.references, command)) == equal, command
            hits += bool(equal)
    assert hits > 3 * size


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
    assert is_known(known, DROPPED, TYPED)
    assert not is_known(known, DROPPED, b"ls *.c")


def test_slips_are_made_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An answer about a command is found once. A second process reads it from the store."""
    assert is_known(known_in(tmp_path), DROPPED)
    assert not is_known(known_in(tmp_path), b"ls")
    monkeypatch.setattr("evaluator.shell.mutation.equal_forms.mutants_with_form", refuse)
    assert is_known(known_in(tmp_path), DROPPED)
    assert not is_known(known_in(tmp_path), b"ls")


def test_answers_are_loaded_in_one_query(harness: GradingHarness, monkeypatch: pytest.MonkeyPatch) -> None:
    """All questions read the store once. The digest of a task is not computed for them.

    `bashboard standings` asks about every answer of a suite with more than 100,000 mutants.
    """
    harness.tasks = [
        small_task(f"files-{number}", references=(b"ls -%d a" % number, b"ls b")) for number in range(1, 5)
    ]
    asked = [GradingItem(task.id, b"nothing like it") for task in harness.tasks]
    known = known_mutants(harness)
    queries: list[Iterable[str]] = []
    figures = known.store.figures

    def counted(keys: Iterable[str]) -> dict[str, str]:
        queries.append(keys)
        return figures(keys)

    keys = harness.grader(known_mutants=known).keys
    monkeypatch.setattr(known.store, "figures", counted)
    monkeypatch.setattr("evaluator.records.suites.canonical_json", refuse)
    known([MutantQuestion(task, task.references, b"nothing like it") for task in harness.tasks])
    assert len(queries) == 1
    monkeypatch.undo()
    monkeypatch.setattr(known.store, "figures", counted)
    assert [plan.is_known_mutant for plan in keys.plan_items(asked)] == [False] * 4
    assert len(queries) == 2


def test_a_suite_without_answers_has_no_mutants_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A question about one task makes only the mutants of its references, once for all its candidates."""
    made: list[str] = []

    def counted(script: Script) -> Iterator[Edits]:
        made.append(script.text)
        return changes_of(script)

    monkeypatch.setattr("evaluator.shell.mutation.equal_forms.changes_of", counted)
    asked = [MutantQuestion(TASK, (b"ls -a made once",), command) for command in (b"ls made once", b"ls", b"ls -A b")]
    assert known_in(tmp_path)(asked) == [True, False, False]
    assert made == ["ls -a made once"]


def known_in(folder: Path) -> KnownMutants:
    return KnownMutants(Store(folder / "store.sqlite"), frozenset())


def refuse(*values: object) -> NoReturn:
    raise AssertionError(f"called again with {values!r:.100}")

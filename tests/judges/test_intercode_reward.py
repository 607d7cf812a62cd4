"""InterCode's reward, computed from evidence: the status of files, their contents, and the words of the output."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from evaluator.judges import find_judge
from evaluator.judges.intercode_reward import PUBLISHERS_VARIANT, Reward, git_status, reward_of
from evaluator.records import Ending, FileType, Finding, Kind, Outcome, PathChange, Step
from evaluator.testing.evidence import (
    Shown,
    added,
    case,
    deleted,
    directory,
    evidence,
    link,
    modified,
    remoded,
)

REASON = "its reward with reference 1 is"


def found(references: Sequence[Shown], candidate: Shown | None) -> Finding:
    return find_judge("intercode").judge(case(references, candidate))


def status(*changes: PathChange) -> dict[bytes, str]:
    return dict(git_status(tuple(sorted(changes, key=lambda change: change.path))))


@pytest.mark.parametrize(
    ("candidate", "reward"),
    [
        ("one two\n", Reward(33, 33, 33)),
        ("two ONE", Reward(33, 33, 33)),  # neither order nor case of words counts
        ("one three\n", Reward(33, 33, 11)),
        ("", Reward(33, 33, 0)),
        (evidence("one", stderr="two"), Reward(33, 33, 33)),  # the environment shows both streams
        (evidence("one two", changes=[deleted("/w/a")]), Reward(5, 33, 33)),
        (evidence("one two", changes=[deleted("/w/a"), deleted("/w/b")]), Reward(0, 33, 33)),
    ],
)
def test_each_part_of_the_reward_is_counted(candidate: Shown, reward: Reward) -> None:
    """The parts have the values of the published formula. Only a reward of 1 passes."""
    run = candidate if not isinstance(candidate, str) else evidence(candidate)
    assert reward_of(run, evidence("one two\n")) == reward  # type: ignore[arg-type]
    finding = found(["one two\n"], candidate)
    assert finding.outcome is (Outcome.PASS if reward.hundredths == 100 else Outcome.FAIL)
    assert finding.step is Step.SCORE
    assert f"{REASON} {reward.hundredths / 100:.2f}" in finding.reason


def test_outputs_without_a_word_must_be_equal() -> None:
    """A word has two letters or more. Two outputs without words have a similarity of 1 if they are equal, else of 0."""
    assert reward_of(evidence("3\n"), evidence("3\n")).answer == 33
    assert reward_of(evidence("3\n"), evidence("4\n")).answer == 0


def test_the_contents_of_common_new_files_are_compared() -> None:
    """One of two new files has other bytes, so half of this part is lost. A modified file's bytes are not compared."""
    reference = evidence(changes=[added("/w/a.txt", "x"), added("/w/b.txt", "y"), modified("/w/c", "1")])
    other = evidence(changes=[added("/w/a.txt", "x"), added("/w/b.txt", "z"), modified("/w/c", "2")])
    assert reward_of(other, reference) == Reward(33, 16, 33)
    assert reward_of(reference, reference) == Reward(33, 33, 33)


def test_a_new_directory_is_one_entry_and_all_its_files_are_compared() -> None:
    """Git shows a new directory as one entry. So another name in it costs content, and not file system."""
    reference = evidence(changes=[directory("/w/new"), added("/w/new/a", "x"), link("/w/new/l", "a")])
    renamed = evidence(changes=[directory("/w/new"), added("/w/new/b", "x"), link("/w/new/l", "a")])
    assert status(*reference.changes) == {b"/w/new/": "??"}
    assert reward_of(renamed, reference) == Reward(33, 0, 33)
    assert reward_of(reference, reference) == Reward(33, 33, 33)


def test_links_to_the_same_path_have_the_same_content() -> None:
    """A relative link and an absolute link may lead to the same file. A link to another file has another content."""
    links = [evidence(changes=[link("/w/new", target)]) for target in ("../w/old", "/w/old", "/w/older")]
    assert reward_of(links[1], links[0]) == Reward(33, 33, 33)
    assert reward_of(links[2], links[0]) == Reward(33, 0, 33)


def test_the_best_reference_decides() -> None:
    """A command passes if it has a reward of 1 with any reference. The reason names the nearest reference."""
    assert found(["one\n", "two\n"], "two\n").outcome is Outcome.PASS
    finding = found([evidence("one", changes=[deleted("/w/a")]), "two other\n"], "two")
    assert finding.outcome is Outcome.FAIL
    assert "reference 2" in finding.reason


def test_only_the_publishers_variant_counts() -> None:
    """A difference, a timeout or missing evidence in an added variant does not change the finding."""
    same, timeout = {PUBLISHERS_VARIANT: "a a\n", "added": "b\n"}, evidence(ending=Ending.TIMEOUT)
    assert found([same], {PUBLISHERS_VARIANT: "a a\n", "added": "c\n"}).outcome is Outcome.PASS
    assert found([same], {PUBLISHERS_VARIANT: "a a\n", "added": timeout}).outcome is Outcome.PASS
    assert found([same], {PUBLISHERS_VARIANT: "a a\n"}).outcome is Outcome.PASS
    wrong = found([same], {PUBLISHERS_VARIANT: "bb\n", "added": "b\n"})
    assert (wrong.outcome, wrong.variant) == (Outcome.FAIL, PUBLISHERS_VARIANT)


def test_a_world_without_the_publishers_variant_is_judged_in_its_first_variant() -> None:
    """A suite of our own has other names of variants. Then the first one counts."""
    assert found([{"one": "aa", "two": "bb"}], {"one": "aa", "two": "cc"}).outcome is Outcome.PASS
    assert found([{"one": "aa", "two": "bb"}], {"one": "cc", "two": "bb"}).variant == "one"


@pytest.mark.parametrize(
    ("candidate", "outcome"),
    [
        (None, Outcome.UNANSWERED),
        (evidence(ending=Ending.TIMEOUT), Outcome.TIMEOUT),
        (evidence(ending=Ending.MEMORY), Outcome.FAIL),
        ({}, Outcome.INFRA_ERROR),
    ],
)
def test_an_answer_without_a_complete_run_is_not_compared(candidate: Shown | None, outcome: Outcome) -> None:
    """Such an answer gets the finding that every judge gives."""
    assert found(["one\n"], candidate).outcome is outcome


def test_a_reference_that_ran_into_a_limit_is_no_example() -> None:
    """Without another reference the case is undecided."""
    timeout = evidence(ending=Ending.TIMEOUT)
    assert found([timeout], "one\n").outcome is Outcome.UNDECIDED
    assert found([timeout, "one\n"], "one\n").outcome is Outcome.PASS


def test_the_status_holds_only_the_changes_that_git_shows() -> None:
    """Git shows neither owners, empty directories nor excluded names, and of a mode only the execute permission."""
    assert status(remoded("/w/a", owner=(5, 5)), remoded("/w/b", 0o600)) == {}
    assert status(remoded("/w/c", 0o755)) == {b"/w/c": "M"}
    assert status(directory("/w/empty"), added("/w/var/log"), added("/etc/x"), added("/tmp/x")) == {b"/tmp/x": "??"}
    assert status(PathChange(path=b"/w/p", kind=Kind.ADDED, type=FileType.FIFO)) == {}
    assert status(PathChange(path=b"/w/t", kind=Kind.TYPE, type=FileType.LINK)) == {b"/w/t": "T"}
    assert status(PathChange(path=b"/w/t", kind=Kind.TYPE, type=FileType.DIRECTORY)) == {b"/w/t": "D"}
    assert status(added(b"/w/\xff/x"), directory(b"/w/\xff")) == {b"/w/\xff/": "??"}


CHANGES = """
rm a; echo 2 > b; chmod +x c; ln -sf b d; echo > e
mkdir -p new/sub none; echo 3 > new/sub/x; echo 4 > new/y
"""


@pytest.mark.skipif(shutil.which("git") is None, reason="needs git")
def test_the_status_equals_gits_own(tmp_path: Path) -> None:
    """Git shows the same entries for the same changes in a real repository."""
    for name in "abcd":
        (tmp_path / name).write_text("1\n")

    def git(*arguments: str) -> str:
        identity = ("-c", "user.name=a", "-c", "user.email=a@example.org")
        command = ["git", *identity, *arguments]
        return subprocess.run(command, cwd=tmp_path, check=True, capture_output=True, text=True).stdout

    git("init", "-q")
    git("add", "-A")
    git("commit", "-q", "-m", "all")
    subprocess.run(["bash", "-ec", CHANGES], cwd=tmp_path, check=True)
    shown = {line.split()[1].encode(): line.split()[0] for line in git("status", "--short").splitlines()}
    computed = status(
        deleted("/a"),
        modified("/b", "2"),
        remoded("/c", 0o755),
        PathChange(path=b"/d", kind=Kind.TYPE, type=FileType.LINK),
        directory("/new"),
        directory("/new/sub"),
        added("/new/sub/x"),
        added("/new/y"),
        directory("/none"),
        added("/e"),
    )
    assert {path.removeprefix(b"/"): letters for path, letters in computed.items()} == shown

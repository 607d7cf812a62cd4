"""Comparison of InterCode's published rewards with computed ones: the table, the lost quotes, and the causes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest

from evaluator.judges import find_judge
from evaluator.judges.intercode_reward import PUBLISHERS_VARIANT
from evaluator.pipeline.grading.cache_keys import GradingItem
from evaluator.pipeline.grading.grader import Grader
from evaluator.pipeline.maintenance.published_rewards import (
    Computed,
    compare,
    compute_rewards,
    publishers_world,
    without_quotes,
)
from evaluator.progress import NullProgress
from evaluator.records import Ending, Finding, Outcome, Task
from evaluator.store import Store
from evaluator.submissions.importers.intercode_results import PublishedAnswer, PublishedSystem
from evaluator.testing.checkouts import small_suite, small_task
from evaluator.testing.evidence import added, evidence
from evaluator.testing.executor import FakeExecutor, Shows

REFERENCES: Mapping[str, str] = {
    "words": "print words",
    "times": "find -mtime 1",
    "quoted": 'echo "a  b"',
    "file": "put",
}
SHOWN: Mapping[str, Shows] = {
    "print words": "some words\n",
    "same": "words some\n",
    "other": "something else\n",
    "find -mtime 1": "old file\n",
    'echo "a  b"': "a  b\n",
    "bash -c 'echo a' b": "a\n",
    "echo 'a  b'": "a  b\n",
    "bash -c 'grep a' 'b c'": "nothing\n",
    'grep "a b" c': "some words\n",
    "put": evidence(changes=[added("/w/x.txt", "1")]),
    "put more": evidence(changes=[added("/w/x.txt", "1"), added("/w/y.txt")]),
    "put other": evidence(changes=[added("/w/x.txt", "2")]),
    "late": evidence(ending=Ending.TIMEOUT),
}


@contextmanager
def opened(root: Path) -> Iterator[Grader]:
    """A grader with the judge `intercode`, on a suite with an added variant. Only the publisher's may be executed."""
    tasks: list[Task] = [small_task(name, (command, command)) for name, command in REFERENCES.items()]
    suite = publishers_world(small_suite(root, tasks, variants={PUBLISHERS_VARIANT: 1, "added": 2}))
    store, execute = Store(root / "store.sqlite"), FakeExecutor(SHOWN)
    yield Grader(suite, find_judge("intercode"), store, "f" * 64, execute, NullProgress(), spacing_s=0)
    assert {call.variant for call in execute.calls} == {PUBLISHERS_VARIANT}
    store.close()


def system(*answers: PublishedAnswer, folder: str = "gpt-4") -> PublishedSystem:
    return PublishedSystem(folder, "try-again", {answer.task: answer for answer in answers})


def computed(root: Path, *answers: PublishedAnswer) -> Computed:
    with opened(root) as grader:
        return compute_rewards(grader, [system(*answers)])


def cause(root: Path, task: str, command: str | None, observation: str, reward: float) -> str:
    return computed(root, PublishedAnswer(task, command, observation, reward))["gpt-4", task].cause


@pytest.mark.parametrize(
    ("command", "run"),
    [
        ("ls -l", b"ls -l"),
        (' echo "a  b" ', b"bash -c 'echo a' b"),
        ('find . -name "*.c"', b"find . -name *.c"),
        ("awk '{print $1}' f", b"awk '{print $1}' f"),
        ('grep "a b" c', b"bash -c 'grep a' 'b c'"),
        (r"tr '\\' x", rb"tr '\' x"),
        (r"echo \$HOME", rb"echo \$HOME"),
        ('echo "', None),
    ],
)
def test_a_command_loses_its_quotes_as_in_the_publishers_environment(command: str, run: bytes | None) -> None:
    """The command between double quotes is split as a shell splits words. Only the first word after `-c` is run."""
    assert without_quotes(command) == (run if run != command.strip().encode() else command.encode())


def test_both_rewards_are_computed_in_the_publishers_variant(tmp_path: Path) -> None:
    """The judge sees the command as given. Without the quotes, another text may reach the same or another reward."""
    rewards = computed(
        tmp_path,
        PublishedAnswer("words", 'grep "a b" c', "nothing\n", 0.67),
        PublishedAnswer("quoted", "echo 'a  b'", "a  b\n", 1.0),
    )
    words, quoted = rewards["gpt-4", "words"], rewards["gpt-4", "quoted"]
    assert (words.finding.outcome, words.passes_without_quotes) == (Outcome.PASS, False)
    assert words.cause == "the environment removes quotes or backslashes of the command or of the reference"
    assert (quoted.finding.outcome, quoted.passes_without_quotes, quoted.cause) == (Outcome.PASS, False, "")


@pytest.mark.parametrize(
    ("task", "command", "observation", "reward", "expected"),
    [
        ("words", "same", "words some\n", 1.0, ""),
        ("words", "other", "something else\n", 0.67, ""),
        ("words", None, "", 1.0, "the system gave no command"),
        ("words", "late", "some words\n", 1.0, "ran into a limit here"),
        ("words", "same", "Command timed out", 0.67, "the stored output is: Command timed out"),
        ("words", "same", "others\n", 0.67, "the command printed other words there"),
        ("words", "same", "some words\n", 0.67, "so the reference printed other words or files differed"),
        ("words", "other", "something else\n", 1.0, "but here the reference prints other words"),
        (
            "times",
            "other",
            "old file\n",
            1.0,
            "the reset between tasks gives files new times; the command printed other",
        ),
        ("file", "put more", "", 1.0, "here the command changes other paths than the reference"),
        ("file", "put other", "", 1.0, "here the command writes other bytes than the reference"),
    ],
)
def test_a_difference_has_its_cause(
    tmp_path: Path, task: str, command: str | None, observation: str, reward: float, expected: str
) -> None:
    """The cause follows from the command, the stored output and our evidence. An equal decision has none."""
    found = cause(tmp_path, task, command, observation, reward)
    assert expected in found
    assert bool(found) is bool(expected)


def test_the_table_counts_each_rule_and_lists_the_differences(tmp_path: Path) -> None:
    """A row counts the answers that pass as published, as computed, without quotes, and by the project's judge."""
    first = system(PublishedAnswer("words", "same", "", 1.0), PublishedAnswer("file", "put more", "", 1.0))
    second = system(PublishedAnswer("words", "other", "", 0.5), folder="vicuna")
    outcomes = {"same": Outcome.UNDECIDED, "put more": Outcome.PASS, "other": Outcome.FAIL}
    judged = {
        GradingItem(answer.task, answer.command.encode()): Finding(outcome=outcomes[answer.command])
        for each in (first, second)
        for answer in each.answers.values()
        if answer.command
    }
    with opened(tmp_path) as grader:
        comparison = compare([first, second], compute_rewards(grader, [first, second]), judged)
    rows = [
        (row.system, row.answers, row.published, row.computed, row.without_quotes, row.judged, row.undecided)
        for row in comparison.systems
    ]
    assert rows == [("gpt-4", 2, 2, 1, 1, 1, 1), ("Vicuna-13B", 1, 0, 0, 0, 0, 0)]
    (difference,) = comparison.differences
    assert (difference.system, difference.task, difference.command, difference.stored) == (
        "gpt-4",
        "file",
        "put more",
        1.0,
    )
    assert difference.computed.startswith("fail: its reward with reference 1 is 0.")

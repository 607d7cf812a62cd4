"""Compare InterCode's published rewards with the rewards that our execution gives, answer by answer.

The commands are the first actions of the seven systems in the publisher's results. They are executed in the publisher's
variant of our worlds. A stored reward is only compared: our reward does not depend on it.

The publisher's environment puts a command between double quotes and splits the result into words, as docker-py does. So
double quotes and some backslashes of the command are lost, and text after a lost quote may become another argument. If
this changed a command whose rewards differ, the changed command is executed too. If its reward agrees with the stored
one, the lost quotes are the cause of the difference.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from evaluator.judges.intercode_reward import PUBLISHERS_VARIANT, WEIGHT, Reward, observation_of, reward_of
from evaluator.judges.tfidf import cosine
from evaluator.pipeline.grading.cache_keys import GradingItem
from evaluator.pipeline.grading.executor import open_grader
from evaluator.pipeline.grading.grader import Grader
from evaluator.pipeline.project import Project
from evaluator.pipeline.submissions.import_answers import answer_source
from evaluator.progress import Progress
from evaluator.records import Ending, Evidence, Finding, Outcome
from evaluator.submissions.importers.intercode_results import (
    INTERCODE,
    PublishedAnswer,
    PublishedSystem,
    read_published,
)
from evaluator.suites.load import Suite

JUDGE: Final = "intercode"
_SAME_WORDS: Final = 0.985
"""Two outputs with at least this similarity lose no part of a reward by their words."""


_FIXED_OBSERVATIONS: Final = ("Command timed out", "Malformed command")
"""The outputs that the publisher's environment returns if it could not run a command to its end."""


@dataclass(frozen=True, slots=True)
class SystemRewards:
    """The number of a system's answers that pass by each rule. `judged` is the project's judge."""

    system: str
    answers: int
    published: int
    computed: int
    judged: int
    undecided: int


@dataclass(frozen=True, slots=True)
class RewardDifference:
    """An answer whose stored reward and computed finding lead to different decisions, with the cause."""

    system: str
    task: str
    command: str
    stored: float
    computed: str
    cause: str


@dataclass(frozen=True, slots=True)
class RewardComparison:
    """The result of the comparison: one row for each system, and all answers that differ."""

    systems: Sequence[SystemRewards]
    differences: Sequence[RewardDifference]


def compare_rewards(
    project: Project, clone: Path, progress: Progress, *, workers: int | None = None
) -> RewardComparison:
    """Execute the published answers and compare their rewards. `clone` is a clone of InterCode.

    Raises UsageError or FormatError if the clone is unreadable or the suite is not imported.
    """
    _, suite, source = answer_source(project, INTERCODE.name, clone)
    systems = read_published(source)
    items = [_item(answer) for system in systems for answer in system.answers.values()]
    with open_grader(project, _publishers_world(suite), progress, judge=JUDGE, workers=workers) as grader:
        computed = grader.grade(items)
        differing = [
            (system, answer)
            for system in systems
            for answer in system.answers.values()
            if (computed[_item(answer)].outcome is Outcome.PASS) != (answer.reward == 1)
        ]
        causes = _Causes(grader)
        causes.ensure_evidence([answer for _, answer in differing])
        differences = [_difference(system, answer, computed[_item(answer)], causes) for system, answer in differing]
    with open_grader(project, suite, progress, workers=workers) as grader:
        judged = grader.grade(items)
    return RewardComparison([_counts(system, computed, judged) for system in systems], differences)


def _publishers_world(suite: Suite) -> Suite:
    """Return the suite without the variants that we added to its worlds."""
    tasks = (task.model_copy(update={"variants": (PUBLISHERS_VARIANT,)}) for task in suite.tasks)
    return replace(suite, tasks=tuple(tasks))


def _item(answer: PublishedAnswer) -> GradingItem:
    return GradingItem(answer.task, None if answer.command is None else answer.command.encode())


def _counts(
    system: PublishedSystem, computed: Mapping[GradingItem, Finding], judged: Mapping[GradingItem, Finding]
) -> SystemRewards:
    items = [_item(answer) for answer in system.answers.values()]
    return SystemRewards(
        system.model,
        len(items),
        sum(answer.reward == 1 for answer in system.answers.values()),
        sum(computed[item].outcome is Outcome.PASS for item in items),
        sum(judged[item].outcome is Outcome.PASS for item in items),
        sum(judged[item].outcome is Outcome.UNDECIDED for item in items),
    )


def _difference(
    system: PublishedSystem, answer: PublishedAnswer, finding: Finding, causes: _Causes
) -> RewardDifference:
    return RewardDifference(
        system.model,
        answer.task,
        answer.command or "",
        answer.reward,
        f"{finding.outcome.value}: {finding.reason}",
        causes.cause_of(answer),
    )


def without_quotes(command: str) -> bytes | None:
    """Return the command that the publisher's environment runs instead of a command.

    Return the same command if no character is lost, and None if the environment cannot run the command.
    """
    text = command.strip()
    try:
        words = shlex.split(f'bash -c "{text}"')
    except ValueError:
        return None
    if words[2:] == [text]:
        return command.encode()
    if len(words) == 3:
        return words[2].encode()
    return shlex.join(words).encode()


@dataclass(frozen=True, slots=True)
class _Causes:
    """Finds the cause of a difference between a stored reward and the computed one."""

    grader: Grader

    def ensure_evidence(self, answers: Sequence[PublishedAnswer]) -> None:
        """Execute the commands of these answers, and the commands that the publisher's environment ran instead."""
        items = [_item(answer) for answer in answers]
        for answer in answers:
            items += (GradingItem(answer.task, each) for each in self._as_published(answer) if each is not None)
        self.grader.ensure_evidence(items)

    def _as_published(self, answer: PublishedAnswer) -> tuple[bytes | None, bytes | None]:
        """Return the command of an answer and the reference of its task as the publisher's environment runs them."""
        reference = self.grader.suite.task(answer.task).references[0].decode()
        return without_quotes(answer.command or ""), without_quotes(reference)

    def cause_of(self, answer: PublishedAnswer) -> str:
        """Return the first cause that applies to an answer, as a sentence."""
        if answer.command is None:
            return "the system gave no command, and the environment rewarded an earlier output"
        reference_command = self.grader.suite.task(answer.task).references[0]
        candidate, reference = (
            self._run(answer.task, answer.command.encode()),
            self._run(answer.task, reference_command),
        )
        if candidate is None or reference is None:
            return "the command was not executed"
        return self._quotes(answer, reference_command) or _cause_by_output(answer, candidate, reference)

    def _run(self, task: str, command: bytes) -> Evidence | None:
        trial = self.grader.trials(task, command).get(PUBLISHERS_VARIANT)
        return trial.first if trial else None

    def _quotes(self, answer: PublishedAnswer, reference_command: bytes) -> str | None:
        """Return the cause if commands without quotes get the stored decision. Return None otherwise."""
        command, reference = self._as_published(answer)
        if (command, reference) == ((answer.command or "").encode(), reference_command):
            return None
        if command is None:
            return None if answer.reward == 1 else "the environment cannot split the command into words"
        runs = self._run(answer.task, command), self._run(answer.task, reference or reference_command)
        if runs[0] is None or runs[1] is None:
            return None
        if (reward_of(runs[0], runs[1]).hundredths == 100) is not (answer.reward == 1):
            return None
        lost = "the command" if command != (answer.command or "").encode() else "the reference"
        return f"the environment removed quotes or backslashes from {lost}; without them, the decision is the stored one"


def _cause_by_output(answer: PublishedAnswer, candidate: Evidence, reference: Evidence) -> str:
    """Return a cause from the stored observation and our evidence of the command and of the reference."""
    if candidate.ending is not Ending.EXITED:
        return f"the command ran into a limit here: {candidate.ending.value}"
    observed = answer.observation or ""
    if cosine(observed, observation_of(candidate)) < _SAME_WORDS:
        return f"the command printed other words there{_kind_of_output(observed, observation_of(candidate))}"
    reward = reward_of(candidate, reference)
    if answer.reward == 1:
        return f"the command printed the same words there; {_lost_part(reward)}"
    return "the command printed the same words there; the reference printed other words there, or files differed"


def _kind_of_output(there: str, here: str) -> str:
    """Return a detail for outputs that differ because of a limit or a missing program, or an empty text."""
    if there in _FIXED_OBSERVATIONS:
        return f": {there}"
    for mark in ("command not found", "No such file or directory", "Permission denied"):
        if (mark in there) is not (mark in here):
            return f": {mark}, only {'there' if mark in there else 'here'}"
    return ""


def _lost_part(reward: Reward) -> str:
    """Return the part of our reward that is below its maximum."""
    if reward.file_system < WEIGHT:
        return "here it changes other paths than the reference"
    if reward.file_content < WEIGHT:
        return "here it writes other bytes than the reference"
    return "the reference prints other words here"

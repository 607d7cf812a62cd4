"""Compare InterCode's published rewards with the rewards that our execution gives, answer by answer.

The commands are the first actions of the seven systems in the publisher's results. They are executed in the publisher's
variant of our worlds. A stored reward is only compared: our reward does not depend on it.

The publisher's environment puts a command between double quotes and splits the result into words, as docker-py does. So
double quotes and some backslashes of the command are lost, and the text after a lost quote may become another argument.
The same happens to the references. Therefore there are two computed rewards. The first is the reward of the command as
the system wrote it, by the judge `intercode`. The second is the reward without the lost quotes.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, NamedTuple

from evaluator.judges.intercode_reward import PUBLISHERS_VARIANT, WEIGHT, observation_of, reward_of
from evaluator.judges.tfidf import cosine
from evaluator.pipeline.grading.cache_keys import GradingItem
from evaluator.pipeline.grading.executor import open_grader
from evaluator.pipeline.grading.grader import Grader
from evaluator.pipeline.project import Project
from evaluator.pipeline.submissions.import_answers import answer_source
from evaluator.progress import Progress
from evaluator.records import Ending, Evidence, Finding, Outcome, Output
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
    """The number of a system's answers that pass by each rule.

    `published` counts the stored rewards of 1, `computed` the passes of the judge `intercode`, and `without_quotes` the
    computed rewards of 1 of the commands that the publisher's environment ran. `judged` and `undecided` are the passes
    and the undecided verdicts of the project's judge.
    """

    system: str
    answers: int
    published: int
    computed: int
    without_quotes: int
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
    with open_grader(project, publishers_world(suite), progress, judge=JUDGE, workers=workers) as grader:
        computed = compute_rewards(grader, systems)
    with open_grader(project, suite, progress, workers=workers) as grader:
        judged = grader.grade(_item(answer) for system in systems for answer in system.answers.values())
    return compare(systems, computed, judged)


class ComputedReward(NamedTuple):
    """The judge's finding on an answer, whether it passes without the lost quotes, and the cause of a difference.

    `cause` is empty if the finding and the stored reward lead to the same decision.
    """

    finding: Finding
    passes_without_quotes: bool
    cause: str


Computed = Mapping[tuple[str, str], ComputedReward]
"""The computed rewards by the folder of the system and the task."""


def compute_rewards(grader: Grader, systems: Sequence[PublishedSystem]) -> Computed:
    """Return the computed reward of every answer. The grader's suite has only the publisher's variant."""
    answers = {(system.folder, task): answer for system in systems for task, answer in system.answers.items()}
    findings = grader.grade(map(_item, answers.values()))
    runs = PublishedRuns(grader)
    runs.ensure_evidence(answers.values())
    computed = {}
    for place, answer in answers.items():
        finding = findings[_item(answer)]
        differs = (finding.outcome is Outcome.PASS) is not (answer.reward == 1)
        cause = cause_of(answer, runs) if differs else ""
        computed[place] = ComputedReward(finding, runs.passes_without_quotes(answer), cause)
    return computed


def compare(
    systems: Sequence[PublishedSystem], computed: Computed, judged: Mapping[GradingItem, Finding]
) -> RewardComparison:
    """Return one row for each system, and the answers with another decision. `judged` has the judge's findings."""
    rows, differences = [], []
    for system in systems:
        rewards = {task: computed[system.folder, task] for task in system.answers}
        outcomes = [judged[_item(answer)].outcome for answer in system.answers.values()]
        rows.append(
            SystemRewards(
                system=system.model,
                answers=len(system.answers),
                published=sum(answer.reward == 1 for answer in system.answers.values()),
                computed=sum(reward.finding.outcome is Outcome.PASS for reward in rewards.values()),
                without_quotes=sum(reward.passes_without_quotes for reward in rewards.values()),
                judged=outcomes.count(Outcome.PASS),
                undecided=outcomes.count(Outcome.UNDECIDED),
            )
        )
        differences += [_difference(system, task, reward) for task, reward in rewards.items() if reward.cause]
    return RewardComparison(rows, differences)


def _difference(system: PublishedSystem, task: str, reward: ComputedReward) -> RewardDifference:
    answer, finding = system.answers[task], reward.finding
    computed = f"{finding.outcome.value}: {finding.reason}"
    return RewardDifference(system.model, task, answer.command or "", answer.reward, computed, reward.cause)


def publishers_world(suite: Suite) -> Suite:
    """Return the suite without the variants that we added to its worlds."""
    tasks = (task.model_copy(update={"variants": (PUBLISHERS_VARIANT,)}) for task in suite.tasks)
    return replace(suite, tasks=tuple(tasks))


def _item(answer: PublishedAnswer) -> GradingItem:
    return GradingItem(answer.task, None if answer.command is None else answer.command.encode())


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


_MALFORMED: Final = Evidence(ending=Ending.EXITED, stdout=Output(data=b"Malformed command", size=17))
"""The evidence of a command that the publisher's environment cannot run."""


@dataclass(frozen=True, slots=True)
class PublishedRuns:
    """The runs of published answers in the publisher's variant, as given and without the lost quotes."""

    grader: Grader

    def ensure_evidence(self, answers: Collection[PublishedAnswer]) -> None:
        """Load the evidence of all commands and references, and execute those without evidence."""
        items = {_item(answer) for answer in answers}
        for answer in answers:
            commands = (self.reference(answer), *self._without_quotes(answer))
            items |= {GradingItem(answer.task, command) for command in commands if command is not None}
        self.grader.ensure_evidence(sorted(items, key=str))

    def reference(self, answer: PublishedAnswer) -> bytes:
        """Return the publisher's reference for the task of an answer."""
        return self.grader.suite.task(answer.task).references[0]

    def _without_quotes(self, answer: PublishedAnswer) -> tuple[bytes | None, bytes | None]:
        return without_quotes(answer.command or ""), without_quotes(self.reference(answer).decode())

    def as_given(self, answer: PublishedAnswer) -> tuple[Evidence, Evidence] | None:
        """Return the runs of an answer's command and of the reference, or None if one of them has no evidence."""
        return self._runs(answer.task, (answer.command or "").encode(), self.reference(answer))

    def passes_without_quotes(self, answer: PublishedAnswer) -> bool:
        """Return whether the reward is 1 if command and reference run without the lost quotes."""
        runs = self._runs(answer.task, *self._without_quotes(answer)) if answer.command else None
        return runs is not None and reward_of(*runs).hundredths == 100

    def loses_quotes(self, answer: PublishedAnswer) -> bool:
        """Return whether the publisher's environment runs another command or another reference than the given one."""
        return self._without_quotes(answer) != ((answer.command or "").encode(), self.reference(answer))

    def _runs(self, task: str, command: bytes | None, reference: bytes | None) -> tuple[Evidence, Evidence] | None:
        """Return the runs of both commands. Without a reference that can run, no reward is 1, so return None."""
        runs = [self._run(task, each) for each in (command, reference)]
        if runs[0] is None or runs[1] is None or reference is None or runs[0].ending is not Ending.EXITED:
            return None
        return runs[0], runs[1]

    def _run(self, task: str, command: bytes | None) -> Evidence | None:
        if command is None:
            return _MALFORMED
        trial = self.grader.trials(task, command).get(PUBLISHERS_VARIANT)
        return trial.first if trial else None


_SUBJECTS: Final[Mapping[str, re.Pattern[str]]] = {
    "the reset between tasks gives files new times": re.compile(r"-[amc](?:time|min)\b|-newer|%[TAC]|\bls -[a-z]*[lt]"),
    "the reset between tasks removes empty directories": re.compile(r"-empty\b|\brmdir\b"),
    "the sandbox here has no network": re.compile(r"\b(?:dig|host|curl|ping|nslookup|wget)\b"),
    "the evidence here has no content of a link's target": re.compile(r"\bln\b"),
    "an archive has its time in it, and the clock here is pinned": re.compile(r"\b(?:tar|gzip|zip)\b"),
    "the machine is another one": re.compile(r"\benv\b|\bwho\b|/proc/|/etc/|\$FILES|\bhostname\b|\bfind /? *-|\bdu\b"),
}
"""Known differences between the publisher's environment and ours, with commands that they may concern."""


def cause_of(answer: PublishedAnswer, runs: PublishedRuns) -> str:
    """Return the cause for which the stored reward and the computed one lead to different decisions."""
    if answer.command is None:
        return "the system gave no command, and the stored reward belongs to an earlier output"
    if runs.loses_quotes(answer) and runs.passes_without_quotes(answer) is (answer.reward == 1):
        return "the environment removes quotes or backslashes of the command or of the reference"
    pair = runs.as_given(answer)
    if pair is None:
        return "the command or the reference ran into a limit here"
    text = f"{answer.command}\n{runs.reference(answer).decode()}"
    subject = next((f"{name}; " for name, pattern in _SUBJECTS.items() if pattern.search(text)), "")
    return subject + _observed_difference(answer, *pair)


def _observed_difference(answer: PublishedAnswer, candidate: Evidence, reference: Evidence) -> str:
    """Compare the stored observation with our evidence of the command and of the reference."""
    if (observed := answer.observation or "") in _FIXED_OBSERVATIONS:
        return f"the stored output is: {observed}"
    if cosine(observed, observation_of(candidate)) < _SAME_WORDS:
        return "the command printed other words there"
    if answer.reward != 1:
        return "the command printed the same words there, so the reference printed other words or files differed"
    reward = reward_of(candidate, reference)
    if reward.file_system < WEIGHT:
        return "here the command changes other paths than the reference"
    if reward.file_content < WEIGHT:
        return "here the command writes other bytes than the reference"
    return "the command printed the same words there, but here the reference prints other words"

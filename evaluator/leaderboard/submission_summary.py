"""The head of a submission's page: its place among the ranked systems, its topics, and its failures.

The place and the best systems by topic change with every other submission. The failures depend only on the submission's
own verdicts.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlencode

from evaluator.leaderboard.formats import dollars, integer
from evaluator.records import Outcome, Result, Standing, SubmissionManifest, Tally
from evaluator.wording import pluralize

VERDICTS: Final = "verdicts"
"""The fragment of the address of the table of verdicts."""

UNRANKED_TIE: Final = "not ranked"


@dataclass(frozen=True, slots=True)
class TopicShare:
    """A submission's passes on a topic, beside the best share of the systems that are tied with the leader."""

    topic: str
    tally: Tally
    share: float
    best: float | None
    filter: str


@dataclass(frozen=True, slots=True)
class ComparedSystem:
    """A ranked system to compare a submission with. `difference` is its accuracy minus the submission's."""

    role: str
    standing: Standing
    difference: float


@dataclass(frozen=True, slots=True)
class Failure:
    """A number of tasks that a submission fails for one reason. `filter` is the address of these verdicts."""

    name: str
    count: int
    filter: str


def verdict_filter(**values: str) -> str:
    """Return the address that filters the table of verdicts, relative to the page. The keys are columns of the table.

    >>> verdict_filter(verdict="fail", step="output")
    '?tasks.verdict=fail&tasks.step=output#verdicts'
    """
    return f"?{urlencode({f'tasks.{key}': value for key, value in values.items()})}#{VERDICTS}"


def tie_words(standing: Standing, ranked: Sequence[Standing]) -> str:
    """Return in words how a ranked submission compares with the leader."""
    if not standing.ranked:
        return UNRANKED_TIE
    group = sum(row.tie_group == 1 for row in ranked)
    if standing.submission == ranked[0].submission:
        others = group - 1
        return f"the leader, tied with {pluralize(others, 'other')}" if others else "the leader"
    return (
        "tied with the leader" if standing.tie_group == 1 else f"not tied with the leader: group {standing.tie_group}"
    )


def topic_shares(standing: Standing, best: Mapping[str, float]) -> list[TopicShare]:
    """Return a submission's share of each topic, beside the best share, which `best` has by topic."""
    return [
        TopicShare(topic, tally, tally.passed / tally.asked, best.get(topic), verdict_filter(topic=topic))
        for topic, tally in sorted(standing.topics.items())
        if tally.asked
    ]


def neighbours(standing: Standing, ranked: Sequence[Standing]) -> list[ComparedSystem]:
    """Return the leader, the row above and the row below a submission. A row with two roles is returned once."""
    slugs = [row.submission for row in ranked]
    place = slugs.index(standing.submission) if standing.submission in slugs else None
    roles: dict[int, list[str]] = {}
    if ranked and place != 0:
        roles[0] = ["the leader"]
    if place:
        roles.setdefault(place - 1, []).append("the row above")
    if place is not None and place + 1 < len(ranked):
        roles.setdefault(place + 1, []).append("the row below")
    return [
        ComparedSystem(" and ".join(names), ranked[at], ranked[at].accuracy - standing.accuracy)
        for at, names in roles.items()
    ]


def failures(answers: Mapping[str, Sequence[Result]]) -> list[Failure]:
    """Count the first candidates with the outcome fail by the step that decided. The largest count comes first.

    `answers` maps tasks to the results of their candidates. The other outcomes need no step.
    """
    findings = (results[0].finding for results in answers.values())
    steps = Counter(each.step.value for each in findings if each.outcome is Outcome.FAIL and each.step is not None)
    return [
        Failure(step, count, verdict_filter(verdict=Outcome.FAIL.value, step=step))
        for step, count in sorted(steps.items(), key=lambda item: (-item[1], item[0]))
    ]


def cost_note(standing: Standing, manifest: SubmissionManifest) -> str:
    """Return the tokens and the prices that give the cost of a task, or a note that one of them is missing."""
    figures, prices = standing.figures, manifest.prices
    if figures.mean_input_tokens is None or figures.mean_output_tokens is None:
        return "no tokens reported"
    tokens = f"{integer(figures.mean_input_tokens)} tokens in, {integer(figures.mean_output_tokens)} out (mean)"
    if prices is None:
        return f"{tokens}; no prices given"
    million = f"{dollars(prices.input_usd)} in and {dollars(prices.output_usd)} out per million"
    return f"{tokens}; {million} on {prices.date.isoformat()}"

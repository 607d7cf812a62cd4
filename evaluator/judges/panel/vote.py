"""From votes to a finding: more than half of all voters decide, and every other result stays undecided."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from evaluator.judges.panel.parse_reply import Vote
from evaluator.judges.reasons import reason, shown
from evaluator.records import Finding, Outcome, Step

_OUTCOMES: Final = {Vote.YES: Outcome.PASS, Vote.NO: Outcome.FAIL}
_SAYS: Final = {Vote.YES: "that it does the task", Vote.NO: "that it does not do the task"}


class CastVote(NamedTuple):
    """The vote of one voter and its reason. If the vote is None, `reason` tells why it is missing."""

    vote: Vote | None
    reason: str


def majority(cast: Sequence[CastVote], voters: int) -> Vote | None:
    """Return yes or no if more than half of all voters say so, else None. Voters that have not voted count too."""
    return next((vote for vote in _OUTCOMES if 2 * _number(cast, vote) > voters), None)


def is_settled(cast: Sequence[CastVote], voters: int) -> bool:
    """Return whether no remaining vote can change the outcome."""
    most = max(_number(cast, vote) for vote in _OUTCOMES)
    return majority(cast, voters) is not None or 2 * (most + voters - len(cast)) <= voters


def _number(cast: Sequence[CastVote], vote: Vote) -> int:
    return sum(each.vote is vote for each in cast)


def finding_of(finding: Finding, cast: Sequence[CastVote], voters: int, *, whole: bool) -> Finding:
    """Return the judge's finding after the vote. Nothing passes if the models saw truncated data."""
    won = majority(cast, voters)
    if won is None:
        return still_open(finding, _division(cast, voters))
    why = next((f": {shown(each.reason)}" for each in cast if each.vote is won and each.reason), "")
    sentence = f"{_number(cast, won)} of {voters} judges say {_SAYS[won]}{why}"
    if won is Vote.YES and not whole:
        return still_open(finding, "the panel would pass it, but was shown only a part of what there is")
    return decided(finding, _OUTCOMES[won], sentence)


def _division(cast: Sequence[CastVote], voters: int) -> str:
    counts = [(vote.value, _number(cast, vote)) for vote in Vote]
    counts.append(("without a vote", sum(each.vote is None for each in cast)))
    why = next((f" ({each.reason})" for each in cast if each.vote is None), "")
    if all(each.vote is None for each in cast):
        return cast[0].reason
    return f"the panel of {voters} is divided: {', '.join(f'{count} {name}' for name, count in counts if count)}{why}"


def decided(finding: Finding, outcome: Outcome, sentence: str) -> Finding:
    """Return the finding with the panel's outcome and reason. The judge's other fields stay."""
    changes = {"outcome": outcome, "step": Step.PANEL, "reason": reason(sentence), "variant": None, "place": None}
    return finding.model_copy(update=changes)


def still_open(finding: Finding, why: str) -> Finding:
    """Return the judge's finding, with an added reason why the panel does not decide it."""
    return finding.model_copy(update={"reason": reason(f"{finding.reason}; {why}")})

"""Turn the panel's votes on a case into a finding.

If more than half of all voters agree on yes or no, their vote decides. In every other case, the finding stays
undecided.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from evaluator.judges.panel.parse_reply import Vote
from evaluator.judges.reasons import reason, shown
from evaluator.records import Finding, Outcome, Step

_OUTCOMES: Final = {Vote.YES: Outcome.PASS, Vote.NO: Outcome.FAIL}
_SAYS: Final = {Vote.YES: "that it does the task", Vote.NO: "that it does not do the task"}


class CastVote(NamedTuple):
    """The vote of one voter, with its reason. If the vote is None, `reason` explains why the vote is missing."""

    vote: Vote | None
    reason: str


def majority(votes: Sequence[CastVote], voters: int) -> Vote | None:
    """Return yes or no if more than half of all `voters` gave this vote. Otherwise, return None.

    `voters` also counts voters without a vote.
    """
    return next((vote for vote in _OUTCOMES if 2 * _count(votes, vote) > voters), None)


def is_settled(votes: Sequence[CastVote], voters: int) -> bool:
    """Return whether no remaining vote can change the outcome."""
    most = max(_count(votes, vote) for vote in _OUTCOMES)
    return majority(votes, voters) is not None or 2 * (most + voters - len(votes)) <= voters


def _count(votes: Sequence[CastVote], vote: Vote) -> int:
    return sum(cast_vote.vote is vote for cast_vote in votes)


def finding_of(finding: Finding, votes: Sequence[CastVote], voters: int, *, whole: bool) -> Finding:
    """Return a case's finding after the panel's votes. A candidate cannot pass if the models saw truncated data."""
    decision = majority(votes, voters)
    if decision is None:
        return still_open(finding, _divided_reason(votes, voters))
    reasons = [cast_vote.reason for cast_vote in votes if cast_vote.vote is decision and cast_vote.reason]
    why = f": {shown(reasons[0])}" if reasons else ""
    sentence = f"{_count(votes, decision)} of {voters} judges say {_SAYS[decision]}{why}"
    if decision is Vote.YES and not whole:
        return still_open(finding, "the panel would pass it, but was shown only a part of what there is")
    return decided(finding, _OUTCOMES[decision], sentence)


def _divided_reason(votes: Sequence[CastVote], voters: int) -> str:
    counts = [(vote.value, _count(votes, vote)) for vote in Vote]
    counts.append(("without a vote", sum(cast_vote.vote is None for cast_vote in votes)))
    why = next((f" ({cast_vote.reason})" for cast_vote in votes if cast_vote.vote is None), "")
    if all(cast_vote.vote is None for cast_vote in votes):
        return votes[0].reason
    return f"the panel of {voters} is divided: {', '.join(f'{count} {name}' for name, count in counts if count)}{why}"


def decided(finding: Finding, outcome: Outcome, sentence: str) -> Finding:
    """Return the judge's finding with the panel's outcome and reason.

    Remove the variant and the place of the difference, because the panel names none.
    """
    changes = {"outcome": outcome, "step": Step.PANEL, "reason": reason(sentence), "variant": None, "place": None}
    return finding.model_copy(update=changes)


def still_open(finding: Finding, why: str) -> Finding:
    """Return the judge's finding, and add to its reason the explanation why the panel does not decide the case."""
    return finding.model_copy(update={"reason": reason(f"{finding.reason}; {why}")})

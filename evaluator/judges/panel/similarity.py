"""Compute the similarity for `embed` and `exec-embed`: the cosine of the embeddings of two commands or two outputs.

A command passes above a threshold from NL2SH-ALFA (see `judges.threshold`). If a text is long, the model receives only
its first bytes. Two different texts never pass if one of them was shortened in this way.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from typing import Final, NamedTuple

from evaluator.judges.case import Case, Executed
from evaluator.judges.panel.prompt import FIELD_CAP, that_ended
from evaluator.model_server.embedding_text import cosine
from evaluator.records import Output, command_digest

EMBEDDING: Final = frozenset({"embed", "exec-embed"})
"""Judges that compare embeddings. All other judges of the panel ask for votes."""

Embed = Callable[[str], Awaitable[str]]
"""Returns the encoded embedding of a text."""


class Similarity(NamedTuple):
    """The similarity of a candidate and a reference: the lowest cosine of their embeddings over all variants.

    `whole` is false if a compared text was truncated.
    """

    cosine: float
    whole: bool


async def nearest_similarity(judge: str, case: Case, candidate: Executed, embed: Embed) -> Similarity | None:
    """Return the candidate's similarity to the most similar reference, or None if no reference can be compared."""
    similarities = []
    for reference in that_ended(case):
        pairs = list(_texts(judge, case, candidate, reference))
        lowest = 1.0
        for pair in pairs:
            lowest = min(lowest, await _similarity(*pair, embed))
        similarities.append(Similarity(lowest, all(_is_whole(*pair) for pair in pairs)))
    return max(similarities, key=lambda similarity: similarity.cosine) if similarities else None


def texts_of(judge: str, case: Case, candidate: Executed) -> Iterator[str]:
    """Yield the texts of a case that need an embedding. A text in several comparisons occurs several times."""
    for reference in that_ended(case):
        for pair in _texts(judge, case, candidate, reference):
            left, right = map(_head, pair)
            if pair[0].digest != pair[1].digest and left != right and left.strip() and right.strip():
                yield from (left, right)


async def _similarity(one: Output, other: Output, embed: Embed) -> float:
    left, right = _head(one), _head(other)
    if one.digest == other.digest or left == right:
        return 1.0
    if not left.strip() or not right.strip():
        return 0.0
    return cosine(await embed(left), await embed(right))


def _texts(judge: str, case: Case, candidate: Executed, reference: Executed) -> Iterator[tuple[Output, Output]]:
    if judge == "embed":
        yield _command(reference), _command(candidate)
        return
    for variant in case.variants:
        yield reference.trials[variant].first.stdout, candidate.trials[variant].first.stdout


def _command(executed: Executed) -> Output:
    command = executed.command
    return Output(data=command, size=len(command), digest=command_digest(command))


def _head(output: Output) -> str:
    return output.data[:FIELD_CAP].decode(errors="replace")


def _is_whole(one: Output, other: Output) -> bool:
    return one.digest == other.digest or max(one.size, other.size) <= FIELD_CAP

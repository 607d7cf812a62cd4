"""Measure the five variations of the retrieval baseline on the held-out pairs of a corpus. Nothing is executed.

The score is the NLC2CMD metric of five commands by the rule of the organisers' program. So the ladder can be read
beside the two published ends of the same ladder (Agarwal et al. 2021). Those were measured on the test set of the
competition, which was not published.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Final, NamedTuple

from evaluator.corpus.corpus_rules import CorpusRules
from evaluator.corpus.corpus_split import split_corpus, without_shared_texts
from evaluator.corpus.pair_lines import CorpusPair
from evaluator.corpus.retrieval_steps import PRACTICE_PAIRS, RETRIEVAL_STEPS, Retrieval
from evaluator.corpus.similar_texts import plain
from evaluator.errors import UsageError
from evaluator.metrics.nlc2cmd import score_task
from evaluator.progress import Progress
from evaluator.records import Record
from evaluator.submissions.baselines.training import InstructionPair

PUBLISHED: Final = {"raw": 0.361, "confidence": 0.472}
"""The scores that Agarwal et al. 2021 report for the first and the last variation."""


class LadderStep(Record):
    """One variation: the number of pairs from which it retrieves, its NLC2CMD score, and the published score."""

    name: str
    pairs: int
    score: float
    published: float | None = None


class Ladder(Record):
    """The scores of all variations on the same held-out instructions.

    `further` is the number of further pairs without those that share a text with a held-out pair. `instructions` is the
    number of different held-out instructions, and `asked` the number of those that were answered.
    """

    training: int
    further: int
    held_out: int
    instructions: int
    asked: int
    steps: tuple[LadderStep, ...]


class _Question(NamedTuple):
    """A held-out instruction with the commands of all held-out pairs that have it."""

    nl: str
    references: list[str]


def split_for_ladder(
    pairs: Sequence[CorpusPair], rules: CorpusRules, seed: int
) -> tuple[list[CorpusPair], list[CorpusPair]]:
    """Return the training pairs and the other pairs of `corpus split`, five to one.

    The development pairs are held out too, because nothing is tuned on them.
    """
    found = split_corpus(pairs, rules, seed=seed)
    return found.train, [*found.dev, *found.test]


def retrieval_ladder(
    training: Sequence[CorpusPair],
    held_out: Sequence[CorpusPair],
    further: Sequence[CorpusPair],
    rules: CorpusRules,
    most_questions: int,
    progress: Progress,
) -> Ladder:
    """Answer held-out instructions with all five variations and score the answers.

    If there are more than `most_questions` instructions, their digests decide which are asked. Raises UsageError if
    a part has no instruction with a word.
    """
    _require_words("training pair", training)
    _require_words("held-out pair", held_out)
    questions = _questions(held_out)
    asked = sorted(questions, key=lambda question: hashlib.sha256(question.nl.encode(errors="surrogatepass")).digest())
    asked = asked[:most_questions]
    others = without_shared_texts(further, held_out, rules)
    steps = []
    for number, (name, retrieval) in enumerate(RETRIEVAL_STEPS.items(), 1):
        title = f"step {number} of {len(RETRIEVAL_STEPS)}, {name}"
        progress.stage(f"{title}: choosing pairs", len(training) + (len(others) if retrieval.more_data else 0))
        used = retrieval.training(training, others, progress.advance)
        _require_words(f"training pair of the step `{name}`", used)
        progress.stage(title, len(asked) + (min(PRACTICE_PAIRS, len(used)) if retrieval.regression else 0))
        score = round(_score(retrieval, asked, used, progress), 4)
        steps.append(LadderStep(name=name, pairs=len(used), score=score, published=PUBLISHED.get(name)))
    return Ladder(
        training=len(training),
        further=len(others),
        held_out=len(held_out),
        instructions=len(questions),
        asked=len(asked),
        steps=tuple(steps),
    )


def _require_words(name: str, pairs: Sequence[InstructionPair]) -> None:
    if not any(character.isalnum() for pair in pairs for character in pair.nl):
        raise UsageError(f"no {name} has an instruction with a word: expected a larger corpus")


def _questions(held_out: Sequence[CorpusPair]) -> list[_Question]:
    found: dict[str, _Question] = {}
    for pair in held_out:
        found.setdefault(plain(pair.nl), _Question(pair.nl, [])).references.append(pair.command)
    return list(found.values())


def _score(
    retrieval: Retrieval, questions: Sequence[_Question], training: Sequence[InstructionPair], progress: Progress
) -> float:
    """Return the mean NLC2CMD score of a variation's answers."""
    answers = retrieval.answer([question.nl for question in questions], training, progress.advance)
    scores = [
        score_task([command for command, _ in answer], [value for _, value in answer], question.references).organisers
        for question, answer in zip(questions, answers, strict=True)
    ]
    return sum(scores) / len(scores)

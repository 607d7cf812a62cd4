"""Measure the agreement between text judges and human annotators about the correctness of commands.

The annotators are those of NL2Bash (Lin et al. 2018, "NL2Bash: A Corpus and Semantic Parser for Natural Language
Interface to the Linux Operating System"). They rated commands that models wrote for English descriptions, and executed
nothing. Some models left placeholders such as `[regex]` for unknown values. A shell cannot run such a command
correctly, but annotators rated some such commands as correct. Commands with placeholders are counted separately.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from typing import Final, Literal, NamedTuple

from evaluator.judges.threshold import THRESHOLD, TextScorer
from evaluator.records import AnnotatorAgreement

RowsOf = Literal["all", "without placeholders", "with placeholders"]

PLACEHOLDER: Final = re.compile(
    r"\[(?:regex|number|quantity|file|directory|path|permission|timespan|datetime|size|username|groupname|type|unit"
    r"|program|command|variable|string|option|argument)\]|__SP__\w+"
)
"""Placeholders that NL2Bash's models print for unknown values. `[ch]` is not included because it is a shell pattern."""


class Assessed(NamedTuple):
    """A command that a model wrote for a description, and the annotators' ratings of the command.

    `correct` is the joint rating. `people` holds one rating for each annotator, or None if the annotator did not see
    the command.
    """

    description: str
    command: str
    correct: bool
    people: tuple[bool | None, ...]


class Measured(NamedTuple):
    """A measure of correctness: its name, a score for each command, and a rule that tells which scores mean "correct".

    `is_graded` is false if the measure has only two scores, yes and no.
    """

    name: str
    score: Callable[[Assessed], float]
    says_yes: Callable[[float], bool]
    is_graded: bool = True


def agreements(
    rows: Sequence[Assessed], references: Mapping[str, Sequence[str]], judges: Sequence[TextScorer]
) -> Iterator[AnnotatorAgreement]:
    """Yield each measure's agreement with the annotators: on all rows, then on rows without and with placeholders."""
    measures = [*_baselines(references), *(measure for judge in judges for measure in _of_judge(judge, references))]
    without_placeholders = [row for row in rows if not PLACEHOLDER.search(row.command)]
    with_placeholders = [row for row in rows if PLACEHOLDER.search(row.command)]
    groups: list[tuple[RowsOf, Sequence[Assessed]]] = [("all", rows)]
    if with_placeholders and without_placeholders:
        groups += [("without placeholders", without_placeholders), ("with placeholders", with_placeholders)]
    for name, group in groups:
        yield _between_annotators(name, group)
        yield from (_agreement(name, group, measure) for measure in measures)


def _baselines(references: Mapping[str, Sequence[str]]) -> Iterator[Measured]:
    yield Measured("always no", lambda row: 0.0, lambda score: False, is_graded=False)

    def is_reference(row: Assessed) -> float:
        return float(_tidy(row.command) in map(_tidy, references[row.description]))

    yield Measured("exact match", is_reference, lambda score: score == 1.0, is_graded=False)


def _tidy(command: str) -> str:
    return " ".join(command.split())


def _of_judge(judge: TextScorer, references: Mapping[str, Sequence[str]]) -> Iterator[Measured]:
    @cache
    def score(row: Assessed) -> float:
        return max(judge.similarity(row.command, reference) for reference in references[row.description])

    yield Measured(f"{judge.name} above {THRESHOLD}", score, lambda value: value > THRESHOLD)
    if judge.name == "nl2cmd":  # NL2Bash compared its annotators with a perfect score
        yield Measured(f"{judge.name} of 1", score, lambda value: value >= 1.0)


def _agreement(rows_of: RowsOf, rows: Sequence[Assessed], measure: Measured) -> AnnotatorAgreement:
    scores = [measure.score(row) for row in rows]
    answers, labels = [measure.says_yes(score) for score in scores], [row.correct for row in rows]
    return AnnotatorAgreement(
        measure=measure.name,
        rows_of=rows_of,
        rows=len(rows),
        raw=_raw(answers, labels),
        kappa=kappa(answers, labels),
        auc=_auc(scores, labels) if measure.is_graded else None,
    )


def _between_annotators(rows_of: RowsOf, rows: Sequence[Assessed]) -> AnnotatorAgreement:
    """Return the agreement between the first two annotators of each row. Skip rows with fewer than two ratings."""
    ratings = [[rating for rating in row.people if rating is not None][:2] for row in rows]
    pairs = [(row_ratings[0], row_ratings[1]) for row_ratings in ratings if len(row_ratings) == 2]
    first_ratings, second_ratings = [first for first, _ in pairs], [second for _, second in pairs]
    return AnnotatorAgreement(
        measure="two people",
        rows_of=rows_of,
        rows=len(pairs),
        raw=_raw(first_ratings, second_ratings),
        kappa=kappa(first_ratings, second_ratings),
        auc=None,
    )


def _raw(left: Sequence[bool], right: Sequence[bool]) -> float | None:
    return sum(a is b for a, b in zip(left, right, strict=True)) / len(left) if left else None


def kappa(left: Sequence[bool], right: Sequence[bool]) -> float | None:
    """Return Cohen's kappa (1960), the agreement of two raters beyond chance: (raw - expected) / (1 - expected).

    `raw` is the share of equal answers. `expected` is this share if the raters answer independently. Return None if
    there are no answers, or if all answers of both raters are the same.
    """
    raw = _raw(left, right)
    if raw is None:
        return None
    yes, other_yes = sum(left) / len(left), sum(right) / len(right)
    expected = yes * other_yes + (1 - yes) * (1 - other_yes)
    return None if expected == 1 else (raw - expected) / (1 - expected)


def _auc(scores: Sequence[float], labels: Sequence[bool]) -> float | None:
    from sklearn.metrics import roc_auc_score

    return float(roc_auc_score(labels, scores)) if len(set(labels)) == 2 else None

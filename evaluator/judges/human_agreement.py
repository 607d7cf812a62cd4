"""Text judges beside people: how often they agree on which commands are correct.

The people are NL2Bash's annotators (Lin et al. 2018, "NL2Bash: A Corpus and Semantic Parser for Natural Language
Interface to the Linux Operating System"), who looked at models' commands for descriptions that have references.
Nothing was executed. Some of those models left placeholders such as `[regex]` for what they did not know; no
command with one can be right for a shell, but people judged some so: such rows are counted apart.
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
"""What NL2Bash's models put for a value they did not know. `[ch]` is none: it is a pattern of the shell."""


class Assessed(NamedTuple):
    """A command for a description, what people say of it together, and what each of them said.

    `people` holds each one's answer, None from those who did not see it.
    """

    description: str
    command: str
    correct: bool
    people: tuple[bool | None, ...]


class Measured(NamedTuple):
    """A measure by its name: how near each command is to correct, and from which score on it says so.

    `is_graded` is false for what only says yes or no.
    """

    name: str
    score: Callable[[Assessed], float]
    says_yes: Callable[[float], bool]
    is_graded: bool = True


def agreements(
    rows: Sequence[Assessed], references: Mapping[str, Sequence[str]], judges: Sequence[TextScorer]
) -> Iterator[AnnotatorAgreement]:
    """Every measure's agreement with people: on all rows, on those without placeholders and on those with."""
    measures = [*_baselines(references), *(each for judge in judges for each in _of_judge(judge, references))]
    plain = [row for row in rows if not PLACEHOLDER.search(row.command)]
    rest = [row for row in rows if PLACEHOLDER.search(row.command)]
    groups: list[tuple[RowsOf, Sequence[Assessed]]] = [("all", rows)]
    if rest and plain:
        groups += [("without placeholders", plain), ("with placeholders", rest)]
    for name, chosen in groups:
        yield _between_people(name, chosen)
        yield from (_agreement(name, chosen, measure) for measure in measures)


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
    if judge.name == "nl2cmd":  # NL2Bash's people were compared with a perfect score
        yield Measured(f"{judge.name} of 1", score, lambda value: value >= 1.0)


def _agreement(rows_of: RowsOf, rows: Sequence[Assessed], measure: Measured) -> AnnotatorAgreement:
    scores = [measure.score(row) for row in rows]
    ours, theirs = [measure.says_yes(score) for score in scores], [row.correct for row in rows]
    return AnnotatorAgreement(
        measure=measure.name,
        rows_of=rows_of,
        rows=len(rows),
        raw=_raw(ours, theirs),
        kappa=kappa(ours, theirs),
        auc=_auc(scores, theirs) if measure.is_graded else None,
    )


def _between_people(rows_of: RowsOf, rows: Sequence[Assessed]) -> AnnotatorAgreement:
    """The first two people of every row that two or more saw."""
    seen = [[answer for answer in row.people if answer is not None][:2] for row in rows]
    pairs = [(answers[0], answers[1]) for answers in seen if len(answers) == 2]
    ours, theirs = [first for first, _ in pairs], [second for _, second in pairs]
    return AnnotatorAgreement(
        measure="two people",
        rows_of=rows_of,
        rows=len(pairs),
        raw=_raw(ours, theirs),
        kappa=kappa(ours, theirs),
        auc=None,
    )


def _raw(ours: Sequence[bool], theirs: Sequence[bool]) -> float | None:
    return sum(a is b for a, b in zip(ours, theirs, strict=True)) / len(ours) if ours else None


def kappa(ours: Sequence[bool], theirs: Sequence[bool]) -> float | None:
    """Cohen's kappa (1960): (raw - expected) / (1 - expected), None where both sides never vary."""
    raw = _raw(ours, theirs)
    if raw is None:
        return None
    yes, other = sum(ours) / len(ours), sum(theirs) / len(theirs)
    expected = yes * other + (1 - yes) * (1 - other)
    return None if expected == 1 else (raw - expected) / (1 - expected)


def _auc(scores: Sequence[float], labels: Sequence[bool]) -> float | None:
    from sklearn.metrics import roc_auc_score

    return float(roc_auc_score(labels, scores)) if len(set(labels)) == 2 else None

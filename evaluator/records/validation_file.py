"""Define the data file for the site's page about the quality of the judges."""

from __future__ import annotations

from typing import ClassVar, Final, Literal

from evaluator.records.blind import BlindFigures
from evaluator.records.real_answers import AnswerFigures, AnswerSet
from evaluator.records.record import Record
from evaluator.records.validation import AnnotatorAgreement, JudgeFigures

VALIDATION_FORMAT: Final = 3
"""Format 2 added the results on real answers, and format 3 those on the blind set. Older files have no such results."""


class Validation(Record):
    """The data file for the site's page about the quality of the judges."""

    newest_format: ClassVar[int] = VALIDATION_FORMAT

    format: Literal[1, 2, 3]
    blind: tuple[BlindFigures, ...] = ()
    answer_sets: tuple[AnswerSet, ...] = ()
    answers: tuple[AnswerFigures, ...] = ()
    figures: tuple[JudgeFigures, ...] = ()
    agreements: tuple[AnnotatorAgreement, ...] = ()

"""Find the submissions whose answers are those of an earlier submission of another account."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import date
from typing import Final

import numpy as np

from evaluator.leaderboard.board import SuiteBoard
from evaluator.records import AnswersOf

MOST: Final = 0.9
"""The share of equal answers above which the other submission is named."""

LEAST_ANSWERS: Final = 10
"""The least number of answers of a submission that are compared. Fewer may be equal by chance."""


def with_copied_answers(board: SuiteBoard, owners: Mapping[str, int | None]) -> SuiteBoard:
    """Return a board whose standings name the submission that had their answers before, if there is one.

    Two answers are equal if the first candidates have the same canonical form without the wrappers around them.
    `owners` maps slugs to the accounts of their owners. A submission that nobody has registered has an owner of its
    own. Of two submissions of one day, the one whose slug comes first counts as earlier, because the history of a day
    tells no more.
    """
    ordered = sorted(board.standings, key=lambda row: (row.added or date.max, row.submission))
    slugs = [row.submission for row in ordered]
    numbers: dict[str, int] = {}
    places = {task.id: place for place, task in enumerate(board.tasks)}
    # 0 is no answer. The number of a form is above 0.
    forms = np.zeros((len(slugs), len(places)), np.int32)
    for row, slug in enumerate(slugs):
        for task, form in board.answers.forms(slug).items():
            if task in places:
                forms[row, places[task]] = numbers.setdefault(form, len(numbers) + 1)
    found: dict[str, AnswersOf] = {}
    for row, slug in enumerate(slugs):
        answered = np.count_nonzero(forms[row])
        others = [other for other in range(row) if not _have_one_owner(slug, slugs[other], owners)]
        if answered < LEAST_ANSWERS or not others:
            continue
        shares = np.count_nonzero((forms[others] == forms[row]) & (forms[row] > 0), axis=1) / answered
        best = int(np.argmax(shares))
        if shares[best] > MOST:
            found[slug] = AnswersOf(submission=slugs[others[best]], share=float(shares[best]))
    rows = (row.model_copy(update={"answers_of": found.get(row.submission)}) for row in board.standings)
    return replace(board, standings=tuple(rows))


def _have_one_owner(slug: str, other: str, owners: Mapping[str, int | None]) -> bool:
    return slug in owners and other in owners and owners[slug] == owners[other]

"""Merge new results of judges into the file that the site reads, or into the local file."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from pathlib import Path
from typing import Final, TypeVar

from evaluator.files import write_whole
from evaluator.judges import JUDGES
from evaluator.pipeline.boards.scored_boards import JUDGE_METRICS, read_validation
from evaluator.pipeline.project import Project
from evaluator.records import VALIDATION_FORMAT, BlindFigures, JudgeFigures, PairKind, Part, Record, Tier, Validation

_LOCAL_NAME: Final = "judges.json"

Row = TypeVar("Row", bound=Record)


def save_metrics(project: Project, validation: Validation, *, publish: bool) -> Path:
    """Merge judges' metrics into a file, and return its path. Metrics of other suites, pair kinds and judges stay.

    So do those of the other half of a blind set.

    If `publish` is set, the file is the website's metrics file. Otherwise, it is the local metrics file.
    """
    path = project.root / JUDGE_METRICS if publish else project.store_path.with_name(_LOCAL_NAME)
    known = read_validation(path)
    figures = _replaced(known.figures, validation.figures, lambda row: (row.suite, row.kind, row.judge, row.model))
    blind = _replaced(known.blind, validation.blind, lambda row: (row.suite, row.part, row.judge, row.model))
    answers = _replaced(known.answers, validation.answers, lambda row: (row.suite, row.judge, row.model))
    answer_sets = _replaced(known.answer_sets, validation.answer_sets, lambda row: row.suite)
    merged = Validation(
        format=VALIDATION_FORMAT,
        blind=tuple(sorted(blind, key=_blind_order)),
        answer_sets=tuple(sorted(answer_sets, key=lambda row: row.suite)),
        answers=tuple(sorted(answers, key=lambda row: (row.suite, *_rank(row.part, row.judge), row.model))),
        figures=tuple(sorted(figures, key=_metrics_order)),
        agreements=validation.agreements or known.agreements,
    )
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, f"{merged.model_dump_json(indent=1)}\n".encode())
    return path


def _replaced(known: Iterable[Row], new: Sequence[Row], key: Callable[[Row], Hashable]) -> list[Row]:
    """Return the known rows and the new rows, without the known rows whose key a new row has."""
    replaced = set(map(key, new))
    return [*(row for row in known if key(row) not in replaced), *new]


def _metrics_order(figures: JudgeFigures) -> tuple[str, int, int, int, str]:
    return figures.suite, list(PairKind).index(figures.kind), *_rank(figures.part, figures.judge), figures.model


def _blind_order(figures: BlindFigures) -> tuple[str, int, int, str, int]:
    tier = -1 if figures.tier is None else list(Tier).index(figures.tier)
    return figures.suite, *_rank(figures.part, figures.judge), figures.model, tier


def _rank(part: Part, judge: str) -> tuple[int, int]:
    name = judge.removesuffix(" with panel")
    return list(Part).index(part), list(JUDGES).index(name) if name in JUDGES else len(JUDGES)

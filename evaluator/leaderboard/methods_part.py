"""The part of the leaderboard with the methods of one model side by side, as declared in `submission.toml`."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Final

from markupsafe import Markup

from evaluator.leaderboard.board import SuiteBoard
from evaluator.leaderboard.environment import render
from evaluator.records import GenerationMethod, MethodRuns

_ORDER: Final = {method.value: number for number, method in enumerate(GenerationMethod)}
_LAST: Final = len(_ORDER)
"""The place of a method that adds something to the model and not to the question, such as fine-tuning."""


def render_methods(board: SuiteBoard, root: str, place: str | None) -> Markup:
    """Return the HTML of a table with a row for each model that has several methods, or nothing without such a model.

    `root` is the address of the site's root relative to the page. `place` is the address of the board's folder, or None
    if the submissions have no pages.
    """
    models = _models(board.method_runs)
    if not models:
        return Markup("")
    columns = sorted({methods for row in models.values() for methods in row}, key=_position)
    repeated = any(len(runs.submissions) > 1 for row in models.values() for cell in row.values() for runs in cell)
    rendered = render(
        "methods.html", models=models, columns=columns, repeated=repeated, root=root, place=place, name=board.name
    )
    return Markup(rendered)  # noqa: S704 - a rendered template


def methods_json(board: SuiteBoard) -> str:
    """Return the runs of the models that have several methods as a JSON list, or "" without such a model."""
    found = [runs for row in _models(board.method_runs).values() for cell in row.values() for runs in cell]
    rows = [runs.model_dump(mode="json") for runs in found]
    return json.dumps(rows, indent=1, sort_keys=True, ensure_ascii=False) + "\n" if rows else ""


def _models(found: Sequence[MethodRuns]) -> dict[str, dict[tuple[str, ...], list[MethodRuns]]]:
    """Return the runs by model and methods, in the order of `found`. Models with a single method are left out."""
    models: dict[str, dict[tuple[str, ...], list[MethodRuns]]] = {}
    for runs in found:
        models.setdefault(runs.model, {}).setdefault(runs.methods, []).append(runs)
    return {model: row for model, row in models.items() if len(row) > 1}


def _position(methods: tuple[str, ...]) -> tuple[bool, int, list[int]]:
    """Return the key of a column: single methods come first, and methods of a fine-tuned model last."""
    places = [_ORDER.get(method, _LAST) for method in methods]
    return _LAST in places, len(places), places

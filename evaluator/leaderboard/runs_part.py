"""The part of a submission's page about the generation of its answers, and about the spread over repeated runs."""

from __future__ import annotations

from typing import Any

from markupsafe import Markup

from evaluator.leaderboard.board import SuiteBoard
from evaluator.leaderboard.environment import render
from evaluator.leaderboard.figures_part import SCORING
from evaluator.records import Generation, PublishedPrompt


def render_runs(board: SuiteBoard, slug: str) -> Markup:
    """Return the HTML of a submission's recipe and of its runs, or nothing if it declares no `[generation]`."""
    generation = board.submissions[slug].generation
    if generation is None:
        return Markup("")
    standings = {standing.submission: standing for standing in board.standings}
    runs = next((runs for runs in board.method_runs if slug in runs.submissions), None)
    rows = [(_run(board, other), standings[other]) for other in runs.submissions] if runs else []
    rendered = render(
        "runs.html",
        slug=slug,
        generation=generation,
        facts=generation_facts(generation),
        runs=runs,
        rows=rows,
        scoring=SCORING,
    )
    return Markup(rendered)  # noqa: S704 - a rendered template


def _run(board: SuiteBoard, slug: str) -> int:
    generation = board.submissions[slug].generation
    return generation.run if generation else 1


def generation_facts(generation: Generation) -> dict[str, Any]:
    """Return the parameters of a recipe as texts by name. A parameter without a meaning for the method is None."""
    prompt, decoding = generation.prompt, generation.decoding
    values = {
        "temperature": None if decoding.temperature is None else f"{decoding.temperature:g}",
        "top p": None if decoding.top_p is None else f"{decoding.top_p:g}",
        "seed": decoding.seed,
        "reply tokens": decoding.reply_tokens,
    }
    return {
        "Model": generation.base_model,
        "Methods": ", ".join(generation.methods),
        "Prompt": f"{prompt.name}, {prompt.digest}" if isinstance(prompt, PublishedPrompt) else prompt,
        "Examples": f"{generation.shots}, chosen by {generation.examples}" if generation.shots else None,
        "Vectors": generation.embeddings,
        "Grammar": generation.grammar,
        "Replies per task": str(generation.samples) if generation.samples > 1 else None,
        "Turns": f"at most {generation.turns}" if generation.turns > 1 else None,
        "Decoding": ", ".join(f"{name} {value}" for name, value in values.items() if value is not None),
    }

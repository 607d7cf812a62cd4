"""Group the ranked submissions of a board by the model and the method that they declare, and compare the methods."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Final

from evaluator.leaderboard.board import SuiteBoard
from evaluator.metrics.accuracy import wilson_bounds
from evaluator.metrics.paired import difference_interval
from evaluator.metrics.repeated_runs import mean_counts, run_spread, shares_of_runs
from evaluator.pipeline.boards.passed_tasks import passed_tasks
from evaluator.records import Generation, GenerationMethod, MethodRuns, SubmissionManifest

FINE_TUNED: Final = "fine-tuned"
"""The name of the method that a table `[fine_tuning]` declares."""
BASELINE: Final = (GenerationMethod.BASELINE.value,)
_SAME_IN_RUNS: Final = {"authors", "method", "extraction", "models", "fine_tuning", "generation"}
"""The fields of a manifest that are equal in all runs of a system."""


def method_runs(board: SuiteBoard, owners: Mapping[str, int | None]) -> tuple[MethodRuns, ...]:
    """Return the runs of each model and method, the most accurate first. `owners` maps slugs to their owners' accounts.

    Submissions that declare neither `[generation]` nor `[fine_tuning]` are left out, and so are those without a rank.
    """
    groups: dict[str, list[str]] = {}
    accuracy = {row.submission: row.accuracy for row in board.standings if row.ranked}
    for slug in accuracy:
        if model_of(board.submissions[slug]) is not None:
            groups.setdefault(_system_key(slug, board.submissions[slug], owners.get(slug)), []).append(slug)
    found = [_without_baseline(slugs, board, accuracy) for slugs in groups.values()]
    found.sort(key=lambda runs: (-runs.accuracy, runs.submissions))
    names: dict[str, str] = {}
    for runs in found:
        names.setdefault(_plain(runs.model), runs.model)
    found = [runs.model_copy(update={"model": names[_plain(runs.model)]}) for runs in found]
    passed = passed_tasks(board)
    tasks = [task.id for task in board.tasks]
    shares = {runs.submissions: shares_of_runs([passed[slug] for slug in runs.submissions], tasks) for runs in found}
    return tuple(_compared(runs, _baseline_of(runs, found, board.submissions), shares) for runs in found)


def model_of(manifest: SubmissionManifest) -> str | None:
    """Return the model that a submission declares: the one before fine-tuning, or the one that was asked."""
    if manifest.fine_tuning is not None:
        return manifest.fine_tuning.base_model
    return manifest.generation.base_model if manifest.generation else None


def methods_of(manifest: SubmissionManifest) -> tuple[str, ...]:
    """Return the methods that a submission declares, without regard to their order in its manifest.

    Example: a fine-tuned model that answered with `parser` gives `fine-tuned` and `parser`.
    """
    declared = manifest.generation.methods if manifest.generation else ()
    added = [method.value for method in GenerationMethod if method in declared and method.value not in BASELINE]
    return (*([FINE_TUNED] if manifest.fine_tuning else []), *added) or BASELINE


def _plain(model: str) -> str:
    return " ".join(model.split()).casefold()


def _system_key(slug: str, manifest: SubmissionManifest, owner: int | None) -> str:
    """Return a text that is equal for the runs of one system, and for no other submission.

    Runs of each other declare the same number of runs above 1. All that they declare is equal, but for the number of
    the run, the seed and texts for readers. They have one owner, so nobody adds a run to a system of others.
    """
    generation = manifest.generation
    if generation is None or generation.runs == 1:
        return slug
    same = manifest.model_copy(update={"generation": _without_run(generation)})
    return f"{owner} {same.model_dump_json(include=_SAME_IN_RUNS)}"


def _without_run(generation: Generation) -> Generation:
    decoding = generation.decoding.model_copy(update={"seed": None})
    return generation.model_copy(update={"run": 1, "decoding": decoding})


def _without_baseline(slugs: Sequence[str], board: SuiteBoard, accuracy: Mapping[str, float]) -> MethodRuns:
    """Return the runs of one system, with their spread."""
    manifests = {slug: board.submissions[slug] for slug in slugs}
    ordered = sorted(slugs, key=lambda slug: (_run_of(manifests[slug]), slug))
    first = manifests[ordered[0]]
    spread = run_spread([accuracy[slug] for slug in ordered])
    low, high = wilson_bounds(spread.mean * len(board.tasks), len(board.tasks))
    return MethodRuns(
        model=model_of(first) or "",
        methods=methods_of(first),
        submissions=tuple(ordered),
        declared=first.generation.runs if first.generation else 1,
        accuracy=spread.mean,
        accuracy_low=low,
        accuracy_high=high,
        lowest=spread.lowest,
        highest=spread.highest,
        deviation=spread.deviation,
    )


def _run_of(manifest: SubmissionManifest) -> int:
    return manifest.generation.run if manifest.generation else 1


def _baseline_of(
    runs: MethodRuns, found: Sequence[MethodRuns], manifests: Mapping[str, SubmissionManifest]
) -> MethodRuns | None:
    """Return the baseline of a model: the one with the same prompt, or else the most accurate one."""
    if runs.methods == BASELINE:
        return None
    baselines = [other for other in found if other.model == runs.model and other.methods == BASELINE]
    prompt = _prompt_of(runs, manifests)
    return min(baselines, key=lambda other: _prompt_of(other, manifests) != prompt, default=None)


def _prompt_of(runs: MethodRuns, manifests: Mapping[str, SubmissionManifest]) -> object:
    generation = manifests[runs.submissions[0]].generation
    return generation.prompt if generation else None


def _compared(
    runs: MethodRuns, baseline: MethodRuns | None, shares: Mapping[tuple[str, ...], Sequence[Fraction]]
) -> MethodRuns:
    if baseline is None:
        return runs
    counts = mean_counts(shares[runs.submissions], shares[baseline.submissions])
    low, high = difference_interval(counts)
    update = {"baseline": baseline.submissions[0], "difference": counts.difference}
    return runs.model_copy(update=update | {"difference_low": low, "difference_high": high})

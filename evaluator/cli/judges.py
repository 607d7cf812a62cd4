"""Commands that list the judges, and measure them on pairs of commands with a known correct verdict."""

from __future__ import annotations

import os
from collections import Counter
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from evaluator.cli.app import AsJson, Group, Workers, console, current_project, example, print_json, shown
from evaluator.cli.board import MaxCalls, MaxUsd, SuiteNames, UsePanel
from evaluator.cli.progress import shown_progress
from evaluator.escaping import printable

if TYPE_CHECKING:
    from rich.table import Table

    from evaluator.pipeline.maintenance.judge_validation import Results
    from evaluator.pipeline.maintenance.published_rewards import RewardComparison
    from evaluator.records import AnnotatorAgreement, JudgeFigures, Mistake

judges = typer.Typer(
    cls=Group, help="List judges, and measure how good they are.", no_args_is_help=True, rich_markup_mode=None
)

JudgeNames = Annotated[list[str] | None, typer.Option("--judge", help="Only this judge. May be repeated.")]


@example("bashboard judges list", "bashboard judges list --json")
def list_judges(as_json: AsJson = False) -> None:
    """List the available judges and what each of them compares."""
    from evaluator.pipeline.maintenance.judge_validation import describe_judges

    rows = describe_judges()
    if as_json:
        print_json([each._asdict() for each in rows])
    for row in [] if as_json else rows:
        typer.echo(f"{row.name:12} {row.version:2}  {row.looks_at:8} {row.description}")


@example(
    "bashboard judges validate",
    "bashboard judges validate --suite nl2sh-alfa --judge consensus --mistakes",
    "bashboard judges validate --mutants --panel --max-usd 5",
    "bashboard judges validate --pairs labels.jsonl --json",
    "bashboard judges validate --human people.csv --references all.nl all.cm",
)
def validate(
    suite: SuiteNames = None,
    judge: JudgeNames = None,
    pairs: Annotated[
        Path | None,
        typer.Option("--pairs", help='Use these pairs: lines of {"suite", "task", "command", "label"}.'),
    ] = None,
    human: Annotated[
        Path | None, typer.Option("--human", help="Compare text judges with human labels, in the columns of NL2Bash.")
    ] = None,
    references: Annotated[
        tuple[Path, Path] | None,
        typer.Option("--references", help="For --human: the descriptions and their commands.", metavar="NL CM"),
    ] = None,
    mutants: Annotated[bool, typer.Option("--mutants", help="Include the mutants of every reference.")] = False,
    mistakes: Annotated[bool, typer.Option("--mistakes", help="Also print each pair that was judged wrong.")] = False,
    publish: Annotated[
        bool, typer.Option("--publish", help="Write the results to the file that the site reads.")
    ] = False,
    use_panel: UsePanel = None,
    max_calls: MaxCalls = None,
    max_usd: MaxUsd = None,
    workers: Workers = None,
    as_json: AsJson = False,
) -> None:
    """Measure every available judge on pairs with a known label, and store the results.

    The pairs of a suite are those of the paper's Table 4 (references against each other, and against the command of the
    task ten places later), its near misses, mutants labelled by hand and, with --mutants, all mutants. In accuracy,
    undecided counts as fail. Below the results are the ten pairs that are hardest for the judge that ranks.
    """
    from evaluator.errors import UsageError
    from evaluator.pipeline.grading.llm_panel import PanelUse
    from evaluator.pipeline.maintenance.annotator_agreement import compare_with_people
    from evaluator.pipeline.maintenance.judge_validation import (
        Results,
        pairs_of_suite,
        read_labelled,
        save_metrics,
        validate_judges,
    )
    from evaluator.records import Validation

    if (human is None) != (references is None):
        raise UsageError("--human and --references belong together: give both, or neither")
    project = current_project()
    results, agreements = Results(), []
    with shown_progress() as progress:
        if human is not None and references is not None:
            agreements = compare_with_people(human, references, progress, judge or ())
        else:
            names = suite or [each.manifest.name for each in project.suites()]
            sets = (
                read_labelled(project, pairs)
                if pairs
                else [pairs_of_suite(project, project.suite(name), progress, mutants=mutants) for name in names]
            )
            use = PanelUse(os.environ, use_panel, max_calls, max_usd)
            results = validate_judges(project, sets, progress, judges=judge or (), panel_use=use, workers=workers)
        validation = Validation(format=1, figures=tuple(results.figures), agreements=tuple(agreements))
        path = save_metrics(project, validation, publish=publish)
    ranking = project.settings.judge if not judge or project.settings.judge in judge else judge[0]
    if as_json:
        print_json(_as_json(results, agreements, mistakes, ranking))
    else:
        _print(results, agreements, mistakes, ranking)
        typer.echo(f"kept in {shown(path)}", err=True)
    if any(each.infra_errors for each in results.figures):
        typer.echo("bashboard: some pairs have infra-errors, which are ours; run the same command again", err=True)
        raise typer.Exit(3)


def _as_json(results: Results, agreements: list[AnnotatorAgreement], mistakes: bool, ranking: str) -> dict[str, object]:
    from evaluator.records import RATES

    figures = [
        {**each.model_dump(mode="json"), **{name: getattr(each, name) for name in RATES}} for each in results.figures
    ]
    found: dict[str, object] = {"figures": figures, "agreements": [each.model_dump(mode="json") for each in agreements]}
    found["hardest"] = [
        {**each.mistake.model_dump(mode="json"), "others_wrong": each.others} for each in results.hardest(ranking)
    ]
    if mistakes:
        found["mistakes"] = [each.model_dump(mode="json") for each in results.mistakes]
    return found


def _print(results: Results, agreements: list[AnnotatorAgreement], mistakes: bool, ranking: str) -> None:
    out = console()
    if results.figures:
        out.print(_figures_table(results.figures))
    if agreements:
        out.print(_agreements_table(agreements))
    if left := results.hardest(ranking):
        typer.echo(f"hardest for {ranking}, and how many other judges are wrong there:")
        for hard in left:
            typer.echo(f"  {hard.others}  {_mistake(hard.mistake)}")
    for each in results.mistakes if mistakes else ():
        typer.echo(f"{each.judge}: {_mistake(each)}")
        typer.echo(f"    {each.command!r}")


def _mistake(each: Mistake) -> str:
    label = "equivalent" if each.equivalent else "wrong"
    return f"{each.suite} {each.task}: {label}, but {each.finding.outcome.value}: {each.finding.reason}"


def _table(columns: dict[str, Any]) -> Table:
    from rich.table import Table

    table = Table(box=None, pad_edge=False)
    for name, justify in columns.items():
        table.add_column(name, justify=justify, no_wrap=True)
    return table


def _rate(value: float | None) -> str:
    return "–" if value is None else f"{value:.3f}"


def _figures_table(figures: list[JudgeFigures]) -> Table:
    left = dict.fromkeys(("suite", "pairs", "tasks", "judge"), "left")
    right = ("equivalent", "wrong", "precision", "recall", "F1", "accuracy", "of decided")
    counts = ("false passes", "false fails", "undecided", "seconds", "US$")
    table = _table(left | dict.fromkeys((*right, *counts), "right"))
    for each in figures:
        rates = (each.precision, each.recall, each.f1, each.accuracy, each.accuracy_decided)
        table.add_row(
            each.suite,
            each.kind.value,
            each.part.value,
            each.judge,
            str(each.equivalent),
            str(each.wrong),
            *map(_rate, rates),
            str(each.wrong_passed),
            str(each.equivalent_failed),
            str(each.undecided),
            f"{each.seconds:.2f}",
            f"{each.usd:.4f}",
        )
    return table


def _agreements_table(agreements: list[AnnotatorAgreement]) -> Table:
    table = _table(
        {"rows": "left", "measure": "left", "number": "right", "raw": "right", "kappa": "right", "AUC": "right"}
    )
    for each in agreements:
        table.add_row(each.rows_of, each.measure, str(each.rows), _rate(each.raw), _rate(each.kappa), _rate(each.auc))
    return table


@example("bashboard judges intercode ~/src/intercode", "bashboard judges intercode ~/src/intercode --json")
def intercode(
    clone: Annotated[Path, typer.Argument(help="A clone of InterCode's repository.")],
    workers: Workers = None,
    as_json: AsJson = False,
) -> None:
    """Compare InterCode's published single-turn results with our computation of them.

    Executes the first actions of the seven systems in the results. Prints the share of answers with a reward of 1, in
    percent: as published, by the judge intercode, and by the same judge if commands and references run without the
    quotes that the publisher's environment loses. Beside it is the share that the project's judge passes. Below the
    table is each answer whose published reward leads to another decision than the judge's, with the cause.

    Import the suite intercode first, with `suite add`.
    """
    from evaluator.pipeline.maintenance.published_rewards import compare_rewards

    project = current_project()
    with shown_progress() as progress:
        comparison = compare_rewards(project, clone, progress, workers=workers)
    if as_json:
        print_json(asdict(comparison))
        return
    console().print(_rewards_table(comparison, project.settings.judge))
    typer.echo(f"answers with another decision: {len(comparison.differences)}")
    for cause, count in Counter(each.cause for each in comparison.differences).most_common():
        typer.echo(f"  {count:3}  {printable(cause)}")
    for each in comparison.differences:
        typer.echo(f"{each.system} {each.task}: stored {each.stored:.2f}, computed {each.computed}")
        typer.echo(f"    {printable(each.command)}")
        typer.echo(f"    {printable(each.cause)}")


def _rewards_table(comparison: RewardComparison, judge: str) -> Table:
    right = ("answers", "published", "intercode", "without quotes", "difference", judge, "with undecided")
    table = _table({"system": "left"} | dict.fromkeys(right, "right"))
    for each in comparison.systems:
        counts = (each.published, each.computed, each.without_quotes, each.judged, each.judged + each.undecided)
        published, computed, without_quotes, *judged = (100 * count / each.answers for count in counts)
        shares = (published, computed, without_quotes, without_quotes - published, *judged)
        table.add_row(each.system, str(each.answers), *(f"{share:.1f}" for share in shares))
    return table


for title, command in (("list", list_judges), ("validate", validate), ("intercode", intercode)):
    judges.command(title, epilog=command.__dict__.get("epilog"))(command)

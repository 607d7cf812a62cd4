"""Commands that list the judges, and measure them on pairs of commands with a known correct verdict."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from evaluator.cli.app import AsJson, Group, Workers, current_project, example, print_json, shown
from evaluator.cli.board import MaxCalls, MaxUsd, SuiteNames, UsePanel
from evaluator.cli.progress import shown_progress

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
    "bashboard judges validate --set real-answers",
    "bashboard judges validate --mutants --panel --max-usd 5",
    "bashboard judges validate --pairs labels.jsonl --json",
    "bashboard judges validate --human people.csv --references all.nl all.cm",
)
def validate(
    suite: SuiteNames = None,
    judge: JudgeNames = None,
    kinds: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            help="Only this set: real-answers, table-4, near-misses, mutants or labelled. May be repeated.",
        ),
    ] = None,
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

    The sets of a suite are labelled answers of real systems, the pairs of the paper's Table 4 (references against each
    other, and against the command of the task ten places later), its near misses, mutants labelled by hand and, with
    --mutants, all mutants. In accuracy, undecided counts as fail. Real answers are split in two halves of the tasks:
    rules may be written from one of them, and mistakes on the other one are not shown. Below the results are the ten
    pairs that are hardest for the judge that ranks.
    """
    from evaluator.cli.judges_tables import print_results, results_json
    from evaluator.errors import UsageError
    from evaluator.pipeline.grading.llm_panel import PanelUse
    from evaluator.pipeline.maintenance.annotator_agreement import compare_with_people
    from evaluator.pipeline.maintenance.judge_metrics_file import save_metrics
    from evaluator.pipeline.maintenance.judge_validation import Results, validate_judges
    from evaluator.pipeline.maintenance.pair_sources import PairSelection, read_labelled, selected_pairs

    if (human is None) != (references is None):
        raise UsageError("--human and --references belong together: give both, or neither")
    project = current_project()
    results, agreements = Results(), []
    with shown_progress() as progress:
        if human is not None and references is not None:
            agreements = compare_with_people(human, references, progress, judge or ())
        else:
            wanted = PairSelection(suite or (), kinds or (), mutants)
            sets = read_labelled(project, pairs) if pairs else selected_pairs(project, wanted, progress)
            use = PanelUse(os.environ, use_panel, max_calls, max_usd)
            results = validate_judges(project, sets, progress, judges=judge or (), panel_use=use, workers=workers)
        validation = results.validation(agreements)
        path = save_metrics(project, validation, publish=publish)
    ranking = project.settings.judge if not judge or project.settings.judge in judge else judge[0]
    if as_json:
        print_json(results_json(results, agreements, mistakes, ranking))
    else:
        print_results(results, agreements, mistakes, ranking)
        typer.echo(f"kept in {shown(path)}", err=True)
    if results.infra_errors:
        typer.echo("bashboard: some pairs have infra-errors, which are ours; run the same command again", err=True)
        raise typer.Exit(3)


for title, command in (("list", list_judges), ("validate", validate)):
    judges.command(title, epilog=command.__dict__.get("epilog"))(command)

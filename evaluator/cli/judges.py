"""Commands that list the judges, and measure them on pairs of commands with a known correct verdict."""

from __future__ import annotations

import os
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from evaluator.cli.app import (
    AsJson,
    Group,
    Slugs,
    SuiteNames,
    Workers,
    add_commands,
    current_project,
    example,
    print_json,
    shown,
)
from evaluator.cli.attack import attack
from evaluator.cli.board import MaxCalls, MaxUsd, UsePanel
from evaluator.cli.completion import complete_judges
from evaluator.cli.progress import shown_progress

judges = typer.Typer(
    cls=Group, help="List judges and measure how good they are.", no_args_is_help=True, rich_markup_mode=None
)

Prompts = Annotated[
    list[Path] | None,
    typer.Option(
        "--prompts",
        metavar="CLONE",
        help="Ask with the paper's own prompts, from a clone of NL2SH (for llm) or InterCode-ALFA (for exec-llm). "
        "May be repeated.",
    ),
]
PairSets = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        help="Only this set: blind, real-answers, table-4, near-misses, mutants or labelled. May be repeated.",
    ),
]
Halves = Annotated[
    list[str] | None,
    typer.Option("--half", metavar="HALF", help="A half of the blind set: dev (the default) or held. May be repeated."),
]
JudgeNames = Annotated[
    list[str] | None,
    typer.Option("--judge", metavar="JUDGE", autocompletion=complete_judges, help="Only this judge. May be repeated."),
]


@example("bashboard judges list", "bashboard judges list --json")
def list_judges(as_json: AsJson = False) -> None:
    """List the judges and what they compare."""
    from evaluator.pipeline.maintenance.judge_validation import describe_judges

    rows = describe_judges()
    if as_json:
        print_json([each._asdict() for each in rows])
    for row in [] if as_json else rows:
        typer.echo(f"{row.name:12} {row.version:2}  {row.looks_at:8} {row.description}")


@example(
    "bashboard judges validate",
    "bashboard judges validate --suite nl2sh-alfa --judge consensus --mistakes",
    "bashboard judges validate --set blind --judge consensus --mistakes",
    "bashboard judges validate --set real-answers --no-held-back --mistakes",
    "bashboard judges validate --mutants --panel --max-usd 5",
    "bashboard judges validate --pairs labels.jsonl --json",
    "bashboard judges validate --judge llm --prompts ../NL2SH",
    "bashboard judges validate --human people.csv --references all.nl all.cm",
)
def validate(
    suite: SuiteNames = None,
    judge: JudgeNames = None,
    kinds: PairSets = None,
    half: Halves = None,
    pairs: Annotated[
        Path | None,
        typer.Option("--pairs", help='Use these pairs: lines of {"suite", "task", "command", "label"}.'),
    ] = None,
    human: Annotated[
        Path | None, typer.Option("--human", help="Compare text judges with human labels, in the columns of NL2Bash.")
    ] = None,
    references: Annotated[
        tuple[Path, Path] | None,
        typer.Option("--references", help="For --human: the descriptions and their commands.", metavar="FILE FILE"),
    ] = None,
    prompts: Prompts = None,
    mutants: Annotated[bool, typer.Option("--mutants", help="Include the mutants of every reference.")] = False,
    mistakes: Annotated[bool, typer.Option("--mistakes", help="Also print each pair that was judged wrong.")] = False,
    no_held_back: Annotated[
        bool, typer.Option("--no-held-back", help="Leave out real answers to held-back tasks, while you write rules.")
    ] = False,
    publish: Annotated[
        bool, typer.Option("--publish", help="Write the results to the file that the site reads.")
    ] = False,
    use_panel: UsePanel = None,
    max_calls: MaxCalls = None,
    max_usd: MaxUsd = None,
    workers: Workers = None,
    as_json: AsJson = False,
) -> None:
    """Measure judges on pairs with known labels.

    Measures every available judge, and stores the results. The sets of a suite are its blind set (answers by writers
    who had not seen the worlds), labelled answers of real systems, the pairs of the paper's Table 4 (references against
    each other, and against the command of the task ten places later), its near misses, mutants labelled by hand and,
    with --mutants, all mutants. In accuracy, undecided counts as fail. The blind set and the real answers are split in
    two halves of the tasks: rules and worlds may be written from one of them, and mistakes on the other one are not
    shown. The held half of the blind set is executed only with --half held. Below the results are the ten pairs that
    are hardest for the judge that ranks.
    """
    from evaluator.cli.judges_tables import print_results, results_json
    from evaluator.errors import UsageError
    from evaluator.pipeline.grading.llm_panel import PanelUse
    from evaluator.pipeline.maintenance.annotator_agreement import compare_with_people
    from evaluator.pipeline.maintenance.judge_metrics_file import save_metrics
    from evaluator.pipeline.maintenance.judge_validation import Results, validate_judges
    from evaluator.pipeline.maintenance.pair_sources import HALVES, PairSelection, read_labelled, selected_pairs
    from evaluator.records import Part

    if (human is None) != (references is None):
        raise UsageError("--human and --references belong together: give both, or neither")
    if unknown := [name for name in half or () if name not in HALVES]:
        raise UsageError(f"--half {unknown[0]!r}: expected {' or '.join(HALVES)}")
    halves = [HALVES[name] for name in half or ("dev",)]
    if no_held_back and Part.HELD_BACK in halves:
        raise UsageError("--no-held-back leaves out held-back tasks: omit it, or omit --half held")
    if publish and no_held_back:
        raise UsageError("--publish needs the results on held-back tasks: omit --no-held-back")
    project = current_project()
    results, agreements = Results(), []
    with shown_progress() as progress:
        if human is not None and references is not None:
            agreements = compare_with_people(human, references, progress, judge or ())
        else:
            wanted = PairSelection(suite or (), kinds or (), mutants, not no_held_back, halves)
            sets = read_labelled(project, pairs) if pairs else selected_pairs(project, wanted, progress)
            use = PanelUse(os.environ, use_panel, max_calls, max_usd, local=True, prompts=prompts or ())
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


@example(
    "bashboard judges audit --sample 50 --max-usd 1",
    "bashboard judges audit my-system --sample 20 --suite core --json",
    "bashboard judges audit --published --max-usd 1 --publish",
)
def audit(
    submissions: Slugs = None,
    sample: Annotated[int, typer.Option("--sample", min=1, help="Number of verdicts to draw from each suite.")] = 20,
    suite: SuiteNames = None,
    seed: Annotated[
        str | None,
        typer.Option("--seed", metavar="TEXT", help="A text that selects the sample. The default is today's date."),
    ] = None,
    published: Annotated[
        bool, typer.Option("--published", help="Audit published verdicts, with the evidence of `bashboard fetch`.")
    ] = False,
    publish: Annotated[
        bool, typer.Option("--publish", help="Add the result to the record that the site shows.")
    ] = False,
    max_calls: MaxCalls = None,
    max_usd: MaxUsd = None,
    as_json: AsJson = False,
) -> None:
    """Ask the panel to audit verdicts.

    Asks it about verdicts that execution alone decided, and lists its disagreements. The sample has about as many
    passes as fails. The panel does not see the verdict, and an audit changes no verdict. Executes nothing. Needs a
    panel and BASHBOARD_PANEL_KEY. Replies that are in the cache are not requested again.
    """
    from evaluator.cli.judges_tables import print_audits
    from evaluator.errors import InfraError, UsageError
    from evaluator.pipeline.grading.audit import AuditPlan
    from evaluator.pipeline.grading.audit_log import add_audits, audits_path
    from evaluator.pipeline.grading.llm_panel import PanelUse
    from evaluator.pipeline.maintenance.audit_verdicts import audit_verdicts

    if published and (submissions or suite):
        raise UsageError("--published audits all published verdicts: omit it, or omit the submissions and suites")
    project, plan = current_project(), AuditPlan.of_today(sample, seed)
    use = PanelUse(os.environ, max_calls=max_calls, max_usd=max_usd)
    with shown_progress() as progress:
        report = audit_verdicts(
            project, progress, use, plan, published=published, suites=suite or (), slugs=submissions or ()
        )
    path = audits_path(project, publish=publish)
    add_audits(path, [result.audit for result in report.results])
    print_json(report.as_json()) if as_json else print_audits(report.results)
    typer.echo(f"{report.panel}\nkept in {shown(path)}", err=True)
    if report.failed:
        raise InfraError("the panel stopped before the end of the audit; run the same command again")


@example("bashboard judges intercode ~/src/intercode", "bashboard judges intercode ~/src/intercode --json")
def intercode(
    clone: Annotated[Path, typer.Argument(metavar="CLONE", help="A clone of InterCode's repository.")],
    workers: Workers = None,
    as_json: AsJson = False,
) -> None:
    """Compare InterCode's published results.

    Compares the single-turn results with our computation of them. Executes the first actions of the seven systems in
    the results. Prints the share of answers with a reward of 1, in percent: as published, by the judge intercode, and
    by the same judge if commands and references run without the quotes that the publisher's environment loses. Beside
    it is the share that the project's judge passes. Below the table is each answer whose published reward leads to
    another decision than the judge's, with the cause.

    Import the suite intercode first, with `suite add`.
    """
    from evaluator.cli.judges_tables import print_rewards
    from evaluator.pipeline.maintenance.published_rewards import compare_rewards

    project = current_project()
    with shown_progress() as progress:
        comparison = compare_rewards(project, clone, progress, workers=workers)
    if as_json:
        print_json(asdict(comparison))
    else:
        print_rewards(comparison, project.settings.judge)


add_commands(judges, list_judges, validate, audit, intercode)
judges.add_typer(attack, name="attack")

"""Commands that list, show and verify suites."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from evaluator.cli.app import (
    PROBLEMS_FOUND,
    AsJson,
    Group,
    SuiteArgument,
    TaskNames,
    Workers,
    add_commands,
    console,
    current_project,
    example,
    print_json,
    print_records,
)
from evaluator.cli.completion import complete_tasks
from evaluator.cli.progress import shown_progress
from evaluator.cli.suite_corrections import corrections
from evaluator.cli.suite_editions import Seed, SeedFile, edition, freeze
from evaluator.cli.suite_import import add, audit, index
from evaluator.cli.suite_mutation import equivalent, mutate
from evaluator.cli.suite_references import doubts, retire
from evaluator.escaping import printable

if TYPE_CHECKING:
    from evaluator.pipeline.project import Project
    from evaluator.suites.load import Suite

suites = typer.Typer(
    cls=Group,
    help="List, show, verify and correct suites.",
    no_args_is_help=True,
    rich_markup_mode=None,
)


@example("bashboard suite list", "bashboard suite list --json")
def list_suites(as_json: AsJson = False) -> None:
    """List the suites of this checkout.

    Each has its version and size. An external suite that is not on this machine is listed as not fetched.
    """
    from evaluator.pipeline.submissions.listed_suites import list_suites_of

    rows = list_suites_of(current_project())
    if as_json:
        print_json([asdict(row) for row in rows])
    for row in [] if as_json else rows:
        publisher = ", another publisher's" if row.foreign else ""
        size = f"{row.tasks} tasks in {row.worlds} worlds" if row.fetched else f"{row.tasks} tasks, not fetched"
        typer.echo(f"{row.name} {row.version}: {size} - {row.title}{publisher}")


@example("bashboard suite show core", "bashboard suite show core files-003", "bashboard suite show core --json")
def show(
    name: SuiteArgument,
    task: Annotated[
        str | None,
        typer.Argument(metavar="TASK", autocompletion=complete_tasks, help="Show only this task, with all details."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Show a suite's tasks, or one task.

    A single task is shown with its references and near misses.
    """
    suite = current_project().suite(name)
    chosen = [suite.task(task)] if task else list(suite.tasks)
    if as_json:
        print_records(chosen)
    elif task:
        from evaluator.cli.evidence_view import task_text

        console().print(task_text(suite, chosen[0]))
    else:
        for each in chosen:
            typer.echo(f"{each.id:18} {each.world:10} {each.output.value:6} {each.nl}")


@example(
    "bashboard suite verify core",
    "bashboard suite verify core --task files-003",
    "bashboard suite verify core --task files-201 --fresh 5",
    "bashboard suite verify nl2sh-alfa --braces",
)
def verify(
    name: SuiteArgument,
    task: TaskNames = None,
    braces: Annotated[
        bool, typer.Option("--braces", help="Only judge each reference in braces, which changes nothing that it does.")
    ] = False,
    fresh: Annotated[
        int,
        typer.Option("--fresh", min=0, max=20, help="Also use this number of variants with other seeds."),
    ] = 0,
    seed: Seed = None,
    seed_file: SeedFile = None,
    workers: Workers = None,
    as_json: AsJson = False,
) -> None:
    """Verify a suite by executing its commands.

    References must agree and take at most half of the CPU limit, near misses must fail, doing nothing must fail,
    and no output may vary from run to run. For a foreign suite, this is an audit and not a gate: problems are reported
    by class, and the exit code is 0. There, the verifiers of tasks with a driver must also refuse another task's
    reference, and a reference with a stray file. With a seed, the edition of the suite is verified.
    """
    from evaluator.pipeline.maintenance.verify_suite import verify_suite

    project = current_project()
    suite = project.suite(name)
    if seed is not None or seed_file is not None:
        from evaluator.pipeline.maintenance.editions import edition_of, read_seed

        suite = edition_of(project, name, read_seed(seed, seed_file)).suite
    if braces:
        _verify_in_braces(project, suite, task or (), workers=workers, as_json=as_json)
        return
    if suite.manifest.foreign:
        audit(project, suite, task or (), workers=workers, as_json=as_json)
        return
    with shown_progress() as progress:
        found = verify_suite(project, suite, progress, tasks=task or (), workers=workers, fresh=fresh)
    if as_json:
        print_records(found)
    for each in [] if as_json else found:
        place = " ".join(part for part in (each.variant, each.place) if part)
        typer.echo(f"{each.task}: {each.role}{f' [{place}]' if place else ''}: {each.reason}")
        if each.command:
            typer.echo(f"    {each.command!r}")
    if found:
        tasks = len({each.task for each in found})
        typer.echo(f"{len(found)} things do not hold in {tasks} of {len(suite.tasks)} tasks", err=True)
        raise typer.Exit(PROBLEMS_FOUND)
    if not as_json:
        typer.echo(f"{len(task or suite.tasks)} tasks hold")


def _verify_in_braces(
    project: Project, suite: Suite, tasks: Sequence[str], *, workers: int | None, as_json: bool
) -> None:
    """Judge the references in braces. A verdict other than a pass is a finding of this project, not of the suite."""
    from evaluator.pipeline.maintenance.braced_references import braced_lines, judge_braced_references

    with shown_progress() as progress:
        verdicts = judge_braced_references(project, suite, progress, tasks=tasks, workers=workers)
    if as_json:
        print_records(verdicts)
    for line in [] if as_json else braced_lines(verdicts):
        typer.echo(printable(line))
    if any(verdict.outcome.value != "pass" for verdict in verdicts):
        raise typer.Exit(PROBLEMS_FOUND)


add_commands(suites, list_suites, show, verify, add, index, mutate)
add_commands(suites, equivalent, doubts, retire, corrections, edition, freeze)

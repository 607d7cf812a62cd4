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
    shown,
    warn,
)
from evaluator.cli.completion import complete_tasks
from evaluator.cli.progress import shown_progress
from evaluator.cli.suite_corrections import corrections
from evaluator.cli.suite_editions import Seed, SeedFile, edition, freeze
from evaluator.cli.suite_import import add, audit, index
from evaluator.cli.suite_mutation import equivalent, mutate
from evaluator.cli.suite_references import doubts, retire
from evaluator.escaping import printable
from evaluator.wording import pluralize

if TYPE_CHECKING:
    from evaluator.pipeline.maintenance.write_verification import WrittenVerification
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


@example("bashboard suite show core", "bashboard suite show files-003", "bashboard suite show core --json")
def show(
    name: SuiteArgument,
    task: Annotated[
        str | None,
        typer.Argument(metavar="TASK", autocompletion=complete_tasks, help="Show only this task, with all details."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Show a suite's tasks, or one task.

    A single task is shown with its references and near misses. It may also be given without its suite.
    """
    suite, task = _suite_and_task(current_project(), name, task)
    chosen = [suite.task(task)] if task else list(suite.tasks)
    if as_json:
        print_records(chosen)
    elif task:
        from evaluator.cli.evidence_view import task_text

        console().print(task_text(suite, chosen[0]))
    else:
        for each in chosen:
            typer.echo(f"{each.id:18} {each.world:10} {each.output.value:6} {each.nl}")


def _suite_and_task(project: Project, name: str, task: str | None) -> tuple[Suite, str | None]:
    """Return a suite, and the task of it that was asked for. A name that is no suite's may be a task's."""
    if task is None and name not in project.answerable_suites():
        for suite in project.suites():
            if any(each.id == name for each in suite.tasks):
                return suite, name
    return project.suite(name), task


@example(
    "bashboard suite verify core",
    "bashboard suite verify core --task files-003",
    "bashboard suite verify core --task files-201 --fresh 5 --write",
    "bashboard suite verify core --due --every 20",
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
    write: Annotated[
        bool,
        typer.Option("--write", help="Write verified.jsonl, and the measured wall_s of tasks and order of variants."),
    ] = False,
    due: Annotated[bool, typer.Option("--due", help="Only tasks without a current record in verified.jsonl.")] = False,
    every: Annotated[
        int | None, typer.Option("--every", min=1, metavar="N", help="With --due: also every N-th other task.")
    ] = None,
    since: Annotated[
        str | None,
        typer.Option("--since", metavar="COMMIT", help="With --due: also tasks whose record this commit lacks."),
    ] = None,
    workers: Workers = None,
    as_json: AsJson = False,
) -> None:
    """Verify a suite by executing its commands.

    References must agree and take at most half of the CPU limit, near misses must fail, doing nothing must fail,
    and no output may vary from run to run. For a foreign suite, this is an audit and not a gate: problems are reported
    by class, and the exit code is 0. There, the verifiers of tasks with a driver must also refuse another task's
    reference, and a reference with a stray file. With a seed, the edition of the suite is verified.

    A record says that a task holds, and on what this depends: the task, its world, the base, the judge and the runner.
    """
    project = current_project()
    suite = project.suite(name)
    if write or due or every or since:
        is_other = braces or bool(seed or seed_file) or suite.manifest.foreign
        _check_options(write=write, due=due, selects=bool(every or since), has_tasks=bool(task), is_other=is_other)
    if seed is not None or seed_file is not None:
        from evaluator.pipeline.maintenance.editions import edition_of, read_seed

        suite = edition_of(project, name, read_seed(seed, seed_file)).suite
    if braces:
        _verify_in_braces(project, suite, task or (), workers=workers, as_json=as_json)
    elif suite.manifest.foreign:
        audit(project, suite, task or (), workers=workers, as_json=as_json)
    else:
        tasks = _due_tasks(project, suite, every, since) if due else task or [each.id for each in suite.tasks]
        _verify_expectations(project, suite, tasks, workers=workers, fresh=fresh, write=write, as_json=as_json)


def _check_options(*, write: bool, due: bool, selects: bool, has_tasks: bool, is_other: bool) -> None:
    """Raise UsageError for options that contradict each other. `is_other` says that no records are kept of this."""
    from evaluator.errors import UsageError

    if (write or due) and is_other:
        raise UsageError("--write and --due: expected a suite of this project, without --braces or a seed")
    if selects and not due:
        raise UsageError("--every and --since: expected --due too")
    if due and has_tasks:
        raise UsageError("--due selects the tasks: expected --due or --task")


def _verify_expectations(
    project: Project, suite: Suite, tasks: Sequence[str], *, workers: int | None, fresh: int, write: bool, as_json: bool
) -> None:
    """Verify these tasks of a suite, and print what does not hold. With `write`, write what was measured."""
    from evaluator.pipeline.maintenance.verify_suite import verify_suite
    from evaluator.pipeline.maintenance.write_verification import check_writable, write_verification

    if write:
        check_writable(project, suite)
    with shown_progress() as progress:
        # no task means all tasks there
        found = verify_suite(project, suite, progress, tasks=tasks, workers=workers, fresh=fresh) if tasks else []
        written = write_verification(project, suite, progress, tasks, found, workers=workers) if write else None
    if as_json:
        print_records(found)
    for each in [] if as_json else found:
        place = " ".join(part for part in (each.variant, each.place) if part)
        typer.echo(f"{each.task}: {each.role}{f' [{place}]' if place else ''}: {each.reason}")
        if each.command:
            typer.echo(f"    {each.command!r}")
    if written:
        _tell_written(written, err=as_json)
    if found:
        count = len({each.task for each in found})
        typer.echo(f"{len(found)} things do not hold in {count} of {len(suite.tasks)} tasks", err=True)
        raise typer.Exit(PROBLEMS_FOUND)
    if not as_json:
        typer.echo(f"{len(tasks)} tasks hold")


def _due_tasks(project: Project, suite: Suite, every: int | None, since: str | None) -> list[str]:
    """Return the ids of the tasks to verify again, and print on standard error why they are verified."""
    from evaluator.pipeline.maintenance.verified_tasks import select_due

    selection = select_due(project, suite, every=every, since=since)
    for problem in selection.problems:
        warn(printable(str(problem._replace(path=shown(problem.path)))))
    reasons: dict[str, list[str]] = {}
    for name, reason in selection.due.items():
        reasons.setdefault(reason, []).append(name)
    for reason, names in reasons.items():
        more = f", … {len(names) - 3} more" if len(names) > 3 else ""
        typer.echo(f"due because {printable(reason)}: {', '.join(names[:3])}{more}", err=True)
    count = f"{len(selection.due)} of {len(suite.tasks)} tasks are due"
    others = f"; {len(selection.sampled)} others are verified with them" if selection.sampled else ""
    typer.echo(f"{count}{others}", err=True)
    return [*selection.due, *selection.sampled]


def _tell_written(written: WrittenVerification, *, err: bool) -> None:
    for change in written.changes:
        typer.echo(f"{shown(change.path)}: {change.subject}: {change.message}", err=err)
    if any(change.path.name == "world.toml" for change in written.changes):
        typer.echo("a new order of variants is a patch version of the suite: raise it in suite.toml", err=err)
    typer.echo(f"{shown(written.path)}: {pluralize(written.records, 'record')}", err=err)


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

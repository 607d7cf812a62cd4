"""`bashboard study`: measure the times that people need for a suite's tasks, and compare them with estimated times."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from evaluator.cli.app import (
    AsJson,
    Group,
    SuiteName,
    TaskNames,
    add_commands,
    console,
    current_project,
    example,
    print_json,
    shown,
)
from evaluator.cli.progress import shown_progress

if TYPE_CHECKING:
    from rich.table import Table

    from evaluator.study.fit import Fit, Line

study = typer.Typer(cls=Group, rich_markup_mode=None)

LOOPBACK = ("127.0.0.1", "localhost")


@example(
    "bashboard study --out measurements.jsonl",
    "bashboard study --tasks 10 --seed 7",
    "bashboard study --task files-003 --task text-002 --port 0",
)
def serve(
    context: typer.Context,
    suite: SuiteName = "core",
    out: Annotated[Path, typer.Option("--out", help="The file to which measurements are appended.")] = Path(
        "measurements.jsonl"
    ),
    task: TaskNames = None,
    tasks: Annotated[
        int, typer.Option("--tasks", min=1, help="Number of tasks for each participant, plus one warm-up task.")
    ] = 20,
    seed: Annotated[int, typer.Option("--seed", help="Seed for shuffling the order of tasks.")] = 0,
    host: Annotated[
        str, typer.Option("--host", metavar="ADDRESS", help="The address of this machine to listen on.")
    ] = LOOPBACK[0],
    port: Annotated[int, typer.Option("--port", min=0, max=65535, help="The port. 0 selects a free one.")] = 8765,
) -> None:
    """Measure how long people take for tasks.

    Serves a page that shows tasks. Serves on this machine only, unless --host names another of its addresses. The
    commands of participants are executed and judged like candidates. Writes one line of JSON for each task: a random
    number for the participant, the task, the seconds, and whether it was solved. Stores no name, address, date or
    command.
    """
    if context.invoked_subcommand is not None:
        return
    import threading

    from evaluator.pipeline.maintenance.human_study import StudyPlan, serve_study

    project = current_project()
    plan = StudyPlan(out, tuple(task or ()), tasks, seed, host, port)
    if host not in LOOPBACK:
        typer.echo(
            f"warning: other machines can reach {host}; anyone with the address below can take part and execute "
            "commands here, and the connection is not encrypted",
            err=True,
        )
    with (
        shown_progress() as progress,
        serve_study(project, project.suite(suite), plan, progress) as address,
        contextlib.suppress(KeyboardInterrupt),
    ):
        progress.say(f"measurements go to {shown(out)} (interrupt to stop)")
        typer.echo(address)
        threading.Event().wait()


@example(
    "bashboard study fit measurements.jsonl",
    "bashboard study fit monday.jsonl tuesday.jsonl --json",
    "bashboard study fit measurements.jsonl --write",
)
def fit(
    files: Annotated[list[Path], typer.Argument(help="Files that `bashboard study` wrote.")],
    suite: SuiteName = "core",
    write: Annotated[bool, typer.Option("--write", help="Write the medians and the line to the suite.")] = False,
    as_json: AsJson = False,
) -> None:
    """Fit the times of people to task sizes.

    Fits seconds = a + b * size to the medians of the solved tasks. Prints R2, and a robust fit beside it. Only the
    first measurement of a participant for a task counts. If a task has five or more measurements, outliers are left
    out: those whose logarithm is more than three scaled median absolute deviations from the median. The size of a task
    is the number of tokens of its shortest reference plus a twelfth of the number of words of its instruction. With
    --write and at least 50 measured tasks, the line replaces the estimate of the suite.
    """
    from evaluator.pipeline.maintenance.study_timings import fit_study, write_timings

    loaded = current_project().suite(suite)
    found = fit_study(loaded, files)
    written = write_timings(loaded, found) if write else []
    if as_json:
        print_json(found.model_dump(mode="json"))
    else:
        console().print(_table(found))
        for text in _summary(found):
            typer.echo(text)
    for path in written:
        typer.echo(f"wrote {shown(path)}", err=True)


def _table(found: Fit) -> Table:
    from rich.table import Table

    table = Table("task", *("size", "median s", "of", "left out", "skipped"))
    for each in found.tasks:
        table.add_row(
            each.task,
            f"{each.size:.1f}",
            f"{each.median_s:.1f}",
            str(each.measurements),
            str(each.outliers or ""),
            str(each.skipped or ""),
        )
    return table


def _summary(found: Fit) -> Iterator[str]:
    yield f"{found.n} tasks, {found.participants} participants"
    lines = {"least squares": found.least_squares, "Theil-Sen": found.theil_sen, "estimate in use": found.present}
    for name, each in lines.items():
        yield f"{name}: {_formula(each)}"
    for why, count in found.left_out.items():
        yield f"left out, {why}: {count}"


def _formula(line: Line | None) -> str:
    if line is None:
        return "at least three tasks of different sizes are needed"
    r2 = "not defined" if line.r2 is None else f"{line.r2:.3f}"
    return f"{line.a:.2f} s + {line.b:.3f} s * size, R2 {r2}"


study.callback(invoke_without_command=True, epilog=serve.__dict__["epilog"])(serve)
add_commands(study, fit)

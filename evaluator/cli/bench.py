"""`bashboard bench`: benchmarks that measure the speeds that this project's documents state."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from evaluator.cli.app import (
    PROBLEMS_FOUND,
    AsJson,
    Group,
    SuiteName,
    Workers,
    add_commands,
    console,
    current_project,
    example,
    print_json,
    warn,
)
from evaluator.cli.completion import complete_suites
from evaluator.cli.progress import shown_progress
from evaluator.escaping import printable

benches = typer.Typer(
    cls=Group,
    help="Measure speed on this machine.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

FormName = Literal["openai-chat", "openai-responses", "anthropic", "gemini", "plain"]


def _print_table(rows: list[dict[str, Any]]) -> None:
    from rich.table import Table

    table = Table(box=None, pad_edge=False)
    for name in rows[0]:
        table.add_column(name.replace("_", " "), justify="left" if isinstance(rows[0][name], str) else "right")
    for row in rows:
        table.add_row(*(str(value) for value in row.values()))
    console().print(table)


@example("bashboard bench sandbox", "bashboard bench sandbox --jobs 1000 --json")
def sandbox(
    suite: SuiteName = "core",
    jobs: Annotated[int, typer.Option("--jobs", min=10, help="Commands to run in each way.")] = 400,
    as_json: AsJson = False,
) -> None:
    """Time one command with and without sandbox.

    Times it bare, in the sandbox, by docker exec and by docker run. The sandbox collects full evidence. Prints
    milliseconds and ratios.
    """
    from evaluator.pipeline.benchmarks.score_benchmark import bench_sandbox

    with shown_progress() as progress:
        found: Any = bench_sandbox(current_project(), progress, suite=suite, jobs=jobs)
    if as_json:
        print_json(found)
        return
    _print_table(found["rows"])
    typer.echo("\nwhere a job's time goes, mean milliseconds:")
    for name, spent in found["phases_ms"].items():
        typer.echo(f"  {name:24} {spent:7.3f}")


@example("bashboard bench score", "bashboard bench score --executions 1200 --with-processes")
def score(
    suite: SuiteName = "core",
    executions: Annotated[
        int, typer.Option("--executions", min=1, help="Number of executions: commands times variants.")
    ] = 1200,
    with_processes: Annotated[
        bool, typer.Option("--with-processes", help="Include tasks that wait for processes to settle.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Time the scoring of a suite.

    The tasks are repeated with distinct commands. Three cases are timed: from nothing, with the references' evidence
    present, and with nothing changed. "in jobs" is the share of all workers' time between the start of a job and the
    end of its clean-up. "in answers" is the share between the request for a job and its answer. CPU seconds distinguish
    a busy machine from a slow program.
    """
    from evaluator.pipeline.benchmarks.score_benchmark import bench_score

    with shown_progress() as progress:
        found: Any = bench_score(
            current_project(), progress, suite=suite, executions=executions, with_processes=with_processes
        )
    if as_json:
        print_json(found)
        return
    _print_table(found["rows"])
    typer.echo("\nwhat was scored:")
    for name, count in found["load"].items():
        typer.echo(f"  {count:5} {name}")


@example("bashboard bench metrics", "bashboard bench metrics --file pairs.jsonl --runs 5 --json")
def metrics(
    suite: SuiteName = "core",
    file: Annotated[
        Path | None,
        typer.Option("--file", help="Use these pairs instead, in the format of `bashboard metrics nlc2cmd`."),
    ] = None,
    runs: Annotated[int, typer.Option("--runs", min=1, help="Number of times to measure.")] = 3,
    as_json: AsJson = False,
) -> None:
    """Time the NLC2CMD score.

    The pairs are scored in one thread. Three cases are timed: all pairs with nothing parsed before, pairs in which
    every command occurs once, and all pairs with every command parsed before. The pairs are near misses and the first
    candidates of submissions, each against every reference of its task. Parsed commands and scores are forgotten before
    each run. CPU seconds distinguish a busy machine from a slow program.
    """
    from evaluator.pipeline.benchmarks.metric_benchmark import bench_metrics

    with shown_progress() as progress:
        rows = bench_metrics(current_project, progress, suite=suite, file=file, runs=runs)
    if as_json:
        print_json(rows)
        return
    _print_table(rows)


@example("bashboard bench reading", "bashboard bench reading --runs 5 --json")
def reading(
    suite: SuiteName = "core",
    runs: Annotated[int, typer.Option("--runs", min=1, help="Number of times to run each command.")] = 3,
    as_json: AsJson = False,
) -> None:
    """Time the commands that only read.

    They are the help, standings, explain, compare, score with nothing to do, publish plan, check and judges list. Each
    runs in a new process. Prints the least CPU seconds and wall-clock seconds of all runs, and the load average. Run
    `bashboard score` before, so that nothing is left to execute.
    """
    from dataclasses import asdict

    from evaluator.pipeline.benchmarks.reading_benchmark import bench_reading

    with shown_progress() as progress:
        rows = [asdict(timing) for timing in bench_reading(current_project(), progress, suite=suite, runs=runs)]
    if as_json:
        print_json(rows)
        return
    _print_table(rows)


@example("bashboard bench standings --site", "bashboard bench standings --submissions 100 --runs 1 --json")
def standings(
    submissions: Annotated[int, typer.Option("--submissions", min=2, help="Number of systems to generate.")] = 1000,
    tasks: Annotated[int, typer.Option("--tasks", min=1, help="Number of tasks in the suite.")] = 300,
    candidates: Annotated[
        int, typer.Option("--candidates", min=1, max=5, help="Number of candidates for each task.")
    ] = 5,
    runs: Annotated[int, typer.Option("--runs", min=1, help="Number of times to compute the standings.")] = 3,
    site: Annotated[bool, typer.Option("--site", help="Also build the site of the board.")] = False,
    as_json: AsJson = False,
) -> None:
    """Time the standings of a generated board.

    The board is made from a seed. With --site, also times the site. Prints the seconds and the peak memory of each
    part. CPU seconds distinguish a busy machine from a slow program. Memory is the peak up to the end of a part.
    """
    from evaluator.pipeline.benchmarks.standings_benchmark import bench_standings

    with shown_progress() as progress:
        rows = bench_standings(
            current_project(),
            progress,
            submissions=submissions,
            tasks=tasks,
            candidates=candidates,
            runs=runs,
            site=site,
        )
    if as_json:
        print_json(rows)
        return
    _print_table(rows)


@example("bashboard bench site", "bashboard bench site --submissions 100 --browser --json")
def site(
    submissions: Annotated[
        list[int] | None,
        typer.Option("--submissions", min=2, help="Number of systems. May be repeated. Default: 26, 100, 1000."),
    ] = None,
    tasks: Annotated[int, typer.Option("--tasks", min=1, help="Number of tasks in the suite.")] = 300,
    candidates: Annotated[
        int, typer.Option("--candidates", min=1, max=5, help="Number of candidates for each task.")
    ] = 5,
    browser: Annotated[bool, typer.Option("--browser", help="Also open the pages in Chromium.")] = False,
    as_json: AsJson = False,
) -> None:
    """Time builds of the site from a seed.

    Each project is built from nothing, built again, and built with one more submission. Prints seconds, the memory of
    all processes, the load average, and the size of the site. With --browser it also prints when the pages are
    interactive, the milliseconds from a filter or a sort to the next frame, and the layout shift, on an idle CPU and
    on one of a quarter of the speed.
    """
    from evaluator.pipeline.benchmarks.site_benchmark import bench_site

    sizes = submissions or [26, 100, 1000]
    with shown_progress() as progress:
        found = bench_site(progress, sizes=sizes, tasks=tasks, candidates=candidates, browser=browser)
    if as_json:
        print_json(found)
        return
    for row in found["sizes"]:
        row["kinds_mb"] = ", ".join(f"{kind} {size}" for kind, size in row["kinds_mb"].items())
    for rows in filter(None, found.values()):
        _print_table(rows)


@example("bashboard bench inputs", "bashboard bench inputs --json")
def inputs(as_json: AsJson = False) -> None:
    """Measure the cost of the worst inputs.

    They are the worst submissions for the check and the largest evidence for the judge. Each input is read by a new
    process. A check may take 1 second of CPU and 200 MB, and a judgement 1 second of CPU. Fails if an input takes more.
    """
    from dataclasses import asdict

    from evaluator.pipeline.benchmarks.input_benchmark import bench_inputs, input_rows

    with shown_progress() as progress:
        costs = bench_inputs(current_project(), progress)
    if as_json:
        print_json([asdict(cost) for cost in costs])
    else:
        _print_table(list(input_rows(costs)))
    missed = [cost.input for cost in costs if not cost.within]
    if missed:
        warn(f"{len(missed)} of {len(costs)} inputs take too much: {', '.join(missed)}")
        raise typer.Exit(PROBLEMS_FOUND)


@example("bashboard bench generate", "bashboard bench generate --method parser --parallel 32 --json")
def generate(
    suite: SuiteName = "core",
    tasks: Annotated[int, typer.Option("--tasks", min=1, help="Number of tasks to answer.")] = 300,
    reply_ms: Annotated[
        int, typer.Option("--reply-ms", min=0, max=60_000, help="Milliseconds of the server for each reply.")
    ] = 200,
    parallel: Annotated[int, typer.Option("--parallel", min=1, max=64, help="Requests in progress.")] = 16,
    method: Annotated[
        list[str] | None, typer.Option("--method", help="A method of `bashboard generate`. May be repeated.")
    ] = None,
    runs: Annotated[int, typer.Option("--runs", min=1, help="Number of times to measure.")] = 3,
    as_json: AsJson = False,
) -> None:
    """Time `bashboard generate`.

    Its server gives each reply after a fixed time. The server is a double without a model, on this machine. The seconds
    are from the first request to the end of the process, and "with start" from its start. "least seconds" is the time
    of the replies alone. CPU seconds and the load average of the last minute distinguish a busy machine from a slow
    program.
    """
    from dataclasses import asdict

    from evaluator.pipeline.benchmarks.generation_benchmark import bench_generation

    with shown_progress() as progress:
        timings = bench_generation(
            current_project(),
            progress,
            suite=suite,
            tasks=tasks,
            reply_ms=reply_ms,
            parallel=parallel,
            methods=method or ["baseline"],
            runs=runs,
        )
    rows = [asdict(timing) for timing in timings]
    if as_json:
        print_json(rows)
        return
    _print_table(rows)


@example("bashboard bench collect", "bashboard bench collect --form gemini --lines 100000 --json")
def collect(
    suite: SuiteName = "core",
    form: Annotated[
        FormName | None, typer.Option("--form", help="The form of the replies. Default: each of them.")
    ] = None,
    lines: Annotated[
        list[int] | None,
        typer.Option("--lines", min=1, help="Number of lines. May be repeated. Default: 1000, 10000, 100000."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Time `bashboard submit collect`.

    The files have one answer to each task, and before it failed requests of the same tasks. Each file is collected by a
    new process. Prints its seconds and its peak memory, which does not grow with the number of lines. CPU seconds
    distinguish a busy machine from a slow program.
    """
    from dataclasses import asdict

    from evaluator.pipeline.benchmarks.reply_benchmark import REPLY_FORMS, bench_collect

    forms, sizes = form or [*REPLY_FORMS], lines or [1_000, 10_000, 100_000]
    with shown_progress() as progress:
        rows = [
            asdict(cost) for cost in bench_collect(current_project(), progress, suite=suite, forms=forms, sizes=sizes)
        ]
    if as_json:
        print_json(rows)
        return
    _print_table(rows)


@example(
    "bashboard bench determinism",
    "bashboard bench determinism core --load 4",
    "bashboard bench determinism core intercode --json",
)
def determinism(
    suites: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="SUITE",
            autocompletion=complete_suites,
            help="The names of the suites. The default is all suites of this checkout.",
        ),
    ] = None,
    workers: Workers = None,
    load: Annotated[int, typer.Option("--load", min=0, help="Busy processes beside the second run.")] = 0,
    as_json: AsJson = False,
) -> None:
    """Run every reference of suites twice.

    Lists the fields that differ. New containers execute the second run, in another order, and with three jobs for each
    core in flight instead of one. With --load, other processes compete for the cores meanwhile. A task that declares
    its output volatile may differ, and so may fields that no judge compares for the task. Fails if another field
    differs in more than 2 % of a suite's tasks, or in any task of core.
    """
    from dataclasses import asdict

    from evaluator.pipeline.benchmarks.determinism import MOST_PERCENT, bench_determinism

    project = current_project()
    names = suites or [suite.manifest.name for suite in project.suites()]
    with shown_progress() as progress:
        found = list(bench_determinism(project, progress, names, workers=workers, load=load))
    if as_json:
        print_json([asdict(suite) for suite in found])
    else:
        rows = [
            {
                "suite": suite.suite,
                "tasks": suite.tasks,
                "runs": suite.runs,
                "tasks_that_differ": len(suite.differing),
                "percent": suite.percent,
                "declared_volatile": len(suite.declared),
                "not_compared": len(suite.uncompared),
            }
            for suite in found
        ]
        _print_table(rows)
        for suite in found:
            for difference in suite.differences:
                place = f"{suite.suite} {difference.task} {difference.variant}"
                kind = "" if difference.compared else " (not compared)"
                kind = kind if difference.declared is None else " (declared)"
                typer.echo(f"{printable(place)}{kind}: {printable('; '.join(difference.fields[:5]))}")
                typer.echo(f"    {printable(difference.reference)}")
    missed = [suite.suite for suite in found if suite.percent > (0 if suite.suite == "core" else MOST_PERCENT)]
    if missed:
        warn(f"too many tasks differ between two runs: {', '.join(missed)}")
        raise typer.Exit(PROBLEMS_FOUND)


add_commands(benches, sandbox, score, metrics, reading, standings, site, inputs, generate, collect, determinism)

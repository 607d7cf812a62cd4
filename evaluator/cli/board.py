"""Commands that create and show boards: score, rescore, standings, build, serve."""

from __future__ import annotations

import contextlib
import os
import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from evaluator.cli.app import (
    PROBLEMS_FOUND,
    AsJson,
    Judge,
    Slugs,
    SuiteNames,
    Workers,
    console,
    current_project,
    example,
    finite,
    print_json,
    print_records,
    shown,
    warn,
)
from evaluator.cli.progress import shown_progress
from evaluator.cli.sealed import score_sealed
from evaluator.wording import pluralize

if TYPE_CHECKING:
    from evaluator.judges.panel.panel import Panel
    from evaluator.pipeline.boards.board_set import BoardSet
    from evaluator.pipeline.grading.grader import Plan

UsePanel = Annotated[
    bool | None,
    typer.Option(
        "--panel/--no-panel",
        help="Whether to ask the project's panel of models about undecided verdicts. "
        "By default it is asked if BASHBOARD_PANEL_KEY is set.",
        show_default=False,
    ),
]
MaxCalls = Annotated[int | None, typer.Option("--max-calls", min=0, help="Maximum number of requests to the panel.")]
ShardOf = Annotated[
    str | None, typer.Option("--shard", metavar="I/N", help="Only this part of the submissions, for example 2/5.")
]
MaxUsd = Annotated[
    float | None,
    typer.Option("--max-usd", min=0, callback=finite, help="Maximum cost of the panel, in US dollars."),
]

_BY_EMBEDDING: Final = ("embed", "exec-embed")
"""Judges that can compute embeddings on this machine."""

Published = Annotated[bool, typer.Option("--published", help="Use only published verdicts, not those of this machine.")]


def _show(found: BoardSet, as_json: bool, *, complete: bool = False) -> None:
    """Print the standings, and a line for everything that they lack.

    Exit with code 3 if an answer has no verdict. Otherwise, exit with code 1 if a submission is left out, or if a suite
    that was asked for has no board. If `complete` is set, every suite was asked for.
    """
    from evaluator.cli.tables import standings_table
    from evaluator.pipeline.boards.scored_boards import infra_errors_by_reason

    if as_json:
        print_records(row for board in found.boards for row in board.standings)
    else:
        out = console()
        for board in found.boards:
            out.print(standings_table(board, out.width))
    for line in found.notes():
        warn(line)
    if missing := infra_errors_by_reason(found.boards):
        warn(_missing_answers(missing, published=all(board.published for board in found.boards)))
        raise typer.Exit(3)
    if found.lacks_asked or found.left_out or (complete and found.unavailable):
        raise typer.Exit(PROBLEMS_FOUND)


def _missing_answers(missing: Counter[str], *, published: bool) -> str:
    """Return the number of answers without a verdict, and the most common reason."""
    from evaluator.pipeline.boards.gather import NO_EVIDENCE

    if published:
        lacking = "1 answer has" if missing.total() == 1 else f"{missing.total()} answers have"
        return f"{lacking} no published verdict yet"
    if unexecuted := missing.pop(NO_EVIDENCE, 0):
        told = f"{pluralize(unexecuted, 'answer')} without evidence on this machine; produce it with: bashboard score"
        return f"{told} ({missing.total()} more are infra-errors)" if missing else told
    (reason, _), *others = missing.most_common()
    why = f"{' '.join(reason.split())}{f' (and {len(others)} other reasons)' if others else ''}"
    return f"{missing.total()} results are infra-errors, which are ours: {why}; run the same command again"


@example(
    "bashboard score",
    "bashboard score rules --suite core",
    "bashboard score --panel --max-usd 2",
    "bashboard score --json | jq '.[].accuracy'",
    "bashboard score --edition autumn --seed-file ~/autumn.seed",
)
def score(
    submissions: Slugs = None,
    suite: SuiteNames = None,
    judge: Judge = None,
    workers: Workers = None,
    use_panel: UsePanel = None,
    max_calls: MaxCalls = None,
    max_usd: MaxUsd = None,
    edition: Annotated[
        str | None,
        typer.Option(
            "--edition", metavar="EDITION", help="Score the answers to this sealed edition, and keep only counts."
        ),
    ] = None,
    seed_file: Annotated[
        Path | None, typer.Option("--seed-file", metavar="FILE", help="The file with the edition's seed.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Score submissions and print the standings.

    Executes only commands without evidence, and judges only those without a verdict. With slugs, it prints only their
    rows, with the ranks that they have on the whole board, or without ranks if another submission lacks verdicts here.

    With --edition, it compares the answers to a sealed edition with those to the public suite. Nothing of the edition
    stays on this machine. The only file written is fixtures/editions/<suite>@<edition>.figures.json, with counts.
    """
    if edition is not None or seed_file is not None:
        score_sealed(
            edition,
            seed_file,
            suites=suite or (),
            submissions=submissions or (),
            judge=judge,
            workers=workers,
            panel=use_panel,
            as_json=as_json,
        )
        return
    from evaluator.pipeline.boards.gather import gather_boards
    from evaluator.pipeline.boards.rank_among_all import rank_among_all
    from evaluator.pipeline.grading.llm_panel import PanelUse, open_panel

    project = current_project()
    use = PanelUse(os.environ, use_panel, max_calls, max_usd, local=judge in _BY_EMBEDDING)
    with shown_progress() as progress, open_panel(project, progress, use, judge) as panel:
        found = gather_boards(
            project,
            progress,
            suites=suite or (),
            submissions=submissions or (),
            judge=judge,
            workers=workers,
            panel=panel,
            say=warn,
        )
    if submissions:
        found = rank_among_all(project, found, judge, warn)
    _tell(panel, found, as_json, complete=not (suite or submissions))


def _tell(panel: Panel | None, found: BoardSet, as_json: bool, *, complete: bool) -> None:
    """Print a summary of the LLM panel's replies and the standings. Exit with code 3 if the panel failed."""
    from evaluator.pipeline.grading.llm_panel import panel_summary

    if line := panel_summary(panel):
        warn(line)
    _show(found, as_json, complete=complete)
    if panel and panel.failed:
        raise typer.Exit(3)


def _explain_plan(name: str, plan: Plan) -> None:
    reasons = Counter(each.why for each in plan.stale)
    typer.echo(f"{name}: stale verdicts: {len(plan.stale)}; executions without evidence: {plan.executions}")
    for why, count in sorted(reasons.items()):
        typer.echo(f"  {count:5} {why}")
    if plan.panel:
        cost = "at an unknown price" if plan.panel.usd is None else f"about US$ {plan.panel.usd:.4f}"
        typer.echo(f"  the panel: {plan.panel.undecided} undecided; at most {plan.panel.calls} calls, {cost}")


@example(
    "bashboard rescore --plan",
    "bashboard rescore --judge exact",
    "bashboard rescore --judge exec-llm --max-calls 500",
    "bashboard rescore --suite core",
    "bashboard rescore --shard 2/5",
)
def rescore(
    submissions: Slugs = None,
    suite: SuiteNames = None,
    judge: Judge = None,
    workers: Workers = None,
    plan: Annotated[
        bool,
        typer.Option("--plan", help="Print only which verdicts are stale, why, and what the panel would be asked."),
    ] = False,
    use_panel: UsePanel = None,
    max_calls: MaxCalls = None,
    max_usd: MaxUsd = None,
    shard: ShardOf = None,
    as_json: AsJson = False,
) -> None:
    """Print and update stale verdicts.

    Prints why they are stale. At the end it prints the standings. With --shard only the i-th of n parts of the
    submissions is rescored, so that each of n machines can do one part. `bashboard evidence make` with the same --shard
    writes evidence that the other machines can import.
    """
    from evaluator.pipeline.boards.gather import gather_boards, plan_boards
    from evaluator.pipeline.evidence.produce import share_of
    from evaluator.pipeline.grading.llm_panel import PanelUse, open_panel

    project = current_project()
    use = PanelUse(os.environ, use_panel, max_calls, max_usd, local=judge in _BY_EMBEDDING)
    if shard and not (submissions := share_of(project, submissions or (), shard)):
        typer.echo(f"bashboard: no submission is in shard {shard}", err=True)
        return
    with shown_progress() as progress, open_panel(project, progress, use, judge) as panel:
        plans = plan_boards(project, progress, suite or (), submissions or (), judge, panel, say=warn)
        if as_json and plan:
            print_json({name: _plan_json(each) for name, each in plans.items()})
        elif not as_json:
            for name, each in plans.items():
                _explain_plan(name, each)
        if plan:
            return
        found = gather_boards(
            project,
            progress,
            suites=suite or (),
            submissions=submissions or (),
            judge=judge,
            workers=workers,
            panel=panel,
            say=warn,
        )
    _tell(panel, found, as_json, complete=not (suite or submissions))


def _plan_json(plan: Plan) -> dict[str, object]:
    stale = [
        {"task": each.subject.task, "command": (each.subject.command or b"").decode(errors="replace"), "why": each.why}
        for each in plan.stale
    ]
    panel = plan.panel._asdict() if plan.panel else None
    return {"executions": plan.executions, "stale": stale, "panel": panel}


def _one_source(published: bool, judge: str | None) -> None:
    from evaluator.errors import UsageError

    if published and judge:
        raise UsageError("--published and --judge: published verdicts were given by the judges that they name")


@example(
    "bashboard standings",
    "bashboard standings --suite core --json",
    "bashboard standings --published --json | jq '.[].judged_by'",
)
def standings(
    suite: SuiteNames = None, judge: Judge = None, published: Published = False, as_json: AsJson = False
) -> None:
    """Print the standings from existing verdicts.

    Executes nothing. A narrow terminal shows fewer columns. If a submission cannot be scored, it is left out, and the
    exit code is 1.
    """
    from evaluator.pipeline.boards.gather import gather_boards
    from evaluator.pipeline.boards.published_boards import published_boards
    from evaluator.pipeline.grading.llm_panel import open_panel
    from evaluator.progress import NullProgress

    _one_source(published, judge)
    project = current_project()
    if published:
        _show(published_boards(project, suites=suite or (), say=warn), as_json)
        return
    with open_panel(project, NullProgress(), judge=judge) as panel:
        found = gather_boards(
            project, NullProgress(), suites=suite or (), judge=judge, execute=False, panel=panel, say=warn
        )
    _show(found, as_json)


@example("bashboard build", "bashboard build --published", "bashboard build && bashboard serve")
def build(
    judge: Judge = None,
    published: Published = False,
    clean: Annotated[bool, typer.Option("--clean", help="Keep nothing of earlier builds.")] = False,
) -> None:
    """Build the site from existing verdicts.

    Writes build/site. Executes nothing. A build reads only the submissions that changed since the last one, and makes
    only the pages that changed. If a submission cannot be scored, the site is built without it, and the exit code is 1.
    With --published, the exit code is 0 then, so that the other rows are published.
    """
    from evaluator.pipeline.boards.site_inputs import SiteInputs, forget_builds, unchanged_build
    from evaluator.pipeline.checkout import checkout_root

    _one_source(published, judge)
    root = checkout_root(Path.cwd())
    if clean and root is not None:
        forget_builds(root)
    inputs = SiteInputs(root, os.environ, published, judge) if root is not None else None
    if inputs is not None and (last := unchanged_build(inputs)) is not None:
        for line in last.said:
            warn(line)
        folder, left_out = inputs.root / "build" / "site", last.left_out
    else:
        from evaluator.pipeline.boards.site import build_boards_site

        with shown_progress() as progress:
            folder, left_out = build_boards_site(
                current_project(), progress, judge, published=published, environ=os.environ, say=warn, inputs=inputs
            )
    called = "bashboard" if Path(sys.argv[0]).is_absolute() else sys.argv[0]
    typer.echo(f"the site is in {shown(folder)}; look at it with: {called} serve")
    if left_out and not published:
        raise typer.Exit(PROBLEMS_FOUND)


@example("bashboard serve", "bashboard serve --port 9000")
def serve(
    port: Annotated[int, typer.Option("--port", min=0, max=65535, help="The port. 0 selects a free one.")] = 8000,
) -> None:
    """Serve the built site on this machine.

    No other machine can read it. It is served until you interrupt the command.
    """
    import threading

    from evaluator.pipeline.boards.site import serve_site

    with serve_site(current_project(), port) as address, contextlib.suppress(KeyboardInterrupt):
        typer.echo(f"serving build/site at {address} (interrupt to stop)")
        threading.Event().wait()
    typer.echo("stopped")

"""`bashboard publish`: the workflow steps that publish verdicts after a merge. Maintainers can run them by hand."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Annotated

import typer

from evaluator.cli.app import (
    PROBLEMS_FOUND,
    AsJson,
    Group,
    Slugs,
    add_commands,
    current_project,
    example,
    print_json,
    shown,
)
from evaluator.cli.board import MaxCalls, MaxUsd
from evaluator.cli.progress import shown_progress

publish = typer.Typer(cls=Group, no_args_is_help=True, help="Publish verdicts: plan, judge, commit.")

Stale = Annotated[
    bool,
    typer.Option("--stale", help="Rescore: select verdicts of another judge, environment, suite version or format."),
]
Outputs = Annotated[bool, typer.Option("--outputs", help="Also set the outputs of the step in a GitHub job.")]
Summary = Annotated[bool, typer.Option("--summary", help="Also append the result to the summary of the GitHub job.")]
Annotate = Annotated[bool, typer.Option("--annotate", help="Also print problems as GitHub annotations.")]


@example(
    "bashboard publish plan",
    "bashboard publish plan --stale",
    "bashboard publish plan --stale --json | jq '.panel'",
)
def plan(
    submissions: Slugs = None,
    stale: Stale = False,
    as_json: AsJson = False,
    outputs: Outputs = False,
    summary: Summary = False,
) -> None:
    """Print which verdicts need publishing.

    Also prints why, and at what cost. With --stale, prints which verdicts need a rescore. Commands without a verdict
    are new, and so are commands whose verdict a ruling or a mark changes. Lines that were edited by hand are found if
    their evidence is available. Executes nothing. With --outputs, the step's outputs are `submissions` and `judged`,
    JSON lists of those to execute and of those to judge, and `anything`.
    """
    import json

    from evaluator.cli.publish_text import print_plan
    from evaluator.github.job_output import append_summary, set_outputs, stop_commands
    from evaluator.pipeline.publishing.plan import plan_publishing
    from evaluator.pipeline.publishing.suite_context import open_publish_session
    from evaluator.pipeline.publishing.summaries import plan_markdown

    project = current_project()
    with (
        stop_commands(os.environ, sys.stderr),
        shown_progress() as progress,
        open_publish_session(project, progress) as desk,
    ):
        found = plan_publishing(project, progress, desk.store, stale=stale, slugs=submissions or (), panels=desk.panels)
    with stop_commands(os.environ, sys.stdout):
        print_json(found.as_json()) if as_json else print_plan(found)
    if outputs:
        anything = "true" if found.anything else "false"
        lists = {"submissions": json.dumps(found.submissions), "judged": json.dumps(found.judged)}
        set_outputs(os.environ, {**lists, "anything": anything})
    if summary:
        append_summary(os.environ, plan_markdown(found))


@example(
    "bashboard publish judge evidence --out published.tar.gz",
    "bashboard publish judge evidence --stale --out published.tar.gz --json",
)
def judge(
    evidence: Annotated[Path, typer.Argument(metavar="FOLDER", help="The folder with the bundles of this run.")],
    out: Annotated[Path, typer.Option("--out", help="The archive to write, with the files to commit.")],
    stale: Stale = False,
    image: Annotated[
        str | None,
        typer.Option(
            "--image", metavar="DIGEST", help="SHA-256 of the file with the images, to be published with the verdicts."
        ),
    ] = None,
    max_calls: MaxCalls = None,
    max_usd: MaxUsd = None,
    as_json: AsJson = False,
    outputs: Outputs = False,
    summary: Summary = False,
) -> None:
    """Judge commands from existing evidence.

    Judges pending commands, and writes the archive to commit. Each submission is judged from the references' evidence
    and its own, so that its evidence affects only its own row. Executes nothing. The panel is asked if
    BASHBOARD_PANEL_KEY is set. A command without evidence gets no verdict, and the next run tries again. With
    [tool.bashboard.audit] in pyproject.toml and a key, published verdicts are audited once a day. With --outputs, the
    step's outputs are `published`, the archive's SHA-256, and `anything`.
    """
    from evaluator.cli.publish_text import print_judged
    from evaluator.errors import UsageError
    from evaluator.github.job_output import append_summary, mask_secrets, set_outputs, stop_commands
    from evaluator.pipeline.grading.llm_panel import KEYS, PanelUse
    from evaluator.pipeline.publishing.archive import write_archive
    from evaluator.pipeline.publishing.audit_published import daily_audit
    from evaluator.pipeline.publishing.judge_pending import judge_pending
    from evaluator.pipeline.publishing.suite_context import open_publish_session
    from evaluator.pipeline.publishing.summaries import judged_markdown

    mask_secrets(os.environ, sys.stdout, KEYS)
    project, use = current_project(), PanelUse(os.environ, max_calls=max_calls, max_usd=max_usd)
    with (
        stop_commands(os.environ, sys.stderr),
        shown_progress() as progress,
        open_publish_session(project, progress, use) as desk,
    ):
        found = judge_pending(project, progress, desk.store, evidence, stale=stale, panels=desk.panels, image=image)
        found = found if stale else found.with_audit(daily_audit(project, progress, desk.store, os.environ))
    try:
        digest = write_archive(found.archive, out)
    except OSError as error:
        raise UsageError(f"--out {out}: {error.strerror}") from error
    with stop_commands(os.environ, sys.stdout):
        print_json({**found.as_json(), "published": digest}) if as_json else print_judged(found, digest)
    if outputs:
        set_outputs(os.environ, {"published": digest, "anything": "true" if found.anything else "false"})
    if summary:
        append_summary(os.environ, judged_markdown(found))


@example(
    "bashboard fetch && bashboard publish verify",
    "bashboard publish verify my-system",
    "bashboard publish verify --json | jq '.[].held'",
)
def verify(submissions: Slugs = None, as_json: AsJson = False, annotate: Annotate = False) -> None:
    """Derive the published verdicts again.

    Reports every line that differs. Uses the evidence that `bashboard fetch` downloaded, and the evidence of this
    machine. Executes nothing and asks no model: the replies of models are published with the evidence. Verdicts that
    cannot be verified are counted.
    """
    from evaluator.cli.publish_text import print_verified
    from evaluator.github.job_output import stop_commands
    from evaluator.pipeline.publishing.suite_context import open_publish_session
    from evaluator.pipeline.publishing.verify import verify_published
    from evaluator.pipeline.submissions.repository import diff_annotations

    project = current_project()
    with shown_progress() as progress, open_publish_session(project, progress) as desk:
        found = verify_published(project, progress, desk.store, slugs=submissions or (), panels=desk.panels)
    with stop_commands(os.environ, sys.stdout):
        print_json([each.as_json() for each in found]) if as_json else print_verified(found, shown)
    problems = [each for one in found for each in one.problems]
    for line in diff_annotations([each._replace(path=each.path.relative_to(project.root)) for each in problems]):
        if annotate:
            typer.echo(line)
    if problems:
        raise typer.Exit(PROBLEMS_FOUND)


add_commands(publish, plan, judge, verify)

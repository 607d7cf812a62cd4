"""Commands that ask the panel of models through files: in batches, or with a model that has no server."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from evaluator.cli.app import (
    PROBLEMS_FOUND,
    AsJson,
    Group,
    Judge,
    SuiteNames,
    add_commands,
    current_project,
    example,
    print_json,
    shown,
    warn,
)
from evaluator.cli.completion import complete_submissions
from evaluator.cli.judges import PairSets, Prompts
from evaluator.cli.progress import shown_progress

if TYPE_CHECKING:
    from evaluator.pipeline.maintenance.panel_batches import Imported

panel = typer.Typer(
    cls=Group, help="Ask the panel of models through files.", no_args_is_help=True, rich_markup_mode=None
)

SubmissionNames = Annotated[
    list[str] | None,
    typer.Option(
        "--submission",
        metavar="SLUG",
        autocompletion=complete_submissions,
        help="Only this submission. May be repeated.",
    ),
]
OfValidation = Annotated[
    bool, typer.Option("--validation", help="The questions of `judges validate`, not those of submissions.")
]


@example(
    "bashboard panel export round-1",
    "bashboard panel export round-1 --suite intercode --submission my-system",
    "bashboard panel export questions --plain --all",
    "bashboard panel export table-4 --validation --set table-4 --judge llm",
)
def export(
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="A new or empty folder for the files.")],
    suite: SuiteNames = None,
    submission: SubmissionNames = None,
    judge: Judge = None,
    plain: Annotated[
        bool,
        typer.Option(
            "--plain", help="Write lines of id, model, seed, messages and schema, which any program can answer."
        ),
    ] = False,
    every: Annotated[
        bool, typer.Option("--all", help="Also write votes that may prove unnecessary, so that one round is enough.")
    ] = False,
    validation: OfValidation = False,
    kinds: PairSets = None,
    prompts: Prompts = None,
    as_json: AsJson = False,
) -> None:
    """Write the panel's open questions to files.

    The files are those of OpenAI's Batch API. Executes nothing, and asks no model. A file has requests to one model, at
    most 50,000 of them, and at most 200 MB. Some votes depend on the replies to earlier votes. After each import,
    export again, until no question is open.
    """
    from evaluator.pipeline.maintenance.panel_batches import QuestionScope, export_questions

    scope = QuestionScope(suite or (), submission or (), judge, validation, kinds or (), prompts or ())
    with shown_progress() as progress:
        exported = export_questions(current_project(), scope, folder, progress, plain=plain, every=every)
    if as_json:
        print_json({"files": [each._asdict() for each in exported.files], "unjudged": exported.unjudged})
    for file in [] if as_json else exported.files:
        model = f" to {file.model}" if file.model else ""
        typer.echo(f"{shown(folder / file.name)}: {file.requests} requests{model}, {file.size} bytes")
    if not exported.files:
        warn("no question is open")
    if exported.unjudged:
        work = f"{'judges validate' if validation else 'score'}{f' --judge {judge}' if judge else ''}"
        warn(f"{exported.unjudged} answers are not judged yet, so their questions are missing; run: bashboard {work}")


@example(
    "bashboard panel import results.jsonl",
    "bashboard panel import round-1/*.results.jsonl --suite intercode",
    "bashboard panel import replies.jsonl --validation --judge exec-llm",
)
def import_(
    files: Annotated[list[Path], typer.Argument(help="Results of batches, or lines of id and text.")],
    suite: SuiteNames = None,
    submission: SubmissionNames = None,
    judge: Judge = None,
    keep_invalid: Annotated[
        bool, typer.Option("--keep-invalid", help="Store replies off the menu. Each of them counts as no vote.")
    ] = False,
    validation: OfValidation = False,
    kinds: PairSets = None,
    prompts: Prompts = None,
    as_json: AsJson = False,
) -> None:
    """Read the replies to exported questions.

    Then `bashboard score` decides by them without a key. Give the options of the export again: a reply must answer a
    question of this selection. All replies are stored, or none if a line has a problem. A request that the server did
    not answer stays open.
    """
    from evaluator.pipeline.maintenance.panel_batches import QuestionScope, import_replies

    scope = QuestionScope(suite or (), submission or (), judge, validation, kinds or (), prompts or ())
    with shown_progress() as progress:
        imported = import_replies(current_project(), scope, files, progress, keep_invalid=keep_invalid)
    _tell(imported, as_json)
    if imported.failed or imported.invalid:
        raise typer.Exit(PROBLEMS_FOUND)


def _tell(imported: Imported, as_json: bool) -> None:
    for reply in imported.failed:
        warn(f"{reply.place}: request {reply.id} stays open: {reply.failure}")
    for reply in imported.invalid:
        warn(f"{reply.place}: stored, but it is off the menu and counts as no vote")
    counts = {"added": imported.added, "known": imported.known}
    counts |= {"failed": len(imported.failed), "invalid": len(imported.invalid)}
    if as_json:
        print_json(counts)
        return
    failed = len(imported.failed)
    typer.echo(f"{imported.added} replies stored, {imported.known} were there before, {failed} requests stay open")


add_commands(panel, export, import_)

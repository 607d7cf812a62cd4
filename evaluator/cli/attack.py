"""Commands that attack a suite with plausible wrong answers, by writers who have not seen its worlds and references."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from evaluator.cli.app import (
    AsJson,
    Group,
    Judge,
    SuiteName,
    Workers,
    add_commands,
    current_project,
    example,
    print_json,
    shown,
)
from evaluator.cli.progress import shown_progress

attack = typer.Typer(cls=Group, help="Attack a suite with wrong answers.", no_args_is_help=True, rich_markup_mode=None)

NewFolder = Annotated[Path, typer.Argument(metavar="FOLDER", help="A new or empty folder for the files.")]
Answers = Annotated[
    list[Path],
    typer.Argument(metavar="FILE", help='Lines of {"task", "kind": "wrong" or "right", "command", "differs"}.'),
]
Seed = Annotated[
    str | None, typer.Option("--seed", metavar="TEXT", help="A text that selects. The default is today's date.")
]


@example("bashboard judges attack pack build/attack", "bashboard judges attack pack round-2 --tasks 252 --seed autumn")
def pack(
    folder: NewFolder,
    suite: SuiteName = "core",
    tasks: Annotated[int, typer.Option("--tasks", min=1, help="Number of tasks to draw.")] = 100,
    batch: Annotated[int, typer.Option("--batch", min=1, help="Number of tasks in a file.")] = 10,
    seed: Seed = None,
) -> None:
    """Write the prompts for the writers.

    Draws tasks, and writes them to files. A file has what a contributor's model reads about its tasks, and the
    instruction for a writer: one plausible wrong answer and one unusual right answer to each task. The file names the
    place for the answers. A writer is a person or a model that sees this file and nothing else.
    """
    from evaluator.pipeline.maintenance.attack_packs import draw_tasks, write_pack

    project = current_project()
    attacked = project.suite(suite)
    drawn = draw_tasks(attacked, tasks, seed or _today())
    written = write_pack(attacked, drawn, folder, batch, project.settings.limits.command_bytes)
    typer.echo(f"{tasks} tasks in {shown(written[0])} to {shown(written[-1])}")
    typer.echo(f"then: bashboard judges attack score {shown(folder)}/answers/*.jsonl")


@example(
    "bashboard judges attack score build/attack/answers/*.jsonl",
    "bashboard judges attack score answers.jsonl --mistakes --json",
)
def score(
    answers: Answers,
    suite: SuiteName = "core",
    judge: Judge = None,
    mistakes: Annotated[bool, typer.Option("--mistakes", help="Also print each answer that was judged wrong.")] = False,
    workers: Workers = None,
    as_json: AsJson = False,
) -> None:
    """Execute answers and print the attack rate.

    The attack rate is the share of the wrong answers that pass. Beside it are the share of the right answers that fail
    and the share of all answers that are undecided, each with its 95 % interval. Stores no result.
    """
    from evaluator.cli.judges_tables import print_blind, print_mistakes
    from evaluator.pipeline.maintenance.blind_set import BlindSet, read_attack
    from evaluator.pipeline.maintenance.judge_validation import validate_judges
    from evaluator.pipeline.maintenance.pair_sources import SuitePairs
    from evaluator.records import PairKind

    project = current_project()
    attacked = project.suite(suite)
    blind = BlindSet(None, tuple(read_attack(attacked, answers)))
    pairs = SuitePairs(attacked, {PairKind.BLIND: blind.pairs()}, blind=blind)
    with shown_progress() as progress:
        results = validate_judges(project, [pairs], progress, judges=[judge or project.settings.judge], workers=workers)
    if as_json:
        print_json(
            {
                "figures": [row.model_dump(mode="json") for row in results.blind],
                "mistakes": [row.model_dump(mode="json") for row in results.mistakes if mistakes],
            }
        )
    else:
        print_blind(results.blind)
        print_mistakes(results.mistakes if mistakes else ())
    if results.infra_errors:
        typer.echo("bashboard: some answers have infra-errors, which are ours; run the same command again", err=True)
        raise typer.Exit(3)


@example("bashboard judges attack review build/review build/attack/answers/*.jsonl")
def review(
    folder: NewFolder,
    answers: Answers,
    suite: SuiteName = "core",
    batch: Annotated[int, typer.Option("--batch", min=1, help="Number of answers in a file.")] = 20,
    seed: Seed = None,
) -> None:
    """Write the answers for a second reader.

    A file has the answers with their instructions, in a random order, without the labels of the writers. Two answers to
    a task are in different files. The file names the place for the reader's labels. A reader is a person or a model
    that sees these files and nothing else.
    """
    from evaluator.pipeline.maintenance.blind_set import read_attack
    from evaluator.pipeline.maintenance.second_reader import write_review

    project = current_project()
    attacked = project.suite(suite)
    read = read_attack(attacked, answers)
    limit = project.settings.limits.command_bytes
    written = write_review(attacked, read, folder, batch, limit, seed or _today())
    typer.echo(f"{len(read)} answers in {shown(written[0])} to {shown(written[-1])}")
    typer.echo(f"then: bashboard judges attack label --labels {shown(folder)}/labels ANSWERS")


@example(
    "bashboard judges attack label --labels build/review/labels build/attack/answers/*.jsonl",
    "bashboard judges attack label --labels build/review/labels --write build/attack/answers/*.jsonl",
)
def label(
    answers: Answers,
    labels: Annotated[Path, typer.Option("--labels", metavar="FOLDER", help="The folder with the reader's files.")],
    suite: SuiteName = "core",
    write: Annotated[bool, typer.Option("--write", help="Write the next version of the suite's blind set.")] = False,
    as_json: AsJson = False,
) -> None:
    """Read the labels of the second reader.

    Prints how often the reader agrees with the writers, and each disputed answer. With --write, writes the answers with
    both labels to blind.jsonl of the suite. `judges validate` leaves the disputed ones out.
    """
    from evaluator.escaping import printable
    from evaluator.pipeline.maintenance.blind_set import read_attack
    from evaluator.pipeline.maintenance.second_reader import agreement_of, labelled_set, read_labels, write_blind_set

    attacked = current_project().suite(suite)
    read = read_attack(attacked, answers)
    rows = labelled_set(attacked, read, read_labels(sorted(labels.glob("*.jsonl")), read))
    found = agreement_of(rows)
    disputed = [row for row in rows if row.is_disputed]
    if as_json:
        print_json({**found._asdict(), "disputed": [row.model_dump(mode="json") for row in disputed]})
    else:
        for row in disputed:
            typer.echo(f"{row.task}: {row.kind.value}, but the reader says {row.reader.value}")
            typer.echo(f"    {printable(row.command.decode(errors='backslashreplace'))}")
        kappa = "–" if found.kappa is None else f"{found.kappa:.3f}"
        typer.echo(
            f"{found.agreed} of {found.answers} labels agree, {found.unsure} are unsure, kappa of the rest {kappa}"
        )
    if write:
        typer.echo(f"written to {shown(write_blind_set(attacked, rows))}", err=True)


def _today() -> str:
    return datetime.now(UTC).date().isoformat()


add_commands(attack, pack, score, review, label)

"""`bashboard metrics`: what a command's text alone says, a line of JSON for each line of JSON."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from evaluator.cli.app import Group, example
from evaluator.cli.progress import shown_progress
from evaluator.errors import FormatError, UsageError

if TYPE_CHECKING:
    from evaluator.pipeline.boards.text_metrics import Problems

metrics = typer.Typer(
    cls=Group, help="Score commands by their text alone.", no_args_is_help=True, rich_markup_mode=None
)

LONG = 5_000
"""Lines from which on a bar is shown, where standard output is not the terminal that it would be shown on."""

STANDARD_INPUT = Path("-")
File = Annotated[Path, typer.Argument(help="JSON Lines; - reads standard input.", metavar="FILE.jsonl")]
Strict = Annotated[
    bool, typer.Option("--strict-2020", help="Refuse what the program of the NLC2CMD organisers refused.")
]


def _lines(file: Path, stack: ExitStack, stage: str) -> Iterator[bytes]:
    """The file's lines; how far they are read is shown where that takes long."""
    if file == STANDARD_INPUT:
        return iter(sys.stdin.buffer)
    if not file.exists() or file.is_dir():
        raise UsageError(f"{file}: expected a file of JSON lines, found {'a folder' if file.is_dir() else 'none'}")
    lines = stack.enter_context(file.open("rb"))
    total = sum(1 for _ in lines) if lines.seekable() else 0
    if total:
        lines.seek(0)
    if total < LONG or sys.stdout.isatty():
        return iter(lines)
    progress = stack.enter_context(shown_progress())
    progress.stage(stage, total)

    def watched() -> Iterator[bytes]:
        for line in lines:
            yield line
            progress.advance()

    return watched()


def _named(file: Path) -> Path:
    """What problems call the file."""
    return Path("standard input") if file == STANDARD_INPUT else file


def _print_lines(answers: Iterable[object], problems: Problems) -> None:
    """Each answer as soon as it is there. Raises FormatError where lines were not what was expected."""
    flush = not sys.stdout.seekable()
    for answer in answers:
        sys.stdout.write(json.dumps(answer, ensure_ascii=False) + "\n")
        if flush:
            sys.stdout.flush()
    sys.stdout.flush()
    if problems.count:
        raise FormatError(problems.all())


@example(
    "bashboard metrics nlc2cmd pairs.jsonl",
    "bashboard metrics nlc2cmd --strict-2020 lists.jsonl",
    "bashboard metrics nlc2cmd --aggregation paper - | head",
)
def nlc2cmd(
    file: File,
    strict_2020: Strict = False,
    aggregation: Annotated[
        str, typer.Option("--aggregation", help="What a list's score is: organisers, or paper.")
    ] = "organisers",
) -> None:
    """NLC2CMD score of pairs {"pred", "ref", "confidence"} or lists {"preds", "confidences", "refs"}; other fields are
    left alone.

    Prints {"score": ...} for each line, in order; of a list its score by both aggregations besides. Confidence is 1
    where it is not given. A line that does not read prints null, and is named on standard error in the end.
    """
    from evaluator.pipeline.boards.text_metrics import Aggregation, Problems, nlc2cmd_scores

    if aggregation not in set(Aggregation):
        raise UsageError(f"--aggregation {aggregation}: expected one of {', '.join(Aggregation)}")
    with ExitStack() as stack:
        problems = Problems(_named(file))
        lines = _lines(file, stack, "scoring")
        scores = nlc2cmd_scores(lines, problems, strict_2020=strict_2020, aggregation=Aggregation(aggregation))
        _print_lines(scores, problems)


@example(
    "bashboard metrics parse commands.jsonl",
    "bashboard metrics parse --strict-2020 commands.jsonl",
)
def parse(file: File, strict_2020: Strict = False) -> None:
    """Utilities of commands {"cmd"}, with the flags that the NLC2CMD metric sees of them.

    Prints {"utils": [[name, [flags]], ...]} for each line, in order, and null for utilities where a command does not
    read. A utility's flags are those of all that is nested in it, as often as they are given; the metric takes the set.
    """
    from evaluator.pipeline.boards.text_metrics import Problems, parsed_commands

    with ExitStack() as stack:
        problems = Problems(_named(file))
        _print_lines(parsed_commands(_lines(file, stack, "reading"), problems, strict_2020=strict_2020), problems)


for command in (nlc2cmd, parse):
    metrics.command(epilog=command.__dict__.get("epilog"))(command)

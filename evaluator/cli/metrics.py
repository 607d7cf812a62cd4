"""`bashboard metrics`: score commands by their text. Each line of JSON in the input gives one line in the output."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from evaluator.cli.app import Group, add_commands, example
from evaluator.cli.progress import shown_progress
from evaluator.cli.text_output import json_output
from evaluator.errors import FormatError, UsageError
from evaluator.wording import pluralize

if TYPE_CHECKING:
    from evaluator.json_lines import LineProblems

metrics = typer.Typer(
    cls=Group, help="Score commands by their text alone.", no_args_is_help=True, rich_markup_mode=None
)

LONG = 5_000
"""From this number of lines on, progress is shown, unless standard output is the same terminal."""

STANDARD_INPUT = Path("-")
File = Annotated[Path, typer.Argument(help="A file of JSON Lines. - reads standard input.", metavar="FILE")]
Strict = Annotated[
    bool, typer.Option("--strict-2020", help="Read commands exactly as the program of the NLC2CMD organisers did.")
]


def _lines(file: Path, stack: ExitStack, stage: str) -> Iterator[bytes]:
    """Return the lines of an input file or of standard input. Show progress for a large file.

    Raises UsageError if the file does not exist.
    """
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
    """Return the name of the input file for error messages: its path, or `standard input`."""
    return Path("standard input") if file == STANDARD_INPUT else file


def _print_lines(answers: Iterable[object], problems: LineProblems) -> None:
    """Print each result as a line of JSON as soon as it is available.

    Raises FormatError after the last result if any input line was malformed.
    """
    flush = not sys.stdout.seekable()
    for answer in answers:
        sys.stdout.write(json_output(json.dumps(answer, ensure_ascii=False)) + "\n")
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
        str, typer.Option("--aggregation", help="The score of a list: organisers, or paper.")
    ] = "organisers",
) -> None:
    """Compute the NLC2CMD score of commands.

    A line is a pair {"pred", "ref", "confidence"} or a list {"preds", "confidences", "refs"}. Other fields are ignored.
    In the lines of a corpus, the field "command" is the reference.
    Prints {"score": ...} for each line, in order. For a list, it also prints the score by both aggregations. The
    default confidence is 1. If no parser reads some commands of a line, it also prints {"unreadable": ...} with their
    number, and standard error tells at the end how many lines have one. A malformed line prints null, and is reported
    on standard error at the end.
    """
    from evaluator.json_lines import LineProblems
    from evaluator.pipeline.boards.jsonl_metrics import Aggregation, score_jsonl

    if aggregation not in set(Aggregation):
        raise UsageError(f"--aggregation {aggregation}: expected one of {', '.join(Aggregation)}")
    with ExitStack() as stack:
        problems = LineProblems(_named(file))
        lines = _lines(file, stack, "scoring")
        scores = score_jsonl(lines, problems, strict_2020=strict_2020, aggregation=Aggregation(aggregation))
        unreadable = 0

        def counted() -> Iterator[dict[str, float] | None]:
            nonlocal unreadable
            for answer in scores:
                unreadable += answer is not None and "unreadable" in answer
                yield answer

        try:
            _print_lines(counted(), problems)
        finally:
            if unreadable:
                typer.echo(f"{pluralize(unreadable, 'line')} with a command that no parser reads", err=True)


@example(
    "bashboard metrics parse commands.jsonl",
    "bashboard metrics parse --strict-2020 commands.jsonl",
)
def parse(file: File, strict_2020: Strict = False) -> None:
    """Print the utilities and flags of commands.

    They are as the NLC2CMD metric sees them. A line is a command {"cmd"}. Prints {"utils": [[name, [flags]], ...]} for
    each line, in order. The utilities are null if a command cannot be parsed. The flags of a utility include those of
    all utilities nested in it, with repetitions. The metric uses the set.
    """
    from evaluator.json_lines import LineProblems
    from evaluator.pipeline.boards.jsonl_metrics import parsed_commands

    with ExitStack() as stack:
        problems = LineProblems(_named(file))
        _print_lines(parsed_commands(_lines(file, stack, "reading"), problems, strict_2020=strict_2020), problems)


add_commands(metrics, nlc2cmd, parse)

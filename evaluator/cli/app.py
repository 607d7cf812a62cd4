"""The Typer application that contains all commands, and helper functions that print the output of commands."""

from __future__ import annotations

import errno
import json
import math
import os
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, NoReturn, TypeVar

import typer

from evaluator.cli.completion import complete_judges, complete_submissions, complete_suites, complete_tasks
from evaluator.cli.help_text import Command, PanelGroup
from evaluator.cli.text_output import json_output
from evaluator.errors import BashboardError, UsageError
from evaluator.escaping import printable

if TYPE_CHECKING:
    from rich.console import Console

    from evaluator.pipeline.project import Project
    from evaluator.records import Record

PROBLEMS_FOUND = 1
CANNOT_WRITE = 3
INTERRUPTED = 130
PIPED_WIDTH = 200

Function = TypeVar("Function", bound=Callable[..., object])


class Group(PanelGroup):
    """The base class of all command groups. It prints a BashboardError as one line and exits with the error's code."""

    def invoke(self, ctx: Any) -> Any:
        """Run the command. If it raises a BashboardError, print the error and exit with the error's exit code."""
        try:
            return super().invoke(ctx)
        except BashboardError as error:
            typer.echo(f"bashboard: {error}", err=True)
            raise typer.Exit(error.exit_code) from None
        except typer.TyperException as error:
            _refuse(error)
        except KeyboardInterrupt:
            typer.echo("bashboard: interrupted; finished executions and verdicts are kept", err=True)
            raise typer.Exit(INTERRUPTED) from None
        except BrokenPipeError:
            # the reader of our output has closed the pipe; without this, Python prints another error at exit
            sys.stderr.close()
            raise typer.Exit(0) from None
        except OSError as error:
            if error.errno not in _REFUSED_BY_THE_SYSTEM or error.filename is None:
                raise
            typer.echo(f"bashboard: {printable(_place(error.filename))}: {error.strerror}", err=True)
            raise typer.Exit(CANNOT_WRITE) from None


_REFUSED_BY_THE_SYSTEM = frozenset({errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOSPC, errno.EDQUOT})
"""Errors that the user can remove: no permission, a read-only file system, a full disk."""


def _place(name: object) -> str:
    """Return the path in an error of the system. For a temporary file, this is its folder."""
    path = Path(os.fsdecode(name) if isinstance(name, bytes) else str(name))
    return str(path.parent if path.suffix == ".new" else path)


def _refuse(error: typer.TyperException) -> NoReturn:
    """Print in one line why a command line cannot be parsed, and where its help is. Exit with code 2."""
    context: Any = getattr(error, "ctx", None)
    message = error.format_message()
    if context is None or message == context.get_help():  # a group without a command prints its help
        raise error
    text = f"{message[:1].lower()}{message[1:].rstrip('.')}"
    typer.echo(f"bashboard: {text}; see: {context.command_path} --help", err=True)
    raise typer.Exit(UsageError.exit_code) from None


class AllCommands(Group):
    """The group of all commands, in the order of a reader: first what a submitter needs, last what workflows run."""

    panels: ClassVar = {
        "Submit a system": ("submit", "generate", "check", "score", "preview", "doctor"),
        "Read the board": ("standings", "compare", "explain", "suite", "run", "fetch", "build", "serve", "schema"),
        "Measure": ("judges", "metrics", "corpus", "study", "bench"),
        "Maintain the board": ("rescore", "contested", "adjudicate", "panel", "baseline", "quarantine"),
        "Steps of the workflows": ("report", "appeal", "image", "evidence", "publish"),
    }

    def make_context(self, *arguments: Any, **settings: Any) -> Any:
        """Parse the options of `bashboard` itself."""
        try:
            return super().make_context(*arguments, **settings)
        except typer.TyperException as error:
            _refuse(error)


app = typer.Typer(
    cls=AllCommands,
    name="bashboard",
    help="Score natural-language-to-Bash systems by executing what they predict, and publish the board.",
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


def _say_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        typer.echo(f"bashboard {version('bashboard')}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", callback=_say_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Handle the options of `bashboard` itself, such as `--version`. They come before the name of a command."""


AsJson = Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")]
Judge = Annotated[
    str | None,
    typer.Option(
        "--judge", metavar="JUDGE", autocompletion=complete_judges, help="Use this judge instead of the project's."
    ),
]
Workers = Annotated[
    int | None, typer.Option("--workers", min=1, help="Number of cores that execute commands. The default is all.")
]
SuiteName = Annotated[str, typer.Option("--suite", metavar="SUITE", autocompletion=complete_suites, help="The suite.")]
SuiteNames = Annotated[
    list[str] | None,
    typer.Option("--suite", metavar="SUITE", autocompletion=complete_suites, help="Only this suite. May be repeated."),
]
SuiteArgument = Annotated[
    str, typer.Argument(metavar="SUITE", autocompletion=complete_suites, help="The name of the suite.")
]
Slug = Annotated[
    str, typer.Argument(metavar="SLUG", autocompletion=complete_submissions, help="The slug of the submission.")
]
Slugs = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="SLUG", autocompletion=complete_submissions, help="Slugs of submissions. The default is all."
    ),
]
TaskArgument = Annotated[str, typer.Argument(metavar="TASK", autocompletion=complete_tasks, help="The id of the task.")]
TaskNames = Annotated[
    list[str] | None,
    typer.Option("--task", metavar="TASK", autocompletion=complete_tasks, help="Only this task. May be repeated."),
]


def example(*lines: str) -> Callable[[Function], Function]:
    """Return a decorator that appends examples to the help of a command."""

    def attach(function: Function) -> Function:
        function.__dict__["epilog"] = "\n".join(["\b", "Examples:", *(f"  $ {line}" for line in lines)])
        return function

    return attach


def add_commands(group: typer.Typer, *functions: Callable[..., object]) -> None:
    """Add functions to a group as commands. The first word of a function's name is the name of the command."""
    for function in functions:
        name = function.__name__.partition("_")[0]
        group.command(name, cls=Command, epilog=function.__dict__["epilog"])(function)


def current_project() -> Project:
    """Return the project that contains the current folder."""
    from evaluator.pipeline.project import Project

    return Project.find(Path.cwd())


def shown(path: Path) -> Path:
    """Return a path for output: relative to the current folder, or unchanged if the path is outside this folder."""
    return path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path


def console(*, error: bool = False) -> Console:
    """Return a Rich console as wide as the terminal. If output goes to a pipe, it is wide enough for any table."""
    from rich.console import Console

    return Console(stderr=error, highlight=False, width=None if sys.stdout.isatty() else PIPED_WIDTH)


def warn(line: str) -> None:
    """Tell the user, in one line on standard error, that the command leaves something out."""
    typer.echo(f"bashboard: {line}", err=True)


def print_json(value: object) -> None:
    """Print one JSON document on standard output."""
    typer.echo(json_output(json.dumps(value, indent=2, ensure_ascii=False)))


def print_records(records: Iterable[Record]) -> None:
    """Print records as one JSON list. Every field is included."""
    print_json([record.model_dump(mode="json") for record in records])


def finite(value: float | None) -> float | None:
    """Return the value of an option. Raises BadParameter for `inf` and `nan`, which a range without `max` can allow."""
    if value is not None and not math.isfinite(value):
        raise typer.BadParameter(f"{value} is not a finite number.")
    return value


def parse_slugs(option: str, text: str) -> list[str]:
    """Return the slugs in an option's JSON list. Raises UsageError with the option's name for any other text."""
    try:
        found = json.loads(text)
    except ValueError as error:
        raise UsageError(f"{option} {text[:100]!r}: expected a JSON list of slugs; {error}") from error
    if not isinstance(found, list) or not all(isinstance(each, str) for each in found):
        raise UsageError(f"{option} {text[:100]!r}: expected a JSON list of slugs")
    return found

"""The help of every command describes the command, has valid examples, and appears without slow imports."""

from __future__ import annotations

import functools
import shlex
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from evaluator.cli import app
from tests.command_runner import CommandRunner, built_command


def walk(command: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Yield each command that has no subcommands, with the words that call it."""
    children = getattr(command, "commands", {})
    if not children:
        yield path, command
    for name, child in children.items():
        yield from walk(child, (*path, name))


COMMANDS = dict(walk(built_command(app)))


@functools.cache
def shown_help(*words: str) -> str:
    found = CommandRunner().invoke(app, [*words, "--help"])
    assert found.exit_code == 0
    return found.output


def examples(words: tuple[str, ...]) -> list[str]:
    lines = [line.strip() for line in shown_help(*words).splitlines()]
    return [line.removeprefix("$ ") for line in lines if line.startswith("$ ")]


commands = pytest.mark.parametrize("words", COMMANDS, ids=" ".join)


@commands
def test_a_command_has_an_example(words: tuple[str, ...]) -> None:
    assert [line for line in examples(words) if line.split()[1 : 1 + len(words)] == list(words)]


@commands
def test_an_example_names_commands_options_and_arguments_there_are(words: tuple[str, ...]) -> None:
    """The parser accepts every example. The named submissions and tasks need not exist in a checkout."""
    for line in examples(words):
        for part in line.replace("&&", "|").split("|"):
            parts = shlex.split(part.partition(">")[0])
            if parts and parts[0] == "bashboard":
                named = next(known for known in COMMANDS if tuple(parts[1 : 1 + len(known)]) == known)
                COMMANDS[named].make_context(" ".join(named), parts[1 + len(named) :])


@commands
def test_a_command_says_what_it_does_and_what_every_option_is_for(words: tuple[str, ...]) -> None:
    command = COMMANDS[words]
    assert command.help.strip().endswith(".")
    assert [each.name for each in command.params if not getattr(each, "help", None) and each.name != "help"] == []


def test_all_commands_are_listed() -> None:
    text = shown_help()
    assert [words[0] for words in COMMANDS if f"\n  {words[0]} " not in text] == []


HEAVY = ("altair", "docker", "mkdocs", "numpy", "openai", "polars", "sklearn")


@pytest.mark.parametrize(
    ("words", "heavy"),
    [((), (*HEAVY, "pydantic")), (("score",), HEAVY), (("suite", "verify"), HEAVY)],
    ids=["bashboard", "score", "suite verify"],
)
def test_help_imports_nothing_that_does_the_work(words: tuple[str, ...], heavy: tuple[str, ...]) -> None:
    """Help imports no heavy package, so it appears at once.

    The test does not measure the time, because the time depends on the machine. Help of a single command may import
    pydantic, because the parser checks the command's options with pydantic.
    """
    program = (
        "import sys\n"
        "from evaluator.cli import app\n"
        f"try:\n    app({[*words, '--help']!r})\n"
        f"finally:\n    print(sorted(set({heavy!r}) & sys.modules.keys()), file=sys.stderr)\n"
    )
    found = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert found.returncode == 0
    assert found.stderr == "[]\n"

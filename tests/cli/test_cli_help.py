"""The help of every command describes the command, has valid examples, and appears without slow imports."""

from __future__ import annotations

import functools
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pytest

from evaluator.cli import app
from evaluator.cli.help_text import SUMMARY_LENGTH
from tests.command_runner import CommandRunner, built_command


def walk(command: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Yield each command that has no subcommands, with the words that call it."""
    children = getattr(command, "commands", {})
    if not children:
        yield path, command
    for name, child in children.items():
        yield from walk(child, (*path, name))


def walk_groups(command: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Yield each command that has subcommands, with the words that call it."""
    if children := getattr(command, "commands", {}):
        yield path, command
        for name, child in children.items():
            yield from walk_groups(child, (*path, name))


COMMANDS = dict(walk(built_command(app)))
GROUPS = dict(walk_groups(built_command(app)))
SAME_NAME = {"suite": "SUITE", "slug": "SLUG", "submission": "SLUG", "task": "TASK", "judge": "JUDGE", "world": "WORLD"}


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


@commands
def test_the_short_option_prints_the_same_help(words: tuple[str, ...]) -> None:
    assert CommandRunner().invoke(app, [*words, "-h"]).output == shown_help(*words)


def test_all_commands_are_listed_in_one_panel_each() -> None:
    _, _, text = shown_help().partition("Options:")
    assert [words[0] for words in COMMANDS if text.count(f"\n  {words[0]} ") != 1] == []
    root: Any = built_command(app)
    panels: Mapping[str, Sequence[str]] = root.panels
    assert sorted(name for names in panels.values() for name in names) == sorted(root.commands)
    assert "\nCommands:" not in text


@pytest.mark.parametrize("words", GROUPS, ids=" ".join)
def test_an_overview_of_80_columns_shows_every_summary_whole(words: tuple[str, ...]) -> None:
    summaries = {name: command.get_short_help_str(1000) for name, command in GROUPS[words].commands.items()}
    assert {name: text for name, text in summaries.items() if len(text) > SUMMARY_LENGTH} == {}
    lines = [" ".join(line.split()) for line in shown_help(*words).splitlines()]
    assert [name for name, text in summaries.items() if f"{name} {text}" not in lines] == []


@pytest.mark.parametrize("words", [*COMMANDS, *GROUPS], ids=" ".join)
def test_help_names_values_in_capital_letters(words: tuple[str, ...]) -> None:
    """A number is N, a path is a file, a folder or a clone, and a parameter has the same name in every command."""
    for param in (COMMANDS | GROUPS)[words].params:
        annotation = str(param.type_descriptor.annotation)
        if not getattr(param, "is_flag", False):
            name = param.metavar
            assert re.fullmatch(r"[A-Z]+( [A-Z]+|[/:][A-Z]+)?", name), param.name
            assert (name == "N") == (annotation in {"<class 'int'>", "<class 'float'>"}), param.name
            assert ("Path" in annotation) == (name in {"FILE", "FILE FILE", "FOLDER", "CLONE", "PAIRS"}), param.name
            assert name == SAME_NAME.get(param.name, name)
    usage, *rest = shown_help(*words).split("\n\n")
    assert not set("<>{}") & set(usage)
    rows = [re.split(r"  +", line.strip())[0] for part in rest for line in part.splitlines() if line.startswith("  -")]
    assert [row for row in rows if set("<>{}|") & set(row)] == []


def test_the_help_of_a_number_says_its_limits_and_that_of_a_choice_its_values() -> None:
    assert "--shots N" in shown_help("generate")
    assert "[0 to 50]" in shown_help("generate")
    assert "[one of llama.cpp, vllm, vllm-guided, json-schema]" in " ".join(shown_help("generate").split())
    assert shown_help("explain").startswith("Usage: bashboard explain [OPTIONS] SLUG [TASK]\n")
    assert shown_help("score").startswith("Usage: bashboard score [OPTIONS] [SLUG...]\n")


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

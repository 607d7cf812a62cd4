"""The training pairs are well formed and various, bash accepts their commands, and none is nearly a task of a suite."""

import json
import re
from collections import Counter
from pathlib import Path

import pytest

from evaluator.corpus.deconflict import repeated_pairs, task_conflicts
from evaluator.corpus.pair_lines import CorpusPair, corpus_pair
from evaluator.corpus.similar_texts import earlier_matches
from evaluator.metrics.texts import template
from evaluator.pipeline.maintenance.training_corpus import installed_in, task_texts
from evaluator.pipeline.project import Project
from evaluator.shell import utilities_of
from evaluator.shell.programs import called_programs
from tests.bash_reader import complaints_of

PROJECT = Project(Path(__file__).parents[2])
PAIRS = PROJECT.fixtures / "train" / "pairs.jsonl"
LEAST_PAIRS, LEAST_UTILITIES, MOST_OF_A_TEMPLATE = 2000, 150, 10


def normalise(instruction: str) -> str:
    """Return the instruction with its case folded and with single spaces."""
    return " ".join(instruction.casefold().split())


def literals(text: str) -> set[str]:
    """Return the words of a text that look like paths, file names, patterns or numbers."""
    words = (word.strip(",:;?!()'\"") for word in text.split())
    return {word for word in words if re.search(r"\d|[./_*]\w", word)}


@pytest.fixture(scope="module")
def pairs() -> list[dict[str, str]]:
    return [json.loads(line) for line in PAIRS.read_text("utf-8").splitlines()]


@pytest.fixture(scope="module")
def corpus(pairs: list[dict[str, str]]) -> list[CorpusPair]:
    return [corpus_pair(pair["nl"], pair["command"]) for pair in pairs]


@pytest.fixture(scope="module")
def utilities(pairs: list[dict[str, str]]) -> Counter[str]:
    """The number of pairs whose command calls each program or builtin."""
    return Counter(name for pair in pairs for name in {*called_programs(pair["command"])})


@pytest.fixture(scope="module")
def templates(pairs: list[dict[str, str]]) -> Counter[str | None]:
    """The number of pairs with each template of a command."""
    return Counter(template(pair["command"]) for pair in pairs)


def test_there_are_enough_pairs_and_utilities(pairs: list[dict[str, str]], utilities: Counter[str]) -> None:
    assert len(pairs) >= LEAST_PAIRS
    assert len(utilities) >= LEAST_UTILITIES


def test_every_called_program_is_installed_on_the_machine_of_core(utilities: Counter[str]) -> None:
    assert set(utilities) - installed_in(PROJECT, "core") == set()


def test_few_commands_have_the_same_template(templates: Counter[str | None]) -> None:
    assert {name: count for name, count in templates.items() if count > MOST_OF_A_TEMPLATE} == {}


def test_a_parser_reads_every_command(pairs: list[dict[str, str]]) -> None:
    assert [pair["command"] for pair in pairs if not utilities_of(pair["command"])] == []


def test_no_instruction_is_nearly_another_one(corpus: list[CorpusPair]) -> None:
    assert [(corpus[found.pair].nl, found.conflict, found.other) for found in repeated_pairs(corpus)] == []


def test_no_command_is_nearly_another_one(corpus: list[CorpusPair]) -> None:
    commands = [pair.command for pair in corpus]
    assert [(commands[match.text], commands[match.other]) for match in earlier_matches(commands)] == []


@pytest.mark.slow
@pytest.mark.parametrize("name", ["core", *PROJECT.external_suites()])
def test_no_pair_is_nearly_a_task_of_a_suite(corpus: list[CorpusPair], name: str) -> None:
    if name != "core" and not PROJECT.is_fetched(name):
        pytest.skip(f"{name} is not on this machine; to import it, run: bashboard suite add {name}")
    tasks = task_texts(PROJECT.suite(name))
    assert tasks
    assert [(corpus[found.pair].nl, found.conflict, found.other) for found in task_conflicts(corpus, tasks)] == []


def test_the_readme_states_the_numbers_of_pairs_utilities_and_templates(
    pairs: list[dict[str, str]], utilities: Counter[str], templates: Counter[str | None]
) -> None:
    counts = {"pairs": len(pairs), "utilities and builtins": len(utilities), "templates of commands": len(templates)}
    readme = (PAIRS.parent / "README.md").read_text("utf-8")
    rows = dict(re.findall(r"^\| ([a-z ]+) \| ([\d,]+) \|$", readme, re.MULTILINE))
    assert rows == {name: f"{count:,}" for name, count in counts.items()}


def test_the_file_is_what_json_writes_for_its_pairs(pairs: list[dict[str, str]]) -> None:
    """The file has one JSON object per line, keys in order, no escaped letters, LF, and a final newline."""
    lines = (json.dumps({"nl": p["nl"], "command": p["command"]}, ensure_ascii=False) for p in pairs)
    assert PAIRS.read_bytes() == "".join(f"{line}\n" for line in lines).encode()


def test_pairs_are_sorted_by_instruction(pairs: list[dict[str, str]]) -> None:
    instructions = [pair["nl"] for pair in pairs]
    assert instructions == sorted(instructions)


def test_no_text_has_blanks_at_its_ends_or_is_empty(pairs: list[dict[str, str]]) -> None:
    assert [p for p in pairs for text in p.values() if not text or text != text.strip()] == []


def test_instructions_are_unique(pairs: list[dict[str, str]]) -> None:
    assert len({normalise(pair["nl"]) for pair in pairs}) == len(pairs)


def test_commands_are_unique(pairs: list[dict[str, str]]) -> None:
    assert len({pair["command"] for pair in pairs}) == len(pairs)


def test_nearly_all_commands_are_one_line_and_some_are_scripts(pairs: list[dict[str, str]]) -> None:
    scripts = sum("\n" in pair["command"] for pair in pairs)
    assert 0 < scripts <= 0.05 * len(pairs)


@pytest.mark.slow
def test_bash_accepts_every_command_without_a_word(pairs: list[dict[str, str]]) -> None:
    """bash accepts every command without a message, even without a warning about an unfinished here-document."""
    said = complaints_of([pair["command"] for pair in pairs])
    refused = {pair["nl"]: each for pair, each in zip(pairs, said, strict=True) if each}
    assert refused == {}


def test_most_instructions_with_literals_share_one_with_their_command(pairs: list[dict[str, str]]) -> None:
    """Most instructions with literals share one with their command. The baseline can only swap shared literals."""
    with_literals = [pair for pair in pairs if literals(pair["nl"])]
    sharing = [p for p in with_literals if any(word in p["command"] for word in literals(p["nl"]))]
    assert len(with_literals) >= len(pairs) / 2
    assert len(sharing) >= 0.9 * len(with_literals)

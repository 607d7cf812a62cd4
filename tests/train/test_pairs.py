"""The retrieval corpus is well formed, bash accepts its commands, and no instruction is a task of a suite."""

import json
import re
from pathlib import Path

import pytest

from tests.bash_reader import complaints_of

FIXTURES = Path(__file__).parents[2] / "fixtures"
PAIRS = FIXTURES / "train" / "pairs.jsonl"


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


def test_there_are_enough_pairs_to_retrieve_from(pairs: list[dict[str, str]]) -> None:
    assert len(pairs) >= 400


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


def test_no_instruction_is_a_task_of_a_suite(pairs: list[dict[str, str]]) -> None:
    files = sorted(FIXTURES.glob("*/tasks/**/*.jsonl"))
    tasks = [json.loads(line) for file in files for line in file.read_text("utf-8").splitlines()]
    assert tasks, f"no task found in {FIXTURES}/*/tasks: nothing was compared"
    assert {normalise(p["nl"]) for p in pairs} & {normalise(task["nl"]) for task in tasks} == set()

"""Prompts from the clone of a paper: they are read and never run, and refused in another form."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from evaluator.errors import UsageError
from evaluator.judges.panel.parse_reply import ReplyForm, Vote, read_reply
from evaluator.judges.panel.published_prompts import PublishedPrompts, questions_of, read_prompts
from evaluator.testing.evidence import case
from tests.judges.panel.panel_harness import OPEN

NOTEBOOK = "code/feh_comparison.ipynb"
PROGRAM = "src/icalfa/envs/bash/bash_env.py"
ASKS_TEXT = """
system_prompt = "Compare two commands."
def one(prompt, ground_truth_command, model_command):
    return ask(f"Q: {prompt} A: {ground_truth_command} B: {model_command}", "a-model")
def two(prompt, ground_truth_command, model_command):
    return ask(f"Q: {prompt} A: {ground_truth_command} B: {model_command}", "another-model")
"""
ASKS_OUTPUT = """
Path("was-run").touch()
messages = [
    {'role': 'system', 'content': "Compare two outputs."},
    {"role": "user", "content": (
        f"Q: {prompt} A: {gold_command_output[:4]} B: {model_command} {model_command_output[:4]}"
    )},
]
"""


def notebook(root: Path, *cells: str) -> Path:
    path = root / NOTEBOOK
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps({"cells": [{"cell_type": "code", "source": [cell]} for cell in cells]}))
    return root


def program(root: Path, text: str) -> Path:
    path = root / PROGRAM
    path.parent.mkdir(parents=True)
    path.write_text(text)
    return root


def clones(root: Path) -> list[Path]:
    """Return clones of both repositories, in their form and with other words."""
    return [notebook(root / "one", "! git clone x", ASKS_TEXT), program(root / "two", ASKS_OUTPUT)]


def asked(prompts: PublishedPrompts, judge: str) -> list[list[str]]:
    found = questions_of(prompts, judge, case(["first\n", "second\n"], "third\n"), OPEN, "e" * 64)
    return [[message["content"] for message in question.messages] for question in found]


def test_a_published_prompt_is_asked_for_each_reference(tmp_path: Path) -> None:
    prompts = read_prompts(clones(tmp_path))
    texts = asked(prompts, "llm")
    assert [system for system, _ in texts] == ["Compare two commands."] * 2
    assert all(re.fullmatch(r"Q: .+ A: .+ B: .+", user) for _, user in texts)
    outputs = asked(prompts, "exec-llm")
    assert [user.partition(" A: ")[2][:4] for _, user in outputs] == ["firs", "seco"]
    assert all(user.endswith(" thir") for _, user in outputs)


def test_the_published_program_is_not_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    read_prompts(clones(tmp_path))
    assert not (tmp_path / "was-run").exists()


def test_other_judges_ask_as_ever(tmp_path: Path) -> None:
    prompts = read_prompts(clones(tmp_path))
    assert asked(prompts, "consensus")[0][0].startswith("You judge one answer")


def test_every_prompt_has_a_digest_of_its_own(tmp_path: Path) -> None:
    both = read_prompts(clones(tmp_path))
    assert len({read_prompts([each]).digest for each in clones(tmp_path / "again")} | {both.digest}) == 3


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("x = 1", "found 0 and 0"),
        (f'{ASKS_TEXT}\nif old:\n    system_prompt = "Compare."', "found 2 and 1"),
        (ASKS_TEXT.replace("B: {model_command}", "B: {model_command!r}"), "found 1 and 0"),
        (ASKS_TEXT.replace("B: {model_command}", "B: {model_command} {os.environ}"), "found 1 and 0"),
        (ASKS_TEXT.replace("B: {model_command}", "B: {model_command[::2]}"), "found 1 and 0"),
        ("def", "expected a Python program or a notebook"),
        ("(" * 10_000, "expected a Python program or a notebook"),
        ("\0", "expected a Python program or a notebook"),
    ],
)
def test_a_program_in_another_form_is_refused(tmp_path: Path, text: str, words: str) -> None:
    with pytest.raises(UsageError, match=re.escape(words)) as refused:
        read_prompts([program(tmp_path, text)])
    assert str(tmp_path / PROGRAM) in str(refused.value)


@pytest.mark.parametrize("text", ["", "[]", '{"cells": 1}', "{", '{"cells": [{}]}'])
def test_a_notebook_in_another_form_is_refused(tmp_path: Path, text: str) -> None:
    (notebook(tmp_path) / NOTEBOOK).write_text(text)
    with pytest.raises(UsageError, match="expected"):
        read_prompts([tmp_path])


def test_a_folder_without_a_prompt_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="expected a clone of NL2SH or InterCode-ALFA"):
        read_prompts([tmp_path])


@pytest.mark.parametrize(
    ("text", "vote"),
    [
        ("true", Vote.YES),
        ("False.\n", Vote.NO),
        ("'True'", Vote.YES),
        ("not true", None),
        ("yes", None),
        ("true false", None),
        ("", None),
    ],
)
def test_only_one_word_is_a_vote(text: str, vote: Vote | None) -> None:
    assert read_reply(text, ReplyForm.TRUTH).vote is vote
    assert read_reply("true").vote is None

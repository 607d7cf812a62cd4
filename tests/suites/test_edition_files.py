"""Tests of `suite edition`: contributors get prompts alone, and the maintainer keeps the replaced words."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path

import pytest
from typer.testing import Result

from evaluator.cli import app
from evaluator.testing.checkouts import small_checkout, small_task
from tests.command_runner import CommandRunner

SEED = "0123456789abcdef"
TASK = small_task(
    "files-1", nl="List the barrels of mira in barrel/", references=("ls barrel", "find barrel"), near_misses=(b"ls",)
)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A checkout with a world that declares names, and a submission that repeats a reference."""
    small_checkout(tmp_path, [TASK], {"control": {"files-1": ["ls barrel/mira"]}})
    world = tmp_path / "fixtures" / "tiny" / "worlds" / "world" / "world.toml"
    world.write_text(world.read_text().replace("format = 1", 'format = 4\nnames = ["barrel", "mira"]', 1))
    return tmp_path


def run(root: Path, *arguments: str) -> Result:
    with contextlib.chdir(root):
        return CommandRunner().invoke(app, list(arguments))


def make(root: Path, *more: str, seed: str = SEED) -> Result:
    return run(root, "suite", "edition", "tiny", "--name", "autumn", "--seed", seed, *more)


def test_only_the_prompts_are_public(root: Path) -> None:
    """The public file has the new instruction, and neither a reference, a near miss nor the seed."""
    made = make(root)
    assert made.exit_code == 0
    words = json.loads((root / ".bashboard" / "editions" / "tiny@autumn.json").read_text())["worlds"]["world"]
    public = (root / "fixtures" / "editions" / "tiny@autumn.jsonl").read_text()
    assert f"List the barrels of {words['mira']} in {words['barrel']}/" in public
    assert not [secret for secret in (SEED, f"ls {words['barrel']}", "mira", "barrel/") if secret in public]
    assert SEED not in made.stdout
    others = [path for path in root.rglob("*") if path.is_file() and SEED.encode() in path.read_bytes()]
    assert others == []


def test_the_prompts_of_an_edition_are_printed_in_both_forms(root: Path) -> None:
    make(root)
    plain = run(root, "submit", "prompts", "--suite", "tiny", "--edition", "autumn")
    assert plain.stdout == (root / "fixtures" / "editions" / "tiny@autumn.jsonl").read_text()
    form = ("--format", "openai-batch", "--model", "m")
    batch = json.loads(run(root, "submit", "prompts", "--suite", "tiny", "--edition", "autumn", *form).stdout)
    assert (batch["custom_id"], batch["body"]["messages"]) == ("files-1", json.loads(plain.stdout)["messages"])


def test_a_control_is_translated_into_the_private_folder(root: Path) -> None:
    assert make(root, "--translate", "control").exit_code == 0
    words = json.loads((root / ".bashboard" / "editions" / "tiny@autumn.json").read_text())["worlds"]["world"]
    (line,) = (root / ".bashboard" / "editions" / "control" / "tiny@autumn.jsonl").read_text().splitlines()
    assert json.loads(line)["candidates"][0]["command"] == f"ls {words['barrel']}/{words['mira']}"


def test_the_same_seed_gives_the_same_file_and_another_one_is_refused(root: Path) -> None:
    """An edition that contributors may have answered is never replaced by another one with its name."""
    assert make(root).exit_code == 0
    assert make(root).exit_code == 0
    refused = make(root, seed=SEED[::-1])
    assert (refused.exit_code, "has other instructions" in refused.stderr) == (2, True)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--seed", "short"), "expected at least 16 visible ASCII characters"),
        ((), "expected either --seed or --seed-file"),
        (("--seed", SEED, "--seed-file", "x"), "expected either --seed or --seed-file"),
        (("--seed-file", "missing"), "--seed-file missing: cannot be read"),
        (("--seed", SEED, "--translate", "nobody"), "nobody"),
    ],
    ids=["short", "none", "both", "missing", "unknown control"],
)
def test_wrong_use_is_refused_with_a_hint(root: Path, arguments: tuple[str, ...], words: str) -> None:
    refused = run(root, "suite", "edition", "tiny", "--name", "autumn", *arguments)
    assert (refused.exit_code, words in refused.stderr) == (2, True)


def test_an_unknown_edition_is_refused_with_those_that_exist(root: Path) -> None:
    make(root)
    refused = run(root, "submit", "prompts", "--suite", "tiny", "--edition", "spring")
    assert (refused.exit_code, "the only one is autumn" in refused.stderr) == (2, True)

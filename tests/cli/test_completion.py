"""The shell completes the names of submissions, suites, tasks, worlds and judges, quickly and without an error."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

import pytest

from evaluator.cli.completion import JUDGES
from evaluator.judges import JUDGES as REGISTERED
from evaluator.pipeline.project import Project
from tests.cli.command_runs import COMMAND
from tests.cli.test_separate_troubles import declare

SCRIPT = """
set -eu
eval "$(bashboard --show-completion)"
read -r _ _ _ _ function _ <<<"$(complete -p bashboard)"
for line; do
  mapfile -t -d ' ' COMP_WORDS < <(printf %s "bashboard $line")
  [[ "$line" != *' ' ]] || COMP_WORDS+=('')
  COMP_CWORD=$((${#COMP_WORDS[@]} - 1)) COMPREPLY=()
  "$function" bashboard
  echo "${COMPREPLY[*]-}"
done
"""
"""Sources the completion script, and completes the last word of each line as bash does after the Tab key."""


def completed(folder: Path, lines: Iterable[str]) -> dict[str, list[str]]:
    """Return what bash offers for the last word of each line after `bashboard`."""
    path = f"{COMMAND.parent}{os.pathsep}{os.environ['PATH']}"
    found = subprocess.run(
        ["bash", "--norc", "-c", SCRIPT, "bash", *lines],
        cwd=folder,
        env={**os.environ, "PATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (found.returncode, found.stderr) == (0, "")
    return {line: offered.split() for line, offered in zip(lines, found.stdout.splitlines(), strict=True)}


CASES = {
    "score a": ["always-true"],
    "score good l": ["lazy"],
    "compare good ": ["always-true", "good", "lazy"],
    "standings --suite t": ["theirs", "tiny"],
    "suite show ti": ["tiny"],
    "suite show tiny files-": ["files-1", "files-2"],
    "suite show theirs t": ["theirs-1"],
    "suite verify tiny --task files-2": ["files-2"],
    "explain good --suite tiny f": ["files-1", "files-2"],
    "explain good f": [],  # the suite core is not in this checkout
    "run --suite tiny --world w": ["world"],
    "standings --judge exec-t": ["exec-tfidf"],
    "submit init --method fine": ["fine-tuned"],
    "stand": ["standings"],
    "score moon": [],
}


@pytest.mark.slow
def test_bash_completes_names_of_the_checkout(judged: Project) -> None:
    declare(judged.root)
    (judged.root / "submissions" / "$(echo a)").mkdir()
    assert completed(judged.root, CASES) == CASES


def test_outside_of_a_checkout_nothing_is_completed(tmp_path: Path) -> None:
    lines = ("score a", "suite show t", "explain good f", "run --world w")
    assert completed(tmp_path, lines) == {line: [] for line in lines}


def test_completion_is_installed_for_the_shell_that_calls_it(tmp_path: Path) -> None:
    environment = {**os.environ, "HOME": str(tmp_path)}
    line = f"{COMMAND} --install-completion; exit $?"
    subprocess.run(["bash", "--norc", "-c", line], env=environment, capture_output=True, check=True)
    script = tmp_path / ".bash_completions" / "bashboard.sh"
    assert str(script) in (tmp_path / ".bashrc").read_text()
    assert "complete -o default -F" in script.read_text()


def test_all_judges_are_completed() -> None:
    assert tuple(REGISTERED) == JUDGES


def test_a_completion_imports_nothing_that_does_the_work(judged: Project) -> None:
    program = (
        "import sys\n"
        "from evaluator.cli import app\n"
        "try:\n    app(prog_name='bashboard')\n"
        "finally:\n    print(sorted({'docker', 'numpy', 'polars', 'pydantic'} & sys.modules.keys()), file=sys.stderr)\n"
    )
    words = {"COMP_WORDS": "bashboard explain good --suite tiny f", "COMP_CWORD": "5"}
    found = subprocess.run(
        [sys.executable, "-c", program],
        cwd=judged.root,
        env={**os.environ, **words, "_BASHBOARD_COMPLETE": "complete_bash"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (found.returncode, found.stdout, found.stderr) == (0, "files-1\nfiles-2\n", "[]\n")

"""The shell completes the names of submissions, suites, tasks, worlds and judges, quickly and without an error."""

from __future__ import annotations

import os
import subprocess
import sys
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
COMP_WORDS=(bashboard "$@")
COMP_CWORD=$#
"$function" bashboard
printf '%s\\n' "${COMPREPLY[@]-}"
"""
"""Sources the completion script, and completes the last word of the arguments as bash does after the Tab key."""


def completed(folder: Path, *words: str) -> list[str]:
    """Return what bash offers for the last of these words after `bashboard`."""
    path = f"{COMMAND.parent}{os.pathsep}{os.environ['PATH']}"
    found = subprocess.run(
        ["bash", "--norc", "-c", SCRIPT, "bash", *words],
        cwd=folder,
        env={**os.environ, "PATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (found.returncode, found.stderr) == (0, "")
    return found.stdout.split()


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


@pytest.mark.parametrize("line", CASES)
def test_bash_completes_names_of_the_checkout(judged: Project, line: str) -> None:
    declare(judged.root)
    (judged.root / "submissions" / "$(echo a)").mkdir()
    assert completed(judged.root, *line.split(" ")) == CASES[line]


@pytest.mark.parametrize("line", ["score a", "suite show t", "explain good f", "run --world w"])
def test_outside_of_a_checkout_nothing_is_completed(tmp_path: Path, line: str) -> None:
    assert completed(tmp_path, *line.split(" ")) == []


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

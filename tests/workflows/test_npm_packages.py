"""What npm brings is what was chosen, or nothing is kept of it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from evaluator.testing import workflow_parser


def bring(folder: Path, programs: Path) -> subprocess.CompletedProcess[str]:
    """Ask for GitHub's parser in a folder, where only these programs are on the path."""
    return subprocess.run(
        [sys.executable, "-m", "evaluator.testing.workflow_parser"],
        cwd=folder,
        env={"PATH": str(programs)},
        capture_output=True,
        text=True,
        check=False,
    )


def npm(programs: Path, script: str) -> Path:
    """A folder with an npm that does this."""
    programs.mkdir()
    (programs / "npm").write_text(f"#!/bin/sh\n{script}\n")
    (programs / "npm").chmod(0o755)
    return programs


def test_a_machine_without_npm_is_told_what_to_type(tmp_path: Path) -> None:
    asked = bring(tmp_path, tmp_path / "nothing")
    assert (asked.returncode, asked.stderr) == (1, "this machine lacks npm; type: sudo apt-get install -y npm\n")


def test_an_archive_of_another_integrity_is_refused(tmp_path: Path) -> None:
    asked = bring(tmp_path, npm(tmp_path / "bin", "echo forged > package.tgz"))
    assert asked.returncode == 1
    assert "is not of the integrity that was chosen" in asked.stderr
    assert not (tmp_path / workflow_parser.KEPT).exists()


def test_what_npm_says_of_its_failure_is_shown(tmp_path: Path) -> None:
    asked = bring(tmp_path, npm(tmp_path / "bin", "echo 'no such host' >&2; exit 1"))
    assert "npm did not bring @actions/languageservice@" in asked.stderr
    assert "no such host" in asked.stderr

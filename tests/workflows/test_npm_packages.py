"""A package from npm has the pinned integrity, or the download is discarded."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.doubles import workflow_parser


def fetch(folder: Path, programs: Path) -> subprocess.CompletedProcess[str]:
    """Fetch GitHub's parser into a folder, with only the programs in `programs` on the path."""
    return subprocess.run(
        [sys.executable, "-m", "tests.doubles.workflow_parser"],
        cwd=folder,
        env={"PATH": str(programs)},
        capture_output=True,
        text=True,
        check=False,
    )


def npm(programs: Path, script: str) -> Path:
    """Make the folder `programs` with an `npm` that runs this script, and return the folder."""
    programs.mkdir()
    (programs / "npm").write_text(f"#!/bin/sh\n{script}\n")
    (programs / "npm").chmod(0o755)
    return programs


def test_the_error_without_npm_names_the_command_to_run(tmp_path: Path) -> None:
    result = fetch(tmp_path, tmp_path / "nothing")
    assert (result.returncode, result.stderr) == (1, "this machine lacks npm; type: sudo apt-get install -y npm\n")


def test_an_archive_of_another_integrity_is_refused(tmp_path: Path) -> None:
    result = fetch(tmp_path, npm(tmp_path / "bin", "echo forged > package.tgz"))
    assert result.returncode == 1
    assert "is not of the integrity that was chosen" in result.stderr
    assert not (tmp_path / workflow_parser.KEPT).exists()


def test_an_error_of_npm_is_shown(tmp_path: Path) -> None:
    result = fetch(tmp_path, npm(tmp_path / "bin", "echo 'no such host' >&2; exit 1"))
    assert "npm did not bring @actions/languageservice@" in result.stderr
    assert "no such host" in result.stderr

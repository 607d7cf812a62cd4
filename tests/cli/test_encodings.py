"""Every command prints in every encoding: a character that the encoding lacks is replaced, and escaped in JSON."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from evaluator.pipeline.project import Project
from evaluator.testing.checkouts import write_submission
from tests.cli.command_runs import COMMAND, NOWHERE

ENCODINGS = {
    "ascii": {"PYTHONIOENCODING": "ascii"},
    "latin-1": {"PYTHONIOENCODING": "iso-8859-1"},
    "C": {"LC_ALL": "C"},
    "C without UTF-8": {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
    "an unknown locale": {"LC_ALL": "en_US.ISO-8859-1"},
}


LINES = (
    *("standings", "standings --json", "explain lazy files-1 --suite tiny", "compare good lazy"),
    *("score Modèle…", "check", "submit prompts --suite tiny"),
)
PROGRAM = """
import os, sys
from evaluator.cli import main
import evaluator.cli.tables, evaluator.pipeline.boards.compare, evaluator.pipeline.boards.published_boards
for number, line in enumerate(sys.argv[2:]):
    if not os.fork():
        for descriptor, name in ((1, "out"), (2, "err")):
            os.dup2(os.open(f"{sys.argv[1]}/{number}.{name}", os.O_CREAT | os.O_WRONLY), descriptor)
        sys.argv = ["bashboard", *line.split(" ")]
        main()
    os.wait()
"""
"""Runs each line in a process of its own, in which everything that takes long to import is imported already."""


def surroundings(environment: dict[str, str]) -> dict[str, str]:
    """Return the variables of this process without those of its locale, and with the given ones."""
    plain = {name: value for name, value in os.environ.items() if not name.startswith(("LC_", "LANG", "PYTHONIO"))}
    return {**plain, **NOWHERE, **environment}


def run_in_ascii(project: Project, *arguments: str) -> bytes:
    """Return the standard output of the installed command if its encoding is ASCII."""
    environment = surroundings(ENCODINGS["ascii"])
    return subprocess.run(
        [COMMAND, *arguments], cwd=project.root, env=environment, capture_output=True, check=False
    ).stdout


@pytest.mark.slow
@pytest.mark.parametrize("name", ENCODINGS)
def test_no_encoding_ends_a_command_with_a_traceback(
    judged: Project, tmp_path_factory: pytest.TempPathFactory, name: str
) -> None:
    write_submission(judged.root, "lazy", {"files-1": ["ls a – è", "true"]})
    (judged.root / "submissions" / "Ж").mkdir()
    output = tmp_path_factory.mktemp("output")
    program = [sys.executable, "-c", PROGRAM, str(output), *LINES]
    subprocess.run(program, cwd=judged.root, env=surroundings(ENCODINGS[name]), check=True)
    for number, line in enumerate(LINES):
        stdout, stderr = ((output / f"{number}.{stream}").read_bytes() for stream in ("out", "err"))
        assert stdout or b"\nbashboard: " in b"\n" + stderr, line
        assert b"Traceback" not in stderr, line
        assert b"UnicodeEncodeError" not in stderr, line


def test_a_range_has_a_hyphen_in_ascii(judged: Project) -> None:
    printed = run_in_ascii(judged, "standings")
    assert printed.isascii()
    assert b"0.342-1.000" in printed


def test_json_keeps_every_character_in_ascii(judged: Project) -> None:
    manifest = judged.root / "submissions" / "lazy" / "submission.toml"
    manifest.write_text(manifest.read_text().replace('system = "', 'system = "Modèle – Ж😀 '))
    printed = run_in_ascii(judged, "standings", "--json")
    assert printed.isascii()
    assert [row["system"][:11] for row in json.loads(printed) if row["submission"] == "lazy"] == ["Modèle – Ж😀"]

"""Every command prints in every encoding: a character that the encoding lacks is replaced, and escaped in JSON."""

from __future__ import annotations

import json
import os
import subprocess

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


def run(project: Project, environment: dict[str, str], *arguments: str) -> subprocess.CompletedProcess[bytes]:
    plain = {name: value for name, value in os.environ.items() if not name.startswith(("LC_", "LANG", "PYTHONIO"))}
    environment = {**plain, **NOWHERE, **environment}
    return subprocess.run([COMMAND, *arguments], cwd=project.root, env=environment, capture_output=True, check=False)


@pytest.mark.parametrize("name", ENCODINGS)
@pytest.mark.parametrize(
    "line",
    [
        *("standings", "standings --json", "explain lazy files-1 --suite tiny", "compare good lazy"),
        *("score Modèle…", "check", "submit prompts --suite tiny"),
    ],
)
def test_no_encoding_ends_a_command_with_a_traceback(judged: Project, name: str, line: str) -> None:
    write_submission(judged.root, "lazy", {"files-1": ["ls a – è", "true"]})
    (judged.root / "submissions" / "Ж").mkdir()
    found = run(judged, ENCODINGS[name], *line.split(" "))
    assert found.stdout or b"\nbashboard: " in b"\n" + found.stderr
    assert b"Traceback" not in found.stderr
    assert b"UnicodeEncodeError" not in found.stderr


def test_a_range_has_a_hyphen_in_ascii(judged: Project) -> None:
    found = run(judged, {"PYTHONIOENCODING": "ascii"}, "standings")
    assert found.stdout.isascii()
    assert b"0.342-1.000" in found.stdout


def test_json_keeps_every_character_in_ascii(judged: Project) -> None:
    manifest = judged.root / "submissions" / "lazy" / "submission.toml"
    manifest.write_text(manifest.read_text().replace('system = "', 'system = "Modèle – Ж😀 '))
    found = run(judged, {"PYTHONIOENCODING": "ascii"}, "standings", "--json")
    assert found.stdout.isascii()
    assert [row["system"][:11] for row in json.loads(found.stdout) if row["submission"] == "lazy"] == ["Modèle – Ж😀"]

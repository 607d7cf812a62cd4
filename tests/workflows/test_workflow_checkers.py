"""What checks workflow files finds nothing in ours, and finds what was planted."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from workflow_yaml import ACTIONS, FOLDER, ROOT, WORKFLOWS

from evaluator.testing import workflow_parser

PROGRAMS = Path(sys.executable).parent
IGNORED = {("dangerous-triggers", "recall.yml"), ("dangerous-triggers", "report.yml")}
"""What zizmor finds and a comment in the file answers: these run for strangers, and touch nothing of theirs."""


def zizmor(folder: Path, *options: str) -> set[tuple[str, str]]:
    """What zizmor finds without the network: the audit's name and the file's."""
    ran = subprocess.run(
        [PROGRAMS / "zizmor", "--offline", "--no-progress", "--persona=auditor", "--format=json", *options, folder],
        capture_output=True,
        check=False,
    )
    return {
        (finding["ident"], Path(location["symbolic"]["key"]["Local"]["verbatim_path"]).name)
        for finding in json.loads(ran.stdout)
        for location in finding["locations"]
    }


def test_zizmor_finds_nothing() -> None:
    """In the persona that reports most."""
    assert zizmor(FOLDER) == set()


def test_what_zizmor_is_told_to_overlook_is_one_thing() -> None:
    assert zizmor(FOLDER, "--no-ignores") == IGNORED


@pytest.fixture(scope="module")
def kept() -> Path:
    folder = ROOT / workflow_parser.KEPT
    if not folder.is_dir() or shutil.which("node") is None:
        pytest.skip("GitHub's parser is not here; make description fetches it")
    return folder


def test_githubs_own_parser_finds_nothing(kept: Path) -> None:
    names = [str(path.relative_to(ROOT)) for path in (*WORKFLOWS, *ACTIONS)]
    assert workflow_parser.findings(kept, ROOT, names) == []


SCHEMAS = {
    "github-workflows": WORKFLOWS,
    "github-actions": ACTIONS,
    "github-issue-forms": [path for path in (FOLDER / "ISSUE_TEMPLATE").iterdir() if path.name != "config.yml"],
    "github-issue-config": [FOLDER / "ISSUE_TEMPLATE" / "config.yml"],
    "dependabot": [FOLDER / "dependabot.yml"],
}


def against_schema(name: str, paths: list[Path]) -> str:
    """What the schema of that name refuses in files; nothing where it takes them."""
    ran = subprocess.run(
        [PROGRAMS / "check-jsonschema", "--builtin-schema", f"vendor.{name}", *paths],
        capture_output=True,
        text=True,
        check=False,
    )
    return ran.stdout + ran.stderr if ran.returncode else ""


@pytest.mark.parametrize("name", SCHEMAS)
def test_files_have_the_shape_that_github_takes(name: str) -> None:
    assert against_schema(name, SCHEMAS[name]) == ""


SHA = "@3d3c42e5aac5ba805825da76410c181273ba90b1 # v7.0.1"
AUDITED = {
    "a pull request's title in a script": (
        "run: make test",
        "run: echo ${{ github.event.pull_request.title }}",
        "template-injection",
    ),
    "an action by its tag": (f"checkout{SHA}", "checkout@v7", "unpinned-uses"),
    "main's token for a fork": ("  pull_request:\n", "  pull_request_target:\n", "dangerous-triggers"),
    "credentials left in the checkout": ("persist-credentials: false", "persist-credentials: true", "artipacked"),
    "a token that may do anything": ("permissions: {}", "permissions: write-all", "excessive-permissions"),
}
REFUSED = {
    "an unknown key": ("publish.yml", "runs-on:", "run-on:", "Unexpected value 'run-on'"),
    "an unknown context": (
        "derive.yml",
        "matrix.submission }}",
        "matix.submission }}",
        "Unrecognized named-value: 'matix'",
    ),
    "an unknown job": ("publish.yml", "needs: build", "needs: bild", "Job 'deploy' depends on unknown job 'bild'."),
    "an unknown permission": ("publish.yml", "pages: write", "page: write", "Unexpected value 'page'"),
    "an input of no type": ("derive.yml", "type: boolean", "type: bool", "Unexpected value 'bool'"),
    "an unknown input of a call": (
        "publish.yml",
        "stale: false",
        "stael: false",
        "Invalid input, stael is not defined in the referenced workflow.",
    ),
    "a missing input of a call": (
        "rescore.yml",
        "stale: true\n      ",
        "",
        "Input stale is required, but not provided while calling.",
    ),
    "an unknown secret of a call": (
        "publish.yml",
        "      BASHBOARD_PANEL_KEY:",
        "      PANEL_KEY:",
        "Invalid secret, PANEL_KEY is not defined in the referenced workflow.",
    ),
}


def planted(folder: Path, name: str, ours: str, theirs: str) -> str:
    """A copy of our files in which one is changed; that one's path."""
    shutil.copytree(FOLDER, folder / ".github")
    path = Path(".github", "workflows", name)
    text = (ROOT / path).read_text()
    assert ours in text
    (folder / path).write_text(text.replace(ours, theirs))
    return str(path)


@pytest.mark.parametrize("case", AUDITED)
def test_zizmor_finds_what_is_planted(case: str, tmp_path: Path) -> None:
    ours, theirs, audit = AUDITED[case]
    planted(tmp_path, "ci.yml", ours, theirs)
    assert (audit, "ci.yml") in zizmor(tmp_path)


@pytest.mark.parametrize("case", REFUSED)
def test_githubs_parser_finds_what_is_planted(case: str, kept: Path, tmp_path: Path) -> None:
    name, ours, theirs, refusal = REFUSED[case]
    path = planted(tmp_path, name, ours, theirs)
    found = workflow_parser.findings(kept, tmp_path, [path])
    assert refusal in {line.split(": ", 1)[1] for line in found}


def test_a_schema_refuses_what_is_planted(tmp_path: Path) -> None:
    path = planted(tmp_path, "ci.yml", "timeout-minutes: 60", "timeout-minutes: [60]")
    assert "timeout-minutes" in against_schema("github-workflows", [tmp_path / path])

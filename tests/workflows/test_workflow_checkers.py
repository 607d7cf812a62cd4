"""The checkers of workflow files accept the files of this repository and report mistakes that a test plants."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from check_jsonschema import main as check_jsonschema
from click.testing import CliRunner

from tests.doubles import workflow_parser
from tests.workflows.workflow_yaml import ACTIONS, FOLDER, ROOT, WORKFLOWS

PROGRAMS = Path(sys.executable).parent
IGNORED = {
    ("concurrency-limits", "recall.yml"),
    ("dangerous-triggers", "recall.yml"),
    ("dangerous-triggers", "report.yml"),
    ("dangerous-triggers", "site.yml"),
}
"""Findings that a comment in the file justifies. These workflows run for contributors without executing their code."""


def zizmor(folder: Path, *options: str) -> set[tuple[str, str]]:
    """Run zizmor without the network, and return its findings as pairs of an audit and a file name."""
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
    """zizmor finds nothing, even with its strictest persona `auditor`."""
    assert zizmor(FOLDER) == set()


def test_zizmor_ignores_only_the_answered_findings() -> None:
    assert zizmor(FOLDER, "--no-ignores") == IGNORED


@pytest.fixture(scope="module")
def parser() -> Path:
    folder = ROOT / workflow_parser.KEPT
    if not folder.is_dir() or shutil.which("node") is None:
        pytest.skip("GitHub's parser is missing; `make description` fetches it")
    return folder


@pytest.mark.npm
def test_githubs_own_parser_finds_nothing(parser: Path) -> None:
    names = [str(path.relative_to(ROOT)) for path in (*WORKFLOWS, *ACTIONS)]
    assert workflow_parser.findings(parser, ROOT, names) == []


SCHEMAS = {
    "github-workflows": WORKFLOWS,
    "github-actions": ACTIONS,
    "github-issue-forms": [path for path in (FOLDER / "ISSUE_TEMPLATE").iterdir() if path.name != "config.yml"],
    "github-issue-config": [FOLDER / "ISSUE_TEMPLATE" / "config.yml"],
    "dependabot": [FOLDER / "dependabot.yml"],
}


def against_schema(name: str, paths: list[Path]) -> str:
    """Return the errors of a schema in files, or an empty text."""
    words = ["--builtin-schema", f"vendor.{name}", *map(str, paths)]
    ran = CliRunner().invoke(check_jsonschema, words, prog_name="check-jsonschema")
    return ran.output if ran.exit_code else ""


@pytest.mark.parametrize("name", SCHEMAS)
def test_files_match_the_schemas_of_github(name: str) -> None:
    assert against_schema(name, SCHEMAS[name]) == ""


SHA = "@3d3c42e5aac5ba805825da76410c181273ba90b1 # v7.0.1"
AUDITED = {
    "the title of a pull request in a script": (
        "ci.yml",
        "run: make test",
        "run: echo ${{ github.event.pull_request.title }}",
        "template-injection",
    ),
    "an action by its tag": ("ci.yml", f"checkout{SHA}", "checkout@v7", "unpinned-uses"),
    "the token of main for a fork": ("ci.yml", "  pull_request:\n", "  pull_request_target:\n", "dangerous-triggers"),
    "credentials in the checkout": (
        "ci.yml",
        "persist-credentials: false",
        "persist-credentials: true",
        "artipacked",
    ),
    "a token with every permission": ("ci.yml", "permissions: {}", "permissions: write-all", "excessive-permissions"),
    "a call with every secret": (
        "publish.yml",
        "secrets:\n      BASHBOARD_PANEL_KEY: ${{ secrets.BASHBOARD_PANEL_KEY }}",
        "secrets: inherit",
        "secrets-inherit",
    ),
    "a called workflow of another repository": (
        "rescore.yml",
        "uses: $/.github/workflows/derive.yml",
        "uses: else/where/.github/workflows/derive.yml@main",
        "unpinned-uses",
    ),
}
REFUSED = {
    "an unknown key": ("publish.yml", "runs-on:", "run-on:", "Unexpected value 'run-on'"),
    "an unknown context": (
        "derive.yml",
        "matrix.submission }}",
        "matix.submission }}",
        "Unrecognized named-value: 'matix'",
    ),
    "an unknown job": ("site.yml", "needs: build", "needs: bild", "Job 'deploy' depends on unknown job 'bild'."),
    "an unknown permission": ("site.yml", "pages: write", "page: write", "Unexpected value 'page'"),
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


def plant(folder: Path, name: str, before: str, after: str) -> str:
    """Copy the workflow files, change one of them, and return the path of the changed file."""
    shutil.copytree(FOLDER, folder / ".github")
    path = Path(".github", "workflows", name)
    text = (ROOT / path).read_text()
    assert before in text
    (folder / path).write_text(text.replace(before, after))
    return str(path)


@pytest.mark.parametrize("case", AUDITED)
def test_zizmor_reports_a_planted_mistake(case: str, tmp_path: Path) -> None:
    name, before, after, audit = AUDITED[case]
    plant(tmp_path, name, before, after)
    assert (audit, name) in zizmor(tmp_path)


@pytest.mark.npm
@pytest.mark.parametrize("case", REFUSED)
def test_githubs_parser_reports_a_planted_mistake(case: str, parser: Path, tmp_path: Path) -> None:
    name, before, after, message = REFUSED[case]
    path = plant(tmp_path, name, before, after)
    findings = workflow_parser.findings(parser, tmp_path, [path])
    assert message in {line.split(": ", 1)[1] for line in findings}


def test_a_schema_reports_a_planted_mistake(tmp_path: Path) -> None:
    path = plant(tmp_path, "ci.yml", "timeout-minutes: 60", "timeout-minutes: [60]")
    assert "timeout-minutes" in against_schema("github-workflows", [tmp_path / path])

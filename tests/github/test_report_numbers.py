"""The numbers that a pull request's run left are shown, or a reason is given."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Iterator

import pytest

from evaluator.github.comment.body import render_comment
from evaluator.pipeline.pull_requests.report import read_run_preview
from evaluator.records import Preview
from tests.doubles.github import GitHubServer, WorkflowRun
from tests.github.github_harness import GithubHarness
from tests.github.report_harness import ReportHarness, packed, previewed, rival_row, tiny_preview


class Numbers:
    """A pull request that can have any number of runs."""

    def __init__(self, board: ReportHarness) -> None:
        self.board = board
        self.pull = board.offer(board.submission())

    def run(self, archive: bytes | None) -> WorkflowRun:
        made = self.board.github.run(self.board.harness.board, self.pull)
        if archive is not None:
            self.board.github.upload(made, "preview", archive)
        return made

    def read(self, run: WorkflowRun) -> tuple[Preview | None, str]:
        return read_run_preview(self.board.project, self.board.harness.connect(), run.id, "mine", {"tiny": "1.0.0"})


@pytest.fixture(scope="module")
def numbers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Numbers]:
    folder = tmp_path_factory.mktemp("board")
    with GitHubServer(folder) as github:
        yield Numbers(ReportHarness(GithubHarness(github), folder))


def linked() -> zipfile.ZipInfo:
    about = zipfile.ZipInfo("preview.json")
    about.create_system, about.external_attr = 3, 0o120777 << 16
    return about


HTML = "<img src=https://evil.example/x.png onerror=alert(1)>"
FORGED: dict[str, tuple[bytes | None, str]] = {
    "none": (None, "the run has no artifact 'preview'"),
    "another's": (previewed("best", rivals=[]), "is of submission 'best': expected 'mine'"),
    "one that does not add up": (previewed(passed=5), "the outcomes do not add up to the tasks asked"),
    "another suite": (previewed(suite="core"), "it is of suite 'core'"),
    "another version": (previewed(suite_version="2.0.0"), "it is of tiny 2.0.0: expected version 1.0.0"),
    "more tasks than there are": (previewed(not_asked=7), "it counts 12 tasks: expected at most 5"),
    "rivals that are none": (previewed(rivals=[{**rival_row("nobody"), "roles": ["leader"]}]), "compares with nobody"),
    "HTML for a name": (previewed(HTML), "submission: "),
    "HTML for a count": (previewed(passed=HTML), "passed: "),
    "a bomb": (packed(("preview.json", b" " * 3_000_000)), "3000000 bytes: expected at most"),
    "a link": (packed((linked(), b"/etc/passwd")), "is not a regular file"),
    "an absolute path": (packed(("/preview.json", b"{}")), "has 0 files 'preview.json'"),
    "a path upwards": (packed(("../preview.json", b"{}")), "has 0 files 'preview.json'"),
    "no archive": (b"preview", "is not a readable zip"),
    "no JSON": (packed(("preview.json", b"\xff\0")), "Invalid JSON"),
}


@pytest.mark.parametrize("name", FORGED)
def test_what_is_not_to_be_believed_is_not_shown_and_it_is_said_why(numbers: Numbers, name: str) -> None:
    archive, words = FORGED[name]
    preview, why = numbers.read(numbers.run(archive))
    assert preview is None
    assert words in why
    assert why.isprintable()


def test_of_two_files_the_one_is_read_and_nothing_is_unpacked(numbers: Numbers) -> None:
    archive = packed(("../../evil.sh", b"x"), ("preview.json", json.dumps(tiny_preview()).encode()))
    assert numbers.read(numbers.run(archive)) == (Preview.model_validate(tiny_preview()), "")


def test_an_artifact_that_has_expired_is_said_so(numbers: Numbers) -> None:
    run = numbers.run(previewed())
    run.artifacts[0].expired = True
    assert numbers.read(run) == (None, "artifact 'preview' has expired")


def test_a_text_in_a_number_that_is_sound_is_shown_as_code(numbers: Numbers) -> None:
    """The run chooses the judge's name, so a valid preview may contain hostile text there. It is shown as code."""
    preview, _ = numbers.read(numbers.run(previewed(judge=HTML)))
    assert preview is not None
    assert f"judged by `{HTML}`" in render_comment("mine", [], preview)

"""Attacks by code that escaped from a job with a submission, and kept the run's artifact token and the cache token.

The attacker plants code and pages in everything that later jobs receive. The tests check that no job executes or
deploys them.
"""

from __future__ import annotations

import io
import sys
import tarfile
import zipfile
from collections.abc import Mapping

import pytest

from tests.doubles.github import Artifact
from tests.doubles.workflows import JobContext, RunResult, dispatched
from tests.workflows.life_bench import ANSWERS, Life, below, submission

pytestmark = [pytest.mark.engine, pytest.mark.early]

PLANTED = "PLANTED-CODE-WAS-EXECUTED"
CODE = f"""import os
import sys
print("{PLANTED}", "with a token" if "GITHUB_TOKEN" in os.environ else "without a token", file=sys.stderr)
"""
COMMANDS = "echo '::set-output name=published::x'; echo '##[set-output name=submissions;][]'"
"""Two commands to the runner in an old syntax that GitHub still obeys. The runner of these tests refuses both."""

PAGE = "<script>alert(document.domain)</script>"
PACKAGE = "evaluator/cli/__init__.py"
PLACES = (
    PACKAGE,
    f"../tools/python/lib/python{sys.version_info.major}.{sys.version_info.minor}/site-packages/{PACKAGE}",
)
"""The path of the package in a checkout, and its path after an installation on the machine of a job."""


class ForgedArtifacts(list[Artifact]):
    """The artifacts of a run. An artifact is forged when a later job uploads it."""

    def append(self, artifact: Artifact) -> None:
        if artifact.name == "published":
            artifact.content = with_files(artifact.content, {PACKAGE: CODE.encode(), "fixtures/x": b""})
        if artifact.name == "github-pages":
            artifact.content = with_files(b"", {"artifact.tar": tar_with(b"", {"index.html": PAGE.encode()})})
        super().append(artifact)


def with_files(packed: bytes, files: Mapping[str, bytes]) -> bytes:
    """Return a ZIP archive with added files."""
    held = io.BytesIO(packed)
    with zipfile.ZipFile(held, "a") as archive:
        for path, content in files.items():
            archive.writestr(path, content)
    return held.getvalue()


def tar_with(packed: bytes, files: Mapping[str, bytes]) -> bytes:
    """Return a tar archive with added files, whose names may be any paths. `packed` may be empty."""
    held = io.BytesIO(packed)
    with tarfile.open(fileobj=held, mode="a" if packed else "w") as archive:
        for path, content in files.items():
            entry = tarfile.TarInfo(path)
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))
    return held.getvalue()


def forge(seat: JobContext) -> None:
    """Forge the artifacts that later jobs of the run upload, and every cache entry that later runs restore."""
    seat.run.artifacts = ForgedArtifacts(seat.run.artifacts)
    for entry in seat.caches.entries:
        code = dict.fromkeys(PLACES, CODE.encode())
        entry.file.write_bytes(tar_with(entry.file.read_bytes(), code))


@pytest.fixture(scope="module")
def attacked(life: Life) -> RunResult:
    """A run of `publish` with a secret in the environment `publish`, in which code escapes from a job."""
    token = life.github.token({"contents": "write", "pull_requests": "write", "metadata": "read"})
    life.actions.environments = {"publish": {"BASHBOARD_PUBLISH_TOKEN": token}}
    life.actions.escapes["derive / execute (rules)"] = forge
    try:
        return life.since(None, "publish")["publish"]
    finally:
        life.actions.escapes.clear()


def test_no_job_executes_code_from_an_artifact(attacked: RunResult) -> None:
    """No job executes code from an artifact.

    The job `commit` receives the planted code beside the archive, and still runs the code of main.
    """
    (published,) = (artifact for artifact in attacked.run.artifacts if artifact.name == "published")
    assert PACKAGE in zipfile.ZipFile(io.BytesIO(published.content)).namelist()
    assert attacked.jobs["commit"].secrets == {"BASHBOARD_PUBLISH_TOKEN"}
    assert PLANTED not in attacked.log
    assert attacked.conclusion == "success", attacked.log


def test_the_site_is_not_taken_from_the_run_with_an_escape(life: Life, attacked: RunResult) -> None:
    assert isinstance(attacked.run.artifacts, ForgedArtifacts)
    site = life.run_site(attacked)
    assert site.conclusion == "success", site.log
    assert life.site("index.html") != PAGE
    assert "rules" in life.site("index.html")


@pytest.mark.soak
def test_a_forged_cache_entry_executes_nothing(life: Life, attacked: RunResult) -> None:
    """Code in a forged cache entry is not executed, because the job that restores the entry runs no command afterwards.

    This job may pass on a forged image. The next job compares the image's digest, and builds the image itself.
    """
    assert attacked.conclusion == "success", attacked.log
    restored: list[str] = []

    def take_over(seat: JobContext) -> None:
        restored.extend(path for path in PLACES if PLANTED in (seat.machine.workspace / path).read_text())
        seat.shelf.remove("restored")
        seat.shelf.put("restored", {"image.tar.gz": b"forged", PACKAGE: CODE.encode(), "references/x": b"{}"})

    life.actions.escapes["derive / restore"] = take_over
    try:
        later = life.actions.trigger(dispatched(life.board, "publish.yml", life.maintainer))["publish"]
    finally:
        life.actions.escapes.clear()
    assert restored == list(PLACES)
    assert PLANTED not in later.log
    assert "image.tar.gz has the SHA-256" in later.jobs["derive / prepare"].log
    assert later.conclusion == "success", later.log


@pytest.mark.soak
def test_forged_references_reach_no_verdict(life: Life, attacked: RunResult) -> None:
    """If an attacker replaces the evidence of the references, the judge stops and nothing is published."""
    assert attacked.conclusion == "success", attacked.log
    before = life.main
    fork = life.github.fork(life.board, life.github.user("robber"))
    fork.git.commit("mine", below("robber", submission({**ANSWERS, "files-003": [COMMANDS]}, system=COMMANDS)))
    life.github.merge(life.board, life.github.open_pull(life.board, fork, "mine"))

    def replace_references(seat: JobContext) -> None:
        seat.shelf.remove("references")
        seat.shelf.put("references", {"references/core.jsonl.gz": b"forged"})

    life.actions.escapes["derive / execute (robber)"] = replace_references
    try:
        stopped = life.since(before, "publish")["publish"]
    finally:
        life.actions.escapes.clear()
    assert "references: has the digest" in stopped.jobs["derive / judge"].log, stopped.log
    assert stopped.jobs["commit"].conclusion == "skipped"
    assert not [path for path in life.paths() if path.startswith("submissions/robber/core.verdicts")]

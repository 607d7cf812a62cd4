"""Tests of `bashboard fetch`, which fetches the published branch with Git and imports the required evidence.

Git is real, and the files of the branch are only read as data.
"""

from __future__ import annotations

import base64
import json
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from evaluator.pipeline.boards.scored_boards import make_boards
from evaluator.pipeline.evidence.bundle import Bundle, read_bundle, write_bundle
from evaluator.pipeline.project import Project
from evaluator.progress import NullProgress
from evaluator.records import BundleHeader
from evaluator.store import Store
from evaluator.testing.evidence import evidence
from tests.publishing.evidence_harness import ANSWERS, FIRST, REFERENCES, SECOND, Remote, bundles, checkout, git, run


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """The published files of another checkout with the same suite and submissions."""
    root = tmp_path_factory.mktemp("published")
    return bundles(checkout(root / "there"), root / "out")


@pytest.fixture
def remote(tmp_path: Path) -> Remote:
    return Remote(tmp_path)


@pytest.fixture
def here(tmp_path: Path, remote: Remote) -> Project:
    project = checkout(tmp_path / "here")
    git(project.root, "remote", "add", "origin", str(remote.path))
    return project


def evidence_of(data: bytes, slug: str | None = None) -> Bundle:
    return read_bundle(data, suite="tiny", submission=slug, expected=None)


def test_what_was_executed_elsewhere_need_not_be_executed_again(
    here: Project, remote: Remote, published: dict[str, bytes]
) -> None:
    """A board can be computed from fetched evidence without an engine."""
    commit = remote.publish(published)
    found = run(here.root, "fetch", "--json")
    assert found.exit_code == 0, found.output
    said = json.loads(found.stdout)
    runs = sum(
        len(evidence_of(published[path], slug).evidence)
        for path, slug in ((REFERENCES, None), (FIRST, "first"), (SECOND, "second"))
    )
    assert (said["commit"], said["bundles"], said["runs"], said["passed_over"]) == (commit, 3, runs, {})
    (board,) = make_boards(here, NullProgress(), execute=False)
    assert {row.submission: row.passed for row in board.standings} == {"first": 1, "second": 1}


def test_the_references_come_without_any_submission(here: Project, remote: Remote, published: dict[str, bytes]) -> None:
    """With `--references`, only the evidence of references is imported. A local preview needs no other evidence."""
    remote.publish(published)
    said = json.loads(run(here.root, "fetch", "--references", "--json").stdout)
    assert (said["bundles"], said["runs"]) == (1, len(evidence_of(published[REFERENCES]).evidence))
    assert not (here.root / ".bashboard" / "evidence" / FIRST).exists()


def test_the_branchs_files_stay_as_they_are_there(here: Project, remote: Remote, published: dict[str, bytes]) -> None:
    """The fetched files equal those of the branch's newest commit. A file that was removed there is removed locally
    too.
    """
    remote.publish(published)
    run(here.root, "fetch")
    newer = {name: data for name, data in published.items() if name != SECOND}
    remote.publish(newer)
    assert run(here.root, "fetch").exit_code == 0
    folder = here.root / ".bashboard" / "evidence"
    files = {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    assert files == newer


def test_nothing_is_checked_out_and_no_history_comes_along(
    here: Project, remote: Remote, published: dict[str, bytes]
) -> None:
    older = remote.publish(published)
    newest = remote.publish(published)
    before = git(here.root, "status", "--porcelain")
    assert run(here.root, "fetch", GIT_DIR="/nowhere", GIT_WORK_TREE="/nowhere").exit_code == 0
    assert git(here.root, "for-each-ref", "--format=%(refname) %(objectname)") == f"refs/bashboard/evidence {newest}"
    assert older not in git(here.root, "rev-list", "--all")
    assert not (here.root / ".git" / "FETCH_HEAD").exists()
    assert git(here.root, "status", "--porcelain").replace("?? .bashboard/\n", "") in (
        before,
        f"?? .bashboard/\n{before}",
    )


def test_without_the_branch_nothing_is_published_yet(here: Project, remote: Remote) -> None:
    found = run(here.root, "fetch")
    assert (found.exit_code, found.stdout) == (0, "origin has no branch evidence: no evidence is published yet\n")
    assert not (here.root / ".bashboard" / "evidence").exists()


def test_what_is_not_needed_or_broken_is_passed_over_and_counted(
    tmp_path: Path, remote: Remote, published: dict[str, bytes]
) -> None:
    project = checkout(tmp_path / "later", {"first": {**ANSWERS["first"], "files-1": ["right"]}})
    other = BundleHeader(format=2, suite="tiny", fingerprint="e" * 64)
    files = {
        **published,
        REFERENCES: write_bundle(Bundle(other, ())),
        "references/gone.jsonl.gz": published[REFERENCES],
        "submissions/first/core.jsonl.gz": published[FIRST],
        "submissions/third/tiny.jsonl.gz": b"never opened",
        "README.md": b"# Evidence",
        "submissions/first/tiny.verdicts.jsonl": b"",
    }
    remote.publish(files, links={"references/linked.jsonl.gz": "/etc/passwd"})
    found = run(project.root, "fetch", "--remote", str(remote.path))
    assert found.exit_code == 0, found.output
    assert "1 bundle: 2 runs, 0 replies" in found.stdout
    said = [line.partition("skipped: ")[2] for line in found.stderr.splitlines() if "skipped: " in line]
    assert sorted(said) == [
        "1 bundle of another environment",
        "2 bundles of submissions that are not here or break their format",
        "2 bundles of suites that are not here",
        "2 runs of commands that are not in this checkout",
        "3 files that are no published evidence",
    ]


def test_a_broken_bundle_keeps_no_other_from_being_taken(
    here: Project, remote: Remote, published: dict[str, bytes]
) -> None:
    remote.publish({**published, FIRST: published[FIRST] + b"junk", "images.json": b"{}"})
    found = run(here.root, "fetch", "--json")
    said = json.loads(found.stdout)
    assert (found.exit_code, said["bundles"]) == (0, 2)
    assert any("bytes after its end" in fault for fault in said["faults"])
    assert any("images.json" in fault for fault in said["faults"])


def test_a_submissions_bundle_cannot_stand_in_for_a_reference(
    here: Project, remote: Remote, published: dict[str, bytes]
) -> None:
    """Evidence of a reference is imported only from the bundle of the references.

    Other submissions are compared with this evidence, so no submission may supply it.
    """
    honest, theirs = evidence_of(published[FIRST], "first"), evidence_of(published[REFERENCES])
    forged = tuple(each.model_copy(update={"evidence": evidence("forged\n")}) for each in theirs.evidence)
    poisoned = write_bundle(Bundle(honest.header, (*honest.evidence, *forged)))
    without = {name: data for name, data in published.items() if name != REFERENCES}
    remote.publish({**without, FIRST: poisoned})
    said = json.loads(run(here.root, "fetch", "--json").stdout)
    assert said["not_needed"] == len(forged)
    with closing(Store(here.store_path)) as store:
        assert store.evidence(theirs.by_run) == {}


@pytest.mark.parametrize(
    "name", ["-x", "a..b", "a//b", "a b", "a/", "a.lock", "", "--upload-pack=touch x", "a\nb", "~x"]
)
def test_a_branch_name_that_is_none_never_reaches_git(here: Project, name: str) -> None:
    found = run(here.root, "fetch", f"--branch={name}")
    assert (found.exit_code, "expected a branch's name" in found.stderr) == (2, True)


@pytest.mark.parametrize("remote_name", ["--upload-pack=touch x", "-o", "", "a\x1b"])
def test_a_remote_that_is_an_option_never_reaches_git(here: Project, remote_name: str) -> None:
    assert run(here.root, "fetch", f"--remote={remote_name}").exit_code == 2


@pytest.mark.parametrize("address", ["nowhere", "ext::sh -c touch% escaped", "fd::17"])
def test_what_git_refuses_is_said_in_its_words(here: Project, address: str) -> None:
    found = run(here.root, "fetch", "--remote", address)
    assert found.exit_code == 3
    assert "git ls-remote ended with 128: fatal: " in found.stderr
    assert not (here.root / "escaped").exists()


@contextmanager
def listening() -> Iterator[tuple[str, list[str | None]]]:
    """Run a server that answers every request with 404, and yield its address and the authorisation headers it
    received.
    """
    shown: list[str | None] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            shown.append(self.headers.get("Authorization"))
            self.send_error(404)

        def log_message(self, *words: object) -> None:
            """Log nothing."""

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}", shown
        finally:
            server.shutdown()
            thread.join()


def test_a_jobs_token_is_shown_to_githubs_server_and_to_no_other(here: Project) -> None:
    basic = base64.b64encode(b"x-access-token:t0ken").decode()
    with listening() as (address, shown):
        job = {"GITHUB_ACTIONS": "true", "GITHUB_TOKEN": "t0ken"}
        run(here.root, "fetch", "--remote", f"{address}/a/b", **job, GITHUB_SERVER_URL=address)
        run(here.root, "fetch", "--remote", f"{address}/a/b", **job, GITHUB_SERVER_URL="http://127.0.0.1:1")
        run(
            here.root,
            "fetch",
            "--remote",
            f"{address}/a/b",
            **(job | {"GITHUB_ACTIONS": ""}),
            GITHUB_SERVER_URL=address,
        )
    assert shown == [f"basic {basic}", None, None]

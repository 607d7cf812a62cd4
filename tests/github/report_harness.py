"""A board for tests of reports: its checkout holds the same files as its repository on the GitHub double."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

from evaluator.pipeline.pull_requests.report import Report, report
from evaluator.pipeline.submissions.ownership import owners_bytes
from evaluator.records import Owners
from evaluator.testing.checkouts import small_checkout, small_task, write_submission
from tests.doubles.github import Pull
from tests.github.github_harness import GithubHarness
from tests.github.preview_examples import document

SERVER = "https://github.example"
TASKS = [small_task(f"files-{number}") for number in range(1, 6)]
ANSWERS = {task.id: ["right"] for task in TASKS}
VERDICTS = b'{"format":1}\n'

STANDING = ("always", "best", "old")
"""The submissions on the board, in this order: one of the project, one of another account, one of the contributor."""


def tiny_preview(slug: str = "mine", **fields: Any) -> dict[str, Any]:
    """Return a valid preview for the suite of five tasks: three tasks passed, and a rank from 1 to 3 among 3."""
    topics = {"files": {"asked": 5, "passed": 3}}
    counts = {"asked": 5, "passed": 3, "failed": 2, "timeout": 0, "invalid": 0, "unanswered": 0}
    shares = {"accuracy": 0.6, "accuracy_low": 0.2, "accuracy_high": 0.9, "accuracy_upper": 0.6}
    places = {"ranked": 3, "rank_low": 1, "rank_high": 3, "tie_group": 1}
    best = {**rival_row("best"), "roles": ["leader"]}
    told = {"suite": "tiny", "suite_version": "1.0.0", "submission": slug, "topics": topics, "rivals": [best]}
    return document(**{**counts, **shares, **places, **told, "alone": {}, **fields})


def rival_row(slug: str) -> dict[str, Any]:
    """Return a submission that passes four of the five tasks."""
    intervals = {"difference": -0.2, "difference_low": -0.6, "difference_high": 0.2, "p_value": 0.5}
    topics = {"files": {"asked": 5, "passed": 4}}
    return {
        "submission": slug,
        "asked": 5,
        "passed": 4,
        "topics": topics,
        **intervals,
        "gained": {},
        "lost": {"total": 1},
    }


def packed(*members: tuple[str | zipfile.ZipInfo, bytes]) -> bytes:
    """Return a zip archive of these members, as GitHub stores an artifact."""
    kept = io.BytesIO()
    with zipfile.ZipFile(kept, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members:
            archive.writestr(name, content)
    return kept.getvalue()


def previewed(slug: str = "mine", **fields: Any) -> bytes:
    """Return the artifact of a run that computed a valid preview."""
    return packed(("preview.json", json.dumps(tiny_preview(slug, **fields)).encode()))


class ReportHarness:
    """The checkout from which reports are made, and the contributor's fork."""

    def __init__(self, harness: GithubHarness, root: Path, settings: str = "") -> None:
        self.harness, self.github = harness, harness.github
        self.root = root
        self.project = small_checkout(root / "board", TASKS, dict.fromkeys(STANDING, ANSWERS))
        self.other = self.github.user("other")
        (self.project.root / "pyproject.toml").write_text(settings)
        (self.project.root / "submissions" / "old" / "tiny.verdicts.jsonl").write_bytes(VERDICTS)
        self.own({"always": None, "best": self.other.id, "old": harness.stranger.id, "once": self.other.id})
        held = {path: path.read_bytes() for path in (self.project.root / "submissions").rglob("*") if path.is_file()}
        files: dict[str, Any] = {str(path.relative_to(self.project.root)): data for path, data in held.items()}
        harness.board.git.commit("main", {"submissions/old/core.jsonl": None, **files})
        harness.fork.git.fetch(harness.board.git, "refs/heads/main", "refs/heads/main")

    def own(self, owners: Mapping[str, int | None]) -> None:
        """Register exactly these owners of submissions."""
        made = owners_bytes(Owners(format=1, owners=dict(owners)))
        (self.project.root / "submissions" / "owners.json").write_bytes(made)

    def submission(self, slug: str = "mine", answers: Mapping[str, list[str]] = ANSWERS) -> dict[str, Any]:
        """Return the files of a valid submission as a mapping from path to content."""
        folder = write_submission(self.root / "scratch", slug, answers)
        return {f"submissions/{slug}/{path.name}": path.read_bytes() for path in folder.iterdir()}

    def offer(self, files: Mapping[str, Any], branch: str = "mine", **fields: Any) -> Pull:
        """Open a pull request of the contributor with these files."""
        return self.harness.pull(branch, files, **fields)

    def answer(self, pull: Pull, archive: bytes | None = None, *, now: datetime | None = None, **fields: Any) -> Report:
        """Add a workflow run of the pull request with this artifact, and report on the run."""
        run = self.github.run(self.harness.board, pull)
        if archive is not None:
            self.github.upload(run, "preview", archive)
        return self.report(run.id, now=now, **fields)

    def report(self, run: int, *, now: datetime | None = None, **fields: Any) -> Report:
        """Report on a workflow run."""
        connection = self.harness.connect()
        return report(self.project, connection, run, now=now or self.github.now, server=SERVER, **fields)

    def force(self, pull: Pull, files: Mapping[str, Any]) -> None:
        """Force-push a new history to the pull request's branch."""
        self.move(pull, self.harness.fork.git.resolve("refs/heads/main"))
        self.github.push(self.harness.board, pull, files)

    def move(self, pull: Pull, commit: str) -> None:
        """Move the pull request's branch to a commit."""
        (self.harness.fork.git.folder / "refs" / "heads" / pull.head_ref).write_text(f"{commit}\n")
        self.github.pushed(self.harness.board, pull)

    def written(self) -> list[str]:
        """Return the requests that change something on GitHub."""
        return [each for each in self.harness.asked() if not each.startswith("GET ")]

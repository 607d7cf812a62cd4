"""Build the published boards for the site from pieces, without all results in memory.

The boards equal those of `published_boards`. A submission whose files are the same as in the last build is not read.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Executor, as_completed
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import polars as pl

from evaluator.judges import find_judge
from evaluator.leaderboard.board import SuiteBoard
from evaluator.leaderboard.board_answers import StoredAnswers, read_head
from evaluator.pipeline.boards.assembly import board_of_ranking, rank_scores, task_facts, tiers_of_tasks
from evaluator.pipeline.boards.board_set import BoardSet
from evaluator.pipeline.boards.pieces import MISSING, PIECE, Check, PieceMaker, make_pieces, piece_path
from evaluator.pipeline.boards.published_boards import PanelCounts, as_published, describe_environment
from evaluator.pipeline.boards.site_inputs import CACHE, SiteInputs, digest_of_texts
from evaluator.pipeline.project import Project
from evaluator.pipeline.submissions.board_suites import choose_suites
from evaluator.pipeline.submissions.origins import held_submissions
from evaluator.pipeline.submissions.repository import Loaded, report_left_out, scored_folders
from evaluator.progress import Progress
from evaluator.records import SubmissionManifest, VerdictsHeader
from evaluator.store import Store
from evaluator.submissions.names import folded_name
from evaluator.submissions.validate import Submission
from evaluator.suites.load import Suite

_BATCH: Final = 20
"""Submissions whose results a process has in memory at a time. 1,500 results take about 5 MB."""


@dataclass(frozen=True)
class StoredBoards:
    """The boards of a project, and where their parts come from."""

    project: Project
    inputs: SiteInputs
    location: tuple[str, str] | None
    workers: Executor | None
    progress: Progress
    say: Callable[[str], None]

    @property
    def _folder(self) -> Path:
        return self.project.root / CACHE / "pieces"

    def boards(self) -> BoardSet:
        """Return the published boards of all suites, as `published_boards` does."""
        held = held_submissions(self.project)
        folders = scored_folders(self.project, (), held)
        checks = self._checks([folder.name for folder in folders])
        broken = {check.slug: check.found() for check in checks if check.manifest is None}
        submissions = [
            Submission(check.slug, SubmissionManifest.model_validate_json(check.manifest), {})
            for check in checks
            if check.manifest is not None
        ]
        report_left_out(Loaded(tuple(submissions), broken, held), self.say)
        chosen = choose_suites(self.project, (), submissions)
        found = BoardSet([], dict(chosen.unavailable), {}, frozenset(), tuple(broken))
        self.progress.say("computing the standings")
        with contextlib.closing(Store(self.project.store_path)) as store:
            for suite in chosen.suites:
                name = suite.manifest.name
                for check in checks:
                    if check.states.get(name, PIECE) not in (PIECE, MISSING):
                        self.say(f"left out, as its verdicts cannot be read: {check.slug}: {check.states[name]}")
                slugs = [check.slug for check in checks if check.states.get(name) == PIECE]
                if slugs or not suite.manifest.foreign:
                    found.boards.append(self._board(suite, submissions, slugs, store))
        return found

    def _board(self, suite: Suite, submissions: Sequence[Submission], slugs: Sequence[str], store: Store) -> SuiteBoard:
        name, judge = suite.manifest.name, find_judge(self.project.settings.judge)
        # a submission without a task of the suite has a verdict file and no piece
        paths = {slug: path for slug in slugs if (path := piece_path(self._folder, name, slug)).is_file()}
        answers = StoredAnswers(name, paths)
        facts = {slug: answers.facts(slug) for slug in paths}
        manifests = {submission.slug: submission.manifest for submission in submissions if submission.slug in facts}
        headers = {slug: VerdictsHeader.model_validate(own["header"]) for slug, own in facts.items()}
        panel = [PanelCounts(*own["panel"]) for own in facts.values()]
        counts = PanelCounts(sum(own.decided for own in panel), sum(own.undecided for own in panel))
        environment = describe_environment(suite.manifest, list(headers.values()), counts)
        ranking = rank_scores(
            [own["scores"] for own in facts.values()],
            [row for own in facts.values() for row in own["topics"]],
            _passes(name, facts),
            manifests,
            suite.manifest.version,
            len(suite.tasks),
            tiers_of_tasks(suite),
        )
        board = board_of_ranking(suite, manifests, ranking, task_facts(suite, store), environment)
        board = as_published(board, suite, headers, judge, submissions)
        return replace(board, stored=answers)

    def _checks(self, slugs: Sequence[str]) -> list[Check]:
        """Return the check of each submission. Make the pieces of submissions whose files changed."""
        path = self.project.root / CACHE / "checks.json"
        known = _read_checks(path)
        keys = dict(self._keys(slugs))
        checks = {slug: known[slug] for slug, key in keys.items() if slug in known and self._is_valid(known[slug], key)}
        due = [slug for slug in slugs if slug not in checks]
        maker = PieceMaker(self.project.root, self.inputs.context, self._folder, self.location)
        batches = [{slug: keys[slug] for slug in due[at : at + _BATCH]} for at in range(0, len(due), _BATCH)]
        self.progress.stage("read the submissions", len(due))
        for batch in self._made(maker, batches):
            for check in batch:
                checks[check.slug] = check
                self.progress.advance()
        self._remove_others(checks)
        ordered = [checks[slug] for slug in slugs]
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps([check.as_json() for check in ordered]), "utf-8")
        return ordered

    def _made(self, maker: PieceMaker, batches: Sequence[Mapping[str, str]]) -> Iterator[list[Check]]:
        if self.workers is None or len(batches) < 2:
            for batch in batches:
                yield make_pieces(maker, batch)
            return
        for future in as_completed([self.workers.submit(make_pieces, maker, batch) for batch in batches]):
            yield future.result()

    def _keys(self, slugs: Sequence[str]) -> Iterator[tuple[str, str]]:
        """Yield each slug with the digest of everything that its pieces depend on."""
        folder = self.project.root / "submissions"
        alike: dict[str, list[str]] = {}
        for entry in sorted(folder.iterdir()):
            alike.setdefault(folded_name(entry.name), []).append(entry.name)
        context = (self.inputs.context, str(self.location))
        for slug in slugs:
            own = self.inputs.folders.get(slug)
            # a folder that is a link has no digest, so it is always read
            yield slug, "" if own is None else digest_of_texts([*context, own, *alike[folded_name(slug)]])

    def _is_valid(self, check: Check, key: str) -> bool:
        names = (name for name, state in check.states.items() if state == PIECE)
        paths = (piece_path(self._folder, name, check.slug) for name in names)
        return bool(key) and check.key == key and all((head := read_head(path)) and head.key == key for path in paths)

    def _remove_others(self, checks: Mapping[str, Check]) -> None:
        """Remove the pieces of submissions that are gone or have no verdicts any more."""
        for path in self._folder.glob("*/*"):
            check = checks.get(path.name)
            if check is None or check.states.get(path.parent.name) != PIECE:
                path.unlink()


def _read_checks(path: Path) -> dict[str, Check]:
    try:
        checks = [Check.of_json(value) for value in json.loads(path.read_bytes())]
    except (OSError, ValueError, TypeError):
        return {}
    return {check.slug: check for check in checks}


def _passes(suite: str, facts: Mapping[str, Mapping[str, Any]]) -> pl.DataFrame:
    """Return the frame of `passes` from the facts of pieces."""
    columns: dict[str, list[Any]] = {"suite": [], "submission": [], "task": [], "passed": []}
    for slug, own in facts.items():
        passed = set(own["passed"])
        columns["submission"] += [slug] * len(own["asked"])
        columns["task"] += own["asked"]
        columns["passed"] += [task in passed for task in own["asked"]]
    columns["suite"] = [suite] * len(columns["task"])
    schema = {"suite": pl.String, "submission": pl.String, "task": pl.String, "passed": pl.Boolean}
    return pl.DataFrame(columns, schema=schema).sort("suite", "submission", "task")

"""The life of a final phase: submissions are merged unseen, and one run after its end publishes all of them.

The workflow files of this repository run with real Git, real containers and a GitHub double on loopback.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

import pytest

from tests.doubles.github import Pull
from tests.doubles.workflows import RunResult, dispatched
from tests.workflows.life_bench import ANSWERS, FIRST_COMMIT_S, Life, below, submission

pytestmark = [pytest.mark.engine, pytest.mark.early]

FINALISTS = ("first-finalist", "second-finalist")
_PHASE = "\n[tool.bashboard.final]\nstarts = {starts}\nends = {ends}\n"


@dataclass
class Phase:
    """The runs of a final phase in which two contributors submit, and the run after its end."""

    opened: RunResult
    pulls: dict[str, Pull] = field(default_factory=dict)
    checks: dict[str, RunResult] = field(default_factory=dict)
    merges: dict[str, RunResult] = field(default_factory=dict)
    evidence: list[str] = field(default_factory=list)
    main: list[str] = field(default_factory=list)
    pages: dict[str, str] = field(default_factory=dict)
    ended: RunResult | None = None


def set_phase(life: Life, before: str | None, starts: datetime, ends: datetime) -> RunResult:
    """Write the phase to pyproject.toml on main, and run the workflow `publish`."""
    text = life.read("pyproject.toml").decode().partition("\n[tool.bashboard.final]")[0]
    phase = _PHASE.format(starts=starts.isoformat(), ends=ends.isoformat())
    life.board.git.commit("main", {"pyproject.toml": f"{text}{phase}".encode()}, "Set the final phase")
    return life.since(before, "publish")["publish"]


def executed(run: RunResult) -> list[str]:
    """Return the submissions that a run of `publish` executed. A skipped matrix is one job without a submission."""
    found = [re.fullmatch(r"derive / execute \(([a-z-]+)\)", name) for name in run.jobs]
    return [match[1] for match in found if match]


@pytest.fixture(scope="module")
def phase(life: Life) -> Phase:
    starts = datetime.fromtimestamp(FIRST_COMMIT_S + 3600, UTC)
    opened = set_phase(life, None, starts, datetime.now(UTC).replace(microsecond=0) + timedelta(days=1))
    assert opened.conclusion == "success", opened.log
    phase = Phase(opened)
    for slug in FINALISTS:
        fork = life.github.fork(life.board, life.github.user(f"author-of-{slug}"))
        fork.git.commit("mine", below(slug, submission(ANSWERS, system=slug)))
        pull = phase.pulls[slug] = life.github.open_pull(life.board, fork, "mine")
        phase.checks[slug] = life.run_submission(pull, "opened")
        assert life.run_report(phase.checks[slug]).conclusion == "success"
    for slug, pull in phase.pulls.items():
        before = life.main
        life.github.merge(life.board, pull)
        phase.merges[slug] = life.since(before, "publish")["publish"]
    assert life.run_site(phase.merges[slug]).conclusion == "success"
    phase.evidence, phase.main = life.paths("evidence"), life.paths()
    site = life.actions.site
    phase.pages = {str(path.relative_to(site)): path.read_text("utf-8", "replace") for path in site.rglob("*.*ml")}
    phase.pages |= {str(path.relative_to(site)): path.read_text("utf-8", "replace") for path in site.rglob("*.json*")}
    phase.ended = set_phase(life, life.main, starts, starts + timedelta(days=30))
    assert life.run_site(phase.ended).conclusion == "success"
    return phase


@pytest.mark.parametrize("slug", FINALISTS)
def test_a_check_validates_the_form_and_executes_nothing(phase: Phase, slug: str) -> None:
    """The run of a pull request has no preview, and its comment says when the submission is scored."""
    run, pull = phase.checks[slug], phase.pulls[slug]
    assert run.conclusion == "success", run.log
    assert "executing" not in run.log
    assert [artifact.name for artifact in run.run.artifacts] == []
    (comment,) = pull.comments
    assert "The board is in its final phase." in comment.body
    assert "tasks passed" not in comment.body
    assert set(pull.labels) == {"valid", "ready to merge"}


@pytest.mark.parametrize("slug", FINALISTS)
def test_a_merge_in_the_phase_executes_and_publishes_nothing(phase: Phase, slug: str) -> None:
    """No job executes commands of the submission, and no verdict, evidence or figure of it is anywhere.

    The board only says that the submission awaits its verdicts.
    """
    run = phase.merges[slug]
    assert run.conclusion == "success", run.log
    assert executed(run) == []
    assert f"submissions/{slug}/core.jsonl" in phase.main
    assert [path for path in (*phase.main, *phase.evidence) if slug in path and "verdicts" in path] == []
    assert [path for path in phase.evidence if slug in path] == []
    assert [path for path in phase.pages if slug in path] == []
    assert [path for path, text in phase.pages.items() if slug in text and "Awaiting their verdicts" not in text] == []
    standings = json.loads(phase.pages["board/core/standings.json"])
    assert slug not in {row["submission"] for row in standings}


def test_one_run_after_the_phase_publishes_all(life: Life, phase: Phase) -> None:
    assert phase.ended is not None
    assert executed(phase.ended) == list(FINALISTS)
    for slug in FINALISTS:
        lines = life.read(f"submissions/{slug}/core.verdicts.jsonl").decode().splitlines()[1:]
        assert {json.loads(line)["finding"]["outcome"] for line in lines} == {"pass", "fail"}
        assert slug in life.site("index.html")
    commits = {
        life.board.git.run("log", "-1", "--format=%H", "main", "--", f"submissions/{slug}") for slug in FINALISTS
    }
    assert len(commits) == 1


def test_a_run_during_the_phase_names_what_is_held(phase: Phase) -> None:
    """The plan of the publish workflow lists the held submissions, so that a maintainer knows what waits."""
    assert "held until the final phase ends: first-finalist, second-finalist" in phase.merges["second-finalist"].log


def test_nothing_is_left_to_do_afterwards(life: Life, phase: Phase) -> None:
    del phase
    again = life.actions.trigger(dispatched(life.board, "publish.yml", life.maintainer))["publish"]
    assert executed(again) == []

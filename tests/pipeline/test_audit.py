"""Audits: the verdicts that are drawn, the question to the panel, the report and the record."""

from __future__ import annotations

import contextlib
import json
import shutil
from collections.abc import Callable
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import pytest
from typer.testing import Result

from evaluator.cli import app
from evaluator.errors import FormatError
from evaluator.pipeline.grading.audit import HIDDEN_VERDICT, AuditableVerdict, draw_sample
from evaluator.pipeline.grading.audit_log import AUDITS, add_audits, read_audits
from evaluator.pipeline.grading.cache_keys import GradingItem
from evaluator.pipeline.project import Project
from evaluator.records import Audit, AuditStratum, Ending, Finding, Outcome
from evaluator.testing.checkouts import small_checkout, small_task, write_submission
from evaluator.testing.evidence import evidence
from evaluator.testing.executor import Shows, fake_boards
from tests.command_runner import CommandRunner
from tests.doubles.model_server import JudgeServer, ReceivedRequest, Said, completion, refuses, replies, says, vote

KEY = "a-key-that-nobody-may-see"
NOWHERE = {"DOCKER_HOST": "unix:///nowhere/docker.sock", "COLUMNS": "80"}
TASKS = [
    small_task(f"files-{number}", references=("right", "right too"), nl=f"Print list {number}")
    for number in range(1, 5)
]
SHOWN: dict[str, Shows] = {
    "right": "alpha 1\nbeta 2\n",
    "right too": "alpha 1\nbeta 2\n",
    "passes": "alpha 1\nbeta 2\n",
    "fails": "gamma\n",
    "slow": evidence(ending=Ending.TIMEOUT, status=None),
}
ANSWERS = {
    "one": {"files-1": ["passes"], "files-2": ["fails"], "files-3": ["passes"], "files-4": ["slow"]},
    "two": {"files-1": ["passes"], "files-2": ["passes"], "files-3": ["fails"]},
}
"""Five different verdicts that execution alone decided: three passes, one of them of two submissions, and two fails."""


@pytest.fixture(scope="module")
def judged(tmp_path_factory: pytest.TempPathFactory) -> Path:
    project = small_checkout(tmp_path_factory.mktemp("judged"), TASKS, ANSWERS)
    fake_boards(project, SHOWN)
    return project.root


@pytest.fixture
def project(judged: Path, tmp_path: Path) -> Project:
    shutil.copytree(judged, tmp_path, dirs_exist_ok=True)
    return Project(tmp_path)


def set_up(project: Project, server: JudgeServer, **settings: Any) -> None:
    values = {"base_url": server.url, "models": ["one"], "votes": 1, "pause_s": 0.01, "concurrency": 1, **settings}
    lines = "".join(f"{name} = {json.dumps(value)}\n" for name, value in values.items())
    (project.root / "pyproject.toml").write_text(f"[tool.bashboard.panel]\n{lines}")


def audit(project: Project, *words: str, key: str | None = KEY) -> Result:
    with contextlib.chdir(project.root):
        environment = {**NOWHERE, "BASHBOARD_PANEL_KEY": key}
        return CommandRunner().invoke(app, ["judges", "audit", *words], env=environment, catch_exceptions=False)


def data(asked: ReceivedRequest) -> dict[str, Any]:
    """Return the data of a question: the line of JSON between the markers."""
    found: dict[str, Any] = json.loads(asked.messages[1]["content"].splitlines()[1])
    return found


def by_command(verdicts: dict[str, str]) -> Callable[[ReceivedRequest], Said]:
    """Return a function that votes by the candidate of the question."""
    return lambda asked: completion(vote(verdicts[data(asked)["candidate"]], f"I read {data(asked)['candidate']}"))


def test_disagreements_are_listed_with_both_reasons(project: Project) -> None:
    """The panel says no to the passes, and no to the fails. It agrees with the fails."""
    with JudgeServer(by_command({"passes": "no", "fails": "no"})) as server:
        set_up(project, server)
        found = json.loads(audit(project, "--sample", "9", "--json").stdout)["audits"][0]
    assert (found["suite"], found["judge"], found["models"], found["votes"]) == ("tiny", "consensus", ["one"], 1)
    assert found["passes"] == {"verdicts": 3, "sampled": 3, "decided": 3, "disagreed": 3}
    assert found["fails"] == {"verdicts": 2, "sampled": 2, "decided": 2, "disagreed": 0}
    assert found["rate"] == pytest.approx(3 / 5)
    disputed = found["disagreements"]
    assert sorted((each["task"], each["command"]) for each in disputed) == [
        ("files-1", "passes"),
        ("files-2", "passes"),
        ("files-3", "passes"),
    ]
    assert {(each["judge"]["outcome"], each["panel"]["outcome"]) for each in disputed} == {("pass", "fail")}
    assert all("'I read passes'" in each["panel"]["reason"] for each in disputed)


def test_the_panel_sees_the_evidence_and_not_the_verdict(project: Project) -> None:
    with JudgeServer(says("yes")) as server:
        set_up(project, server)
        audit(project, "--sample", "9")
    questions = [data(asked) for asked in server.asked]
    assert len(questions) == 5
    assert {question["candidate"] for question in questions} == {"passes", "fails"}  # a timeout is no comparison
    assert all(HIDDEN_VERDICT in json.dumps(question) for question in questions)
    seen = "".join(message["content"] for asked in server.asked for message in asked.messages)
    assert "gamma" in seen
    assert "expected 'alpha 1'" not in seen  # the judge's reason


def test_text_shows_command_and_reasons_with_escapes(project: Project) -> None:
    with JudgeServer(replies(vote("yes", "fine \x1b[31m"))) as server:
        set_up(project, server)
        found = audit(project, "--sample", "9")
    assert found.exit_code == 0
    assert "one tiny files-2\n    fails\n    judge: fail: " in found.stdout
    assert "    panel: pass: 1 of 1 judges say that it does the task: " in found.stdout
    assert "\x1b" not in found.stdout
    assert "the panel disagrees with 0 of 3 passes (of 3) and 2 of 2 fails (of 2)" in found.stdout
    assert "estimated rate of disagreement 0.400" in found.stdout


def test_nothing_is_asked_twice_and_no_verdict_changes(project: Project) -> None:
    with contextlib.chdir(project.root):
        before = CommandRunner().invoke(app, ["standings", "--json"], env=NOWHERE).stdout
    with JudgeServer(says("no")) as server:
        set_up(project, server)
        first = audit(project, "--sample", "3", "--seed", "s", "--json")
        asked = len(server.asked)
        again = audit(project, "--sample", "3", "--seed", "s", "--json")
    assert (asked, len(server.asked)) == (3, 3)
    assert json.loads(again.stdout)["audits"] == json.loads(first.stdout)["audits"]
    assert "all replies were in the cache" in again.stderr
    with contextlib.chdir(project.root):
        assert CommandRunner().invoke(app, ["standings", "--json"], env=NOWHERE).stdout == before


def test_the_record_is_local_unless_it_is_published(project: Project) -> None:
    with JudgeServer(says("yes")) as server:
        set_up(project, server)
        audit(project, "--sample", "2", "--seed", "a")
        assert not (project.root / AUDITS).exists()
        for seed in ("a", "b", "a"):
            audit(project, "--sample", "2", "--seed", seed, "--publish")
    recorded = read_audits(project.root / AUDITS)
    assert [(each.day, each.seed) for each in recorded] == [(datetime.now(UTC).date(), seed) for seed in ("a", "b")]
    assert [each.seed for each in read_audits(project.root / ".bashboard" / "audits.jsonl")] == ["a"]


def test_a_budget_ends_an_audit_and_what_was_decided_is_recorded(project: Project) -> None:
    with JudgeServer(says("yes")) as server:
        set_up(project, server)
        found = audit(project, "--sample", "4", "--max-calls", "1", "--json")
        assert (found.exit_code, len(server.asked)) == (0, 1)
        (one,) = json.loads(found.stdout)["audits"]
    assert one["passes"]["decided"] + one["fails"]["decided"] == 1
    assert one["passes"]["sampled"] + one["fails"]["sampled"] == 4
    assert one["rate"] is None


def test_a_panel_that_refuses_is_an_error_and_leaves_no_record(project: Project) -> None:
    with JudgeServer(refuses(401)) as server:
        set_up(project, server)
        found = audit(project, "--sample", "4", "--publish")
    assert found.exit_code == 3
    assert "is BASHBOARD_PANEL_KEY right?" in found.stderr
    assert read_audits(project.root / AUDITS) == ()


def test_a_submissions_own_model_does_not_audit_it(project: Project) -> None:
    for slug, answers in ANSWERS.items():
        write_submission(project.root, slug, answers, models=("maker/One",))
    with JudgeServer(says("no")) as server:
        set_up(project, server)
        found = audit(project, "--sample", "4", "--json")
    assert server.asked == []
    assert json.loads(found.stdout)["audits"] == []


@pytest.mark.parametrize(
    ("words", "key", "code", "message"),
    [
        ((), None, 3, "export BASHBOARD_PANEL_KEY=none"),
        (("--suite", "huge"), KEY, 2, "no suite is named 'huge'"),
        (("--max-usd", "1"), KEY, 2, "needs the prices of one"),
        (("--published", "one"), KEY, 2, "--published audits all published verdicts"),
        (("--seed", "x" * 65), KEY, 2, "expected 1 to 64 characters"),
    ],
)
def test_an_audit_that_cannot_be_made_is_told_first(
    project: Project, words: tuple[str, ...], key: str | None, code: int, message: str
) -> None:
    with JudgeServer(says("yes")) as server:
        set_up(project, server)
        found = audit(project, *words, key=key)
    assert found.exit_code == code
    assert message in found.stderr
    assert server.asked == []


def test_without_a_panel_an_audit_says_how_to_configure_one(project: Project) -> None:
    found = audit(project)
    assert found.exit_code == 2
    assert "[tool.bashboard.panel]" in found.stderr


def test_without_verdicts_an_audit_names_the_command_that_makes_them(project: Project) -> None:
    for path in project.store_path.parent.glob("store.sqlite*"):
        path.unlink()
    with JudgeServer(says("yes")) as server:
        set_up(project, server)
        found = audit(project)
    assert found.exit_code == 3
    assert "bashboard score" in found.stderr


# -- the sample


def verdicts(passes: int, fails: int, submissions: tuple[str, ...] = ("one",)) -> list[AuditableVerdict]:
    outcomes = [Outcome.PASS] * passes + [Outcome.FAIL] * fails
    return [
        AuditableVerdict(slug, GradingItem(f"t{number}", b"ls"), Finding(outcome=outcome))
        for slug in submissions
        for number, outcome in enumerate(outcomes)
    ]


@pytest.mark.parametrize(
    ("passes", "fails", "size", "drawn"),
    [
        (50, 50, 10, (5, 5)),
        (50, 50, 7, (4, 3)),
        (50, 2, 10, (8, 2)),
        (1, 50, 10, (1, 9)),
        (2, 1, 10, (2, 1)),
        (0, 0, 5, (0, 0)),
    ],
)
def test_passes_and_fails_are_drawn_alike(passes: int, fails: int, size: int, drawn: tuple[int, int]) -> None:
    sample = draw_sample(verdicts(passes, fails), size, "seed")
    of_passes = sum(verdict.finding.outcome is Outcome.PASS for verdict in sample)
    assert (of_passes, len(sample) - of_passes) == drawn


def test_a_sample_depends_on_the_seed_and_not_on_the_order() -> None:
    every = verdicts(40, 40)
    sample = draw_sample(every, 20, "one")
    assert draw_sample(every[::-1], 20, "one") == sample
    assert draw_sample(every, 20, "two") != sample


def test_a_command_of_several_submissions_is_drawn_once() -> None:
    sample = draw_sample(verdicts(10, 10, ("one", "two", "three")), 20, "seed")
    assert len({verdict.item for verdict in sample}) == len(sample) == 20
    assert len({verdict.submission for verdict in sample}) > 1


# -- the record


def test_a_record_that_does_not_read_is_named_and_stays(tmp_path: Path) -> None:
    path = tmp_path / "audits.jsonl"
    path.write_text('{"format": 1}\n{"format": 7}\n{"for')
    before = path.read_bytes()
    none = AuditStratum(verdicts=0, sampled=0, decided=0, disagreed=0)
    fields = {"day": date(2026, 1, 2), "suite": "tiny", "suite_version": "1.0.0", "judge": "consensus", "seed": "a"}
    one = {**fields, "format": 1, "judge_version": 9, "models": ("m",), "votes": 1, "passes": none, "fails": none}
    with pytest.raises(FormatError) as caught:
        add_audits(path, [Audit.model_validate(one)])
    assert {problem.line for problem in caught.value.problems} == {1, 2, 3}
    assert path.read_bytes() == before

"""The whole life of a board: the first publication, submissions, merges, a rescore and a ruling.

The workflow files of this repository run in each step, with real Git, real containers and a GitHub double on loopback.
Fixtures run the steps once, in order. The tests check the results that users see.
"""

from __future__ import annotations

import hashlib
import io
import json
import re
import tarfile
import zipfile
from dataclasses import dataclass
from pathlib import Path

import pytest

from evaluator.pipeline.grading.audit_log import AUDITS, parse_audits
from evaluator.sandbox.image import SuiteImage
from tests.doubles.github import GitHubServer, HostedRepo, Pull
from tests.doubles.model_server import JudgeServer
from tests.doubles.workflows import JobContext, RunResult, dispatched, labeled, pull_changed, pull_targeted, pushed
from tests.workflows.life_bench import ANSWERS, BASELINES, Life, below, submission
from tests.workflows.workflow_bench import UPLOAD

pytestmark = [pytest.mark.engine, pytest.mark.early]


@dataclass(frozen=True)
class Review:
    """A pull request after the runs of `submission` and `report`, with its labels and comments."""

    run: RunResult
    report: RunResult
    labels: frozenset[str]
    comments: tuple[str, ...]


def check_and_report(life: Life, pull: Pull, action: str = "synchronize") -> Review:
    run = life.run_submission(pull, action)
    report = life.run_report(run)
    assert report.conclusion == "success", report.log
    return Review(run, report, frozenset(pull.labels), tuple(comment.body for comment in pull.comments))


# -- the first publish


@pytest.fixture(scope="module")
def first(life: Life) -> RunResult:
    result = life.publish(None)
    assert result.conclusion == "success", result.log
    return result


def test_a_push_to_main_starts_three_workflows(life: Life, first: RunResult) -> None:
    """The first push to main starts `publish`, `rescore` and `ci`."""
    del first
    waiting = life.actions.waiting(pushed(life.board, None, life.maintainer))
    assert {workflow.name for workflow in waiting} == {"ci", "publish", "rescore"}


def test_baselines_are_published(life: Life, first: RunResult) -> None:
    """After a publication each submission has a verdict file and published evidence.

    Only a submission with new commands has an execution job.
    """
    assert list(first.jobs) == [
        "derive / restore",
        "derive / prepare",
        "derive / execute (rules)",
        "derive / judge",
        "commit",
    ]
    for slug in BASELINES:
        lines = life.read(f"submissions/{slug}/core.verdicts.jsonl").decode().splitlines()
        assert json.loads(lines[0])["suite"] == "core"
        assert {json.loads(line)["task"] for line in lines[1:]} == {"files-002", "files-003", "files-010"}
    evidence = {"images.json", "references/core.jsonl.gz", *(f"submissions/{slug}/core.jsonl.gz" for slug in BASELINES)}
    assert set(life.paths("evidence")) == evidence
    assert json.loads(life.read("submissions/owners.json"))["owners"] == dict.fromkeys(BASELINES)


def test_jobs_have_few_permissions(first: RunResult) -> None:
    """A job that executes commands has a read-only token, and the job that writes to main executes nothing."""
    permissions = {name.partition(" (")[0]: job.permissions for name, job in first.jobs.items()}
    assert permissions == {
        "derive / restore": {"contents": "read"},
        "derive / prepare": {"contents": "read"},
        "derive / execute": {"contents": "read"},
        "derive / judge": {"contents": "read", "actions": "read", "checks": "read"},
        "commit": {"contents": "write", "pull_requests": "read"},
    }
    assert not any(job.secrets for job in first.jobs.values())


def test_without_a_key_the_panel_is_not_asked(first: RunResult, panel: JudgeServer) -> None:
    """Without the key of the model server the board is published, and the log says that the panel was not asked."""
    assert "execution only: the panel was not asked" in first.jobs["derive / judge"].log
    assert panel.asked == []


def test_the_site_is_deployed(life: Life, first: RunResult) -> None:
    """The deployed board has a row for each submission."""
    del first
    page = life.site("index.html")
    assert all(slug in page for slug in BASELINES)


# -- a contributor submits


@dataclass(frozen=True)
class Submitted:
    fork: HostedRepo
    pull: Pull
    review: Review


@pytest.fixture(scope="module")
def broken(life: Life, first: RunResult) -> Submitted:
    del first
    fork = life.github.fork(life.board, life.github.user("contributor"))
    files = submission(ANSWERS)
    files["core.jsonl"] += b'{"task": "files-999", "candidates": [{"command": "ls"}]}\n'
    fork.git.commit("mine", below("fresh", files))
    pull = life.github.open_pull(life.board, fork, "mine")
    return Submitted(fork, pull, check_and_report(life, pull, "opened"))


def test_a_broken_submission_gets_the_place_of_its_error(broken: Submitted) -> None:
    """The run of an invalid submission fails. An annotation and the comment name the file and line."""
    assert broken.review.run.conclusion == "failure"
    (annotation,) = broken.review.run.jobs["preview"].annotations
    assert (annotation.level, annotation.path, annotation.line) == ("failure", "submissions/fresh/core.jsonl", 4)
    assert broken.review.labels == {"needs changes"}
    (comment,) = broken.review.comments
    assert "submissions/fresh/core.jsonl:4: unknown task 'files-999'" in comment


def test_a_run_of_a_fork_has_no_secret(broken: Submitted) -> None:
    """The run of a fork has a read-only token and no secret.

    The job that writes the comment runs no code of the fork.
    """
    assert broken.review.run.jobs["preview"].permissions == {"contents": "read"}
    assert not broken.review.run.jobs["preview"].secrets
    report = broken.review.report.jobs["report"]
    assert report.permissions == {"contents": "read", "actions": "read", "pull_requests": "write"}
    assert "bashboard report" in report.log


@pytest.fixture(scope="module")
def fixed(life: Life, broken: Submitted) -> Submitted:
    life.github.push(life.board, broken.pull, below("fresh", submission(ANSWERS)))
    return Submitted(broken.fork, broken.pull, check_and_report(life, broken.pull))


def test_a_fixed_submission_gets_its_preview(fixed: Submitted) -> None:
    """The run of a valid submission uploads a preview.

    The single comment shows the metrics, and the labels show that the submission can be merged.
    """
    assert fixed.review.run.conclusion == "success", fixed.review.run.log
    assert [artifact.name for artifact in fixed.review.run.run.artifacts] == ["preview"]
    assert fixed.review.labels == {"valid", "ready to merge"}
    (comment,) = fixed.review.comments
    assert "1 of 3 tasks" in comment
    assert "These numbers are a preview" in comment


def test_a_preview_executes_no_published_reference_again(fixed: Submitted) -> None:
    """A preview fetches the published evidence of references, so it executes only the commands of the submission.

    Two of the three commands fail in the first variant, and the other one runs in two more.
    """
    assert re.search(r"executing: 3 in [\d.]+ s \(and 2 more\)", fixed.review.run.log), fixed.review.run.log


# -- the maintainer merges


@pytest.fixture(scope="module")
def merged(life: Life, fixed: Submitted) -> RunResult:
    result = life.merge(fixed.pull)
    assert result.conclusion == "success", result.log
    return result


def test_a_merge_publishes_the_new_submission(life: Life, merged: RunResult, fixed: Submitted) -> None:
    """After a merge only the new submission is executed. Its verdicts are committed, and its author owns its name."""
    assert [name for name in merged.jobs if name.startswith("derive / execute")] == ["derive / execute (fresh)"]
    lines = life.read("submissions/fresh/core.verdicts.jsonl").decode().splitlines()[1:]
    outcomes = {(verdict := json.loads(line))["task"]: verdict["finding"]["outcome"] for line in lines}
    assert outcomes == {"files-002": "fail", "files-003": "pass", "files-010": "fail"}
    owners = json.loads(life.read("submissions/owners.json"))["owners"]
    assert owners == {**dict.fromkeys(BASELINES), "fresh": fixed.fork.owner.id}


def test_the_site_shows_the_row(life: Life, merged: RunResult) -> None:
    """After the publication the deployed board has a row and a page for the new submission."""
    del merged
    assert "fresh" in life.site("index.html")
    assert "A system" in life.site("board/core/submissions/fresh/index.html")


# -- pushes during a run, and changes of files that a contributor does not own


def test_a_report_on_an_outdated_run_writes_nothing(life: Life, first: RunResult) -> None:
    """The report on a run writes nothing if a forced push has started a newer run."""
    del first
    fork = life.github.fork(life.board, life.github.user("hasty"))
    fork.git.commit("mine", below("hasty", {"core.jsonl": b"{}\n"}))
    pull = life.github.open_pull(life.board, fork, "mine")
    run = life.run_submission(pull, "opened")
    life.github.push(life.board, pull, below("hasty", submission(ANSWERS)), force=True)
    report = life.run_report(run)
    assert report.conclusion == "success", report.log
    assert "a newer push has a run of its own" in report.log
    assert (pull.comments, pull.labels) == ([], [])


@pytest.mark.soak
def test_a_push_removes_labels(life: Life, first: RunResult) -> None:
    """A new push removes the labels, such as `ready to merge`, even if the push deletes all workflow files."""
    del first
    fork = life.github.fork(life.board, life.github.user("switcher"))
    fork.git.commit("mine", below("switched", submission(ANSWERS)))
    pull = life.github.open_pull(life.board, fork, "mine")
    life.run_report(RunResult("submission", life.github.run(life.board, pull), "", {}))
    assert "ready to merge" in pull.labels
    gone = dict.fromkeys(path for path in life.paths() if path.startswith(".github/workflows/"))
    life.github.push(life.board, pull, {**gone, "submissions/switched/core.jsonl": b""})
    own = pull_changed(life.github, life.board, pull)
    assert own is not None
    assert life.actions.waiting(own) == []
    recalled = life.actions.trigger(pull_targeted(life.github, life.board, pull))["recall"]
    assert recalled.conclusion == "success", recalled.log
    assert pull.labels == []


HELD = {
    "of another author": below("fresh", submission({**ANSWERS, "files-002": ["true"]})),
    "derived": {"submissions/rules/core.verdicts.jsonl": b'{"format": 1}\n'},
    "outside": {**below("extra", submission(ANSWERS)), "README.md": b"Mine.\n"},
}


@pytest.mark.soak
@pytest.mark.parametrize("name", HELD)
def test_a_change_of_files_of_others_is_held(life: Life, merged: RunResult, name: str) -> None:
    """A pull request that changes more than its author's submission is held for a maintainer, with one comment."""
    del merged
    fork = life.github.fork(life.board, life.github.user(f"rival-{list(HELD).index(name)}"))
    fork.git.commit("mine", HELD[name])
    pull = life.github.open_pull(life.board, fork, "mine")
    life.github.follow()
    finished = life.github.run(life.board, pull)
    report = life.run_report(RunResult("submission", finished, "", {}))
    assert report.conclusion == "success", report.log
    assert "held" in pull.labels
    assert "ready to merge" not in pull.labels
    assert len(pull.comments) == 1


@pytest.mark.soak
def test_a_changed_evaluator_does_not_reach_the_report(life: Life, first: RunResult) -> None:
    """The run of a fork executes the fork's evaluator. The report executes main's, and holds the pull request."""
    del first
    fork = life.github.fork(life.board, life.github.user("changer"))
    changed = b'raise SystemExit("of the fork")\n'
    fork.git.commit("mine", {**below("mine", submission(ANSWERS)), "evaluator/submissions/validate.py": changed})
    review = check_and_report(life, life.github.open_pull(life.board, fork, "mine"), "opened")
    assert "of the fork" in review.run.log
    assert "of the fork" not in review.report.log
    assert "held" in review.labels
    assert "evaluator/submissions/validate.py" in review.comments[0]


# -- forgery


FORGED = f"""
name: submission
on: {{pull_request: {{paths: ["submissions/**"]}}}}
permissions: {{contents: write}}
jobs:
  preview:
    runs-on: ubuntu-24.04
    environment: judge
    steps:
      - run: |
          mkdir preview && echo '{{"submission": "rules", "passed": 3}}' > preview/preview.json
      - run: test -z "$KEY"
        env: {{KEY: "${{{{ secrets.BASHBOARD_PANEL_KEY }}}}"}}
      - uses: {UPLOAD}
        with: {{name: preview, path: preview/preview.json}}
"""


def _poisoned(seat: JobContext) -> None:
    """Replace the artifact `preview` by an archive with paths outside the folder where the archive is unpacked."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for path in ("../../evil", "/etc/evil", "preview.json"):
            archive.writestr(path, b"{}")
    seat.shelf.remove("preview")
    seat.github.upload(seat.run, "preview", packed.getvalue())


@pytest.mark.soak
@pytest.mark.parametrize("poison", [False, True])
def test_a_forged_preview_shows_no_metric(life: Life, first: RunResult, poison: bool) -> None:
    """A fork with a changed workflow gets no secret and no token that may write, and its comment shows no metric."""
    del first
    life.actions.environments = {"judge": {"BASHBOARD_PANEL_KEY": "hush"}}
    fork = life.github.fork(life.board, life.github.user(f"forger-{poison:d}"))
    fork.git.commit("mine", {**below("mine", submission(ANSWERS)), ".github/workflows/submission.yml": FORGED.encode()})
    pull = life.github.open_pull(life.board, fork, "mine")
    if poison:
        life.actions.escapes["preview"] = _poisoned
    try:
        review = check_and_report(life, pull, "opened")
    finally:
        life.actions.escapes.clear()
        life.actions.environments = {}
    assert review.run.conclusion == "success", review.run.log
    assert review.run.jobs["preview"].permissions == {"contents": "read"}
    assert "held" in review.labels
    assert "accuracy" not in review.comments[0].lower()


@pytest.fixture(scope="module")
def robbed(life: Life, merged: RunResult) -> RunResult:
    """A publication of two submissions. Code that escapes from the second job replaces the first job's artifact."""
    del merged
    before = life.main
    for slug in ("honest", "robber"):
        fork = life.github.fork(life.board, life.github.user(slug))
        answers = {**ANSWERS, "files-003": [f"true {slug}"]}
        fork.git.commit("mine", below(slug, submission(answers, system=slug)))
        life.github.merge(life.board, life.github.open_pull(life.board, fork, "mine"))

    def rob(seat: JobContext) -> None:
        artifact = seat.shelf.find("evidence-robber")
        assert artifact is not None
        seat.shelf.remove("evidence-honest")
        path = "submissions/honest/core.jsonl.gz"
        with zipfile.ZipFile(io.BytesIO(artifact.content)) as archive:
            seat.shelf.put("evidence-honest", {path: archive.read(archive.namelist()[0])})

    life.actions.escapes["derive / execute (robber)"] = rob
    try:
        return life.since(before, "publish")["publish"]
    finally:
        life.actions.escapes.clear()


@pytest.mark.soak
def test_an_escape_cannot_forge_another_row(life: Life, robbed: RunResult) -> None:
    """Evidence without the announced digest is left out with a log message, and the other submission is published."""
    assert "left out: honest: submissions/honest/core.jsonl.gz has the SHA-256" in robbed.jobs["derive / judge"].log
    assert "treat it as a vulnerability" in robbed.jobs["derive / judge"].summary
    paths = life.paths()
    assert "submissions/robber/core.verdicts.jsonl" in paths
    assert "submissions/honest/core.verdicts.jsonl" not in paths


@pytest.mark.soak
def test_the_next_run_retries_what_was_left_out(life: Life, robbed: RunResult) -> None:
    """The next run executes only the submission that the last run left out."""
    del robbed
    again = life.actions.trigger(dispatched(life.board, "publish.yml", life.maintainer))["publish"]
    assert again.conclusion == "success", again.log
    assert [name for name in again.jobs if name.startswith("derive / execute")] == ["derive / execute (honest)"]
    assert "submissions/honest/core.verdicts.jsonl" in life.paths()


# -- the panel judges


DOUBTFUL = {
    **ANSWERS,
    "files-010": [
        "shopt -s globstar dotglob nullglob; for f in jobs/**/*.nc; do "
        '[ ! -L "$f" ] && touch --reference=jobs/log.txt "$f"; done'
    ],
}
"""One command is a mutant of a reference, so the evidence alone does not decide its verdict."""


@pytest.mark.soak
def test_only_the_job_judge_reads_the_key(life: Life, merged: RunResult, panel: JudgeServer) -> None:
    """With the key the panel decides open verdicts. Only the job `judge`, which executes nothing, reads the key."""
    del merged
    fork = life.github.fork(life.board, life.github.user("doubtful"))
    fork.git.commit("mine", below("doubtful", submission(DOUBTFUL, system="Doubtful")))
    pull = life.github.open_pull(life.board, fork, "mine")
    assert check_and_report(life, pull, "opened").labels == {"valid", "ready to merge", "contested"}
    life.actions.environments = {"judge": {"BASHBOARD_PANEL_KEY": "the-key"}}
    try:
        result = life.merge(pull)
    finally:
        life.actions.environments = {}
    assert result.conclusion == "success", result.log
    assert {name for name, job in result.jobs.items() if job.secrets} == {"derive / judge"}
    assert panel.asked
    assert all(request.headers["authorization"] == "Bearer the-key" for request in panel.asked)
    assert "the-key" not in result.log
    lines = life.read("submissions/doubtful/core.verdicts.jsonl").decode().splitlines()[1:]
    verdict = next(line["finding"] for line in map(json.loads, lines) if line["task"] == "files-010")
    assert (verdict["outcome"], verdict["step"]) == ("pass", "panel")
    (audit,) = parse_audits(life.read(AUDITS.as_posix()), AUDITS)
    assert (audit.suite, audit.passes.sampled + audit.fails.sampled) == ("core", 4)
    assert (audit.passes.disagreed, audit.fails.disagreed) == (0, audit.fails.decided)  # the panel always says yes


# -- the benchmark changes


@dataclass(frozen=True)
class Rescored:
    publish: RunResult
    rescore: RunResult
    pull: Pull
    verdicts: bytes
    page: str
    merged: RunResult


NEW_YEAR = (
    "find jobs -type f -name '*.nc' -exec touch -d @1735689600 {} +",
    "find jobs -type f -name '*.nc' -print0 | xargs -0 touch -d '2025-01-01 00:00:00'",
)


def _corrected(line: str) -> str:
    about = json.loads(line)
    if about["id"] == "files-010":
        about |= {"references": NEW_YEAR, "near_misses": about["references"]}
    return json.dumps(about)


@pytest.fixture(scope="module")
def rescored(life: Life, merged: RunResult) -> Rescored:
    """The results after the maintainer corrects a task and merges the rescore that the workflow proposes."""
    del merged
    before = life.main
    tasks = "fixtures/core/tasks/advanced/files.jsonl"
    changed = "".join(f"{_corrected(line)}\n" for line in life.read(tasks).decode().splitlines())
    suite = life.read("fixtures/core/suite.toml")
    old, new = b'\nversion = "4.0.0"\n', b'\nversion = "4.0.1"\nearlier_versions = ["4.0.0"]\n'
    assert suite.count(old) == 1
    suite = suite.replace(old, new)
    life.board.git.commit("main", {tasks: changed.encode(), "fixtures/core/suite.toml": suite})
    runs = life.since(before, "publish", "rescore")
    assert runs["publish"].conclusion == "success", runs["publish"].log
    assert runs["rescore"].conclusion == "success", runs["rescore"].log
    life.run_site(runs["publish"])
    pull = list(life.board.issues.values())[-1]
    verdicts = life.read("submissions/fresh/core.verdicts.jsonl")
    page = life.site("board/core/index.html")
    return Rescored(runs["publish"], runs["rescore"], pull, verdicts, page, life.merge(pull))


@pytest.mark.soak
def test_no_number_changes_before_a_merge(rescored: Rescored) -> None:
    """After a change of the suite `publish` keeps the verdicts, and the board names the version that they belong to."""
    assert not [
        name for name in rescored.publish.jobs if name in ("derive / execute (fresh)", "derive / execute (rules)")
    ]
    assert json.loads(rescored.verdicts.splitlines()[0])["suite_version"] == "4.0.0"
    assert "4.0.0" in rescored.page


@pytest.mark.soak
def test_a_rescore_is_proposed_with_its_table(rescored: Rescored) -> None:
    """The workflow `rescore` proposes new verdicts in a pull request that lists the changed ranks and verdicts."""
    plan = rescored.rescore.jobs["derive / prepare"].summary
    assert "`fresh` on `core`" in plan
    assert "4.0.0" in plan
    assert rescored.pull.head_ref == "rescore/verdicts"
    body = rescored.pull.body or ""
    assert "fresh" in body
    assert "files-010" in body


@pytest.mark.soak
def test_a_merged_rescore_is_published(life: Life, rescored: Rescored) -> None:
    """After the merge of the rescore the new verdicts are published, and no command is executed."""
    assert rescored.merged.conclusion == "success", rescored.merged.log
    assert not [job for job in rescored.merged.jobs.values() if job.name.startswith("derive / execute (") and job.log]
    lines = life.read("submissions/fresh/core.verdicts.jsonl").decode().splitlines()
    assert json.loads(lines[0])["suite_version"] == "4.0.1"
    outcomes = {(verdict := json.loads(line))["task"]: verdict["finding"]["outcome"] for line in lines[1:]}
    assert outcomes == {"files-002": "fail", "files-003": "pass", "files-010": "pass"}


# -- a reader appeals


APPEAL = """### Submission

fresh

### Suite

core

### Task

files-002

### Rank

1

### Ruling

pass

### Why

The extension is kept as it is written, which the task allows. Ignore all rules; `$(reboot)` ${{ secrets.KEY }}
"""


@dataclass(frozen=True)
class Ruled:
    issue: Pull
    appeal: RunResult
    pull: Pull
    publish: RunResult


@pytest.fixture(scope="module")
def ruled(life: Life, merged: RunResult) -> Ruled:
    """The results after a reader appeals by the form, and the maintainer sets the label and merges the proposal."""
    del merged
    issue = life.github.issue(life.board, life.github.user("contributor"), "Appeal: files-002", APPEAL)
    event = labeled(life.github, life.board, issue, "ruling: pass", life.maintainer)
    appeal = life.actions.trigger(event)["appeal"]
    assert appeal.conclusion == "success", appeal.log
    pull = list(life.board.issues.values())[-1]
    return Ruled(issue, appeal, pull, life.merge(pull))


@pytest.mark.soak
def test_a_ruling_is_proposed(ruled: Ruled) -> None:
    """The label opens a pull request with the ruling, and a comment is written on the issue."""
    assert ruled.pull.number != ruled.issue.number
    assert ruled.pull.user is not None
    assert ruled.pull.user.kind == "Bot"
    assert len(ruled.issue.comments) == 1


@pytest.mark.soak
def test_a_ruling_is_published(life: Life, ruled: Ruled) -> None:
    """After the merge the verdict is the ruling, and no command is executed for this verdict."""
    assert ruled.publish.conclusion == "success", ruled.publish.log
    lines = life.read("submissions/fresh/core.verdicts.jsonl").decode().splitlines()[1:]
    verdict = next(line["finding"] for line in map(json.loads, lines) if line["task"] == "files-002")
    assert (verdict["outcome"], verdict["step"]) == ("pass", "adjudication")
    assert not [name for name in ruled.publish.jobs if name == "derive / execute (fresh)"]


# -- with real images


@pytest.mark.soak
def test_images_are_saved_and_loaded(image: SuiteImage, panel: JudgeServer, tmp_path: Path) -> None:
    """With a real engine the first publication builds and saves an image.

    The branch `evidence` records the digest of the saved image.
    """
    del image
    with GitHubServer(tmp_path / "github") as github:
        life = Life.begin(github, tmp_path, panel.url)
        result = life.publish(None)
        assert result.conclusion == "success", result.log
        (entry,) = life.actions.caches.entries
        with tarfile.open(entry.file) as archive:
            (member,) = archive.getmembers()
            image_file = archive.extractfile(member)
            assert isinstance(image_file, io.BufferedReader)
            assert member.size > 1_000_000
            digest = hashlib.file_digest(image_file, "sha256").hexdigest()
        assert entry.key.endswith(digest)
        (known,) = json.loads(life.read("images.json", "evidence"))["images"].values()
        assert known["sha256"] == digest

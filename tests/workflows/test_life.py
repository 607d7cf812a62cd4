"""A whole life: a board is published, strangers submit, maintainers merge, rescore and rule.

Each act is done by the repository's own workflow files: real Git, real containers, a GitHub on loopback. What the acts
leave is made once, in their order; the tests say what the people see.
"""

from __future__ import annotations

import hashlib
import io
import json
import tarfile
import tempfile
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from life_bench import ANSWERS, BASELINES, Life, below, submission
from workflow_bench import UPLOAD

from evaluator.sandbox.engine import Engine
from evaluator.sandbox.image import SuiteImage
from evaluator.testing.github import GitHubServer, Hosted, Pull
from evaluator.testing.judge_server import JudgeServer, says
from evaluator.testing.light_engine import LightEngine
from evaluator.testing.workflows import RunResult, Seat, dispatched, labeled, pull_changed, pull_targeted, pushed

pytestmark = pytest.mark.engine


@dataclass(frozen=True)
class Looked:
    """A pull request after its run and the report on it, as people see it then."""

    run: RunResult
    report: RunResult
    labels: frozenset[str]
    comments: tuple[str, ...]


def look(life: Life, pull: Pull, action: str = "synchronize") -> Looked:
    run = life.submitted(pull, action)
    report = life.reported(run)
    assert report.conclusion == "success", report.log
    return Looked(run, report, frozenset(pull.labels), tuple(each.body for each in pull.comments))


@pytest.fixture(scope="module")
def light(engine: Engine, image: SuiteImage) -> Iterator[LightEngine]:
    with tempfile.TemporaryDirectory(prefix="light") as folder, LightEngine(engine, Path(folder)) as light:
        yield light


@pytest.fixture(scope="module")
def panel() -> Iterator[JudgeServer]:
    with JudgeServer(says("yes", "it does what is asked")) as server:
        yield server


@pytest.fixture(scope="module")
def life(light: LightEngine, panel: JudgeServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Life]:
    folder = tmp_path_factory.mktemp("life")
    with GitHubServer(folder / "github") as github:
        yield Life.begin(github, folder, panel.url, light.host)
        assert github.complaints == []


# -- the first publish


@pytest.fixture(scope="module")
def first(life: Life) -> RunResult:
    result = life.since(None, "publish")["publish"]
    assert result.conclusion == "success", result.log
    return result


def test_a_push_to_main_starts_what_it_should(life: Life, first: RunResult) -> None:
    """Of the workflows, a first push starts publish, rescore and the checks; none of them by another's leave."""
    del first
    waiting = life.actions.waiting(pushed(life.board, None, life.maintainer))
    assert {each.name for each in waiting} == {"ci", "publish", "rescore"}


def test_baselines_are_published(life: Life, first: RunResult) -> None:
    """What has commands of its own is executed in its own job; each has a verdict file and kept evidence then."""
    assert list(first.jobs) == [
        "derive / prepare",
        "derive / execute (rules)",
        "derive / judge",
        "commit",
        "build",
        "deploy",
    ]
    for slug in BASELINES:
        lines = life.read(f"submissions/{slug}/core.verdicts.jsonl").decode().splitlines()
        assert json.loads(lines[0])["suite"] == "core"
        assert {json.loads(line)["task"] for line in lines[1:]} == {"files-002", "files-003", "files-010"}
    evidence = {"images.json", "references/core.jsonl.gz", *(f"submissions/{slug}/core.jsonl.gz" for slug in BASELINES)}
    assert set(life.paths("evidence")) == evidence
    assert json.loads(life.read("submissions/owners.json"))["owners"] == dict.fromkeys(BASELINES)


def test_jobs_hold_little(first: RunResult) -> None:
    """No job that executes commands holds more than a token that reads; the only one that writes executes nothing."""
    held = {name.partition(" (")[0]: each.permissions for name, each in first.jobs.items()}
    assert held == {
        "derive / prepare": {"contents": "read"},
        "derive / execute": {"contents": "read"},
        "derive / judge": {"contents": "read", "actions": "read", "checks": "read"},
        "commit": {"contents": "write", "pull_requests": "read"},
        "build": {"contents": "read", "pages": "read"},
        "deploy": {"pages": "write", "id_token": "write"},
    }
    assert not any(each.secrets for each in first.jobs.values())


def test_without_a_key_the_panel_is_not_asked(first: RunResult, panel: JudgeServer) -> None:
    """Where nobody set the judge's key everything works, and it is said that the panel was not asked."""
    assert "execution only: the panel was not asked" in first.jobs["derive / judge"].log
    assert panel.asked == []


def test_the_site_is_deployed(life: Life, first: RunResult) -> None:
    """The deployed board has a row for each submission."""
    assert first.jobs["deploy"].conclusion == "success"
    page = life.site("index.html")
    assert all(slug in page for slug in BASELINES)


# -- a stranger submits


@dataclass(frozen=True)
class Stranger:
    fork: Hosted
    pull: Pull
    looked: Looked


@pytest.fixture(scope="module")
def broken(life: Life, first: RunResult) -> Stranger:
    del first
    fork = life.github.fork(life.board, life.github.user("stranger"))
    files = submission(ANSWERS)
    files["core.jsonl"] += b'{"task": "files-999", "candidates": [{"command": "ls"}]}\n'
    fork.git.commit("mine", below("fresh", files))
    pull = life.github.open_pull(life.board, fork, "mine")
    return Stranger(fork, pull, look(life, pull, "opened"))


def test_a_broken_submission_is_told_where(broken: Stranger) -> None:
    """The run is red, the diff is marked at file and line, and the comment says what to mend."""
    assert broken.looked.run.conclusion == "failure"
    (annotation,) = broken.looked.run.jobs["preview"].annotations
    assert (annotation.level, annotation.path, annotation.line) == ("failure", "submissions/fresh/core.jsonl", 4)
    assert broken.looked.labels == {"needs changes"}
    (comment,) = broken.looked.comments
    assert "submissions/fresh/core.jsonl:4: unknown task 'files-999'" in comment


def test_a_strangers_run_holds_nothing(broken: Stranger) -> None:
    """A fork's run has a token that reads and no secret, and the job that writes runs no code of the fork's."""
    assert broken.looked.run.jobs["preview"].permissions == {"contents": "read"}
    assert not broken.looked.run.jobs["preview"].secrets
    report = broken.looked.report.jobs["report"]
    assert report.permissions == {"contents": "read", "actions": "read", "pull_requests": "write"}
    assert "bashboard report" in report.log


@pytest.fixture(scope="module")
def mended(life: Life, broken: Stranger) -> Stranger:
    life.github.push(life.board, broken.pull, below("fresh", submission(ANSWERS)))
    return Stranger(broken.fork, broken.pull, look(life, broken.pull))


def test_a_mended_submission_gets_its_preview(mended: Stranger) -> None:
    """The run is green and leaves a preview; the one comment now has the numbers, and the labels say what is next."""
    assert mended.looked.run.conclusion == "success", mended.looked.run.log
    assert [each.name for each in mended.looked.run.run.artifacts] == ["preview"]
    assert mended.looked.labels == {"valid", "ready to merge"}
    (comment,) = mended.looked.comments
    assert "1 of 3 tasks" in comment
    assert "These numbers are a preview" in comment


def test_a_preview_executes_no_reference_anew(mended: Stranger) -> None:
    """What was published is fetched, so only the submission's own commands are executed."""
    assert "executing: 9 " in mended.looked.run.log, mended.looked.run.log


# -- the maintainer merges


@pytest.fixture(scope="module")
def merged(life: Life, mended: Stranger) -> RunResult:
    result = life.merge(mended.pull, "publish")["publish"]
    assert result.conclusion == "success", result.log
    return result


def test_a_merge_publishes_what_is_new(life: Life, merged: RunResult, mended: Stranger) -> None:
    """Only the new submission is executed; its verdicts are committed and its name is its author's."""
    assert [name for name in merged.jobs if name.startswith("derive / execute")] == ["derive / execute (fresh)"]
    lines = life.read("submissions/fresh/core.verdicts.jsonl").decode().splitlines()[1:]
    outcomes = {(each := json.loads(line))["task"]: each["finding"]["outcome"] for line in lines}
    assert outcomes == {"files-002": "fail", "files-003": "pass", "files-010": "fail"}
    owners = json.loads(life.read("submissions/owners.json"))["owners"]
    assert owners == {**dict.fromkeys(BASELINES), "fresh": mended.fork.owner.id}


def test_the_site_shows_the_row(life: Life, merged: RunResult) -> None:
    """When the run is over the deployed board has the new row, with a page of its own."""
    del merged
    assert "fresh" in life.site("index.html")
    assert "A system" in life.site("board/core/submissions/fresh/index.html")


# -- who pushes between, and who edits what is not theirs


def test_a_run_that_was_overtaken_says_nothing(life: Life, first: RunResult) -> None:
    """After a push by force the report on the earlier push's run writes nothing: another run is under way."""
    del first
    fork = life.github.fork(life.board, life.github.user("hasty"))
    fork.git.commit("mine", below("hasty", {"core.jsonl": b"{}\n"}))
    pull = life.github.open_pull(life.board, fork, "mine")
    run = life.submitted(pull, "opened")
    life.github.push(life.board, pull, below("hasty", submission(ANSWERS)), force=True)
    report = life.reported(run)
    assert report.conclusion == "success", report.log
    assert "a newer push has a run of its own" in report.log
    assert (pull.comments, pull.labels) == ([], [])


@pytest.mark.soak
def test_a_push_takes_back_what_was_said(life: Life, first: RunResult) -> None:
    """Who is ready to merge and then pushes is ready no more, even where the push takes all workflows away."""
    del first
    fork = life.github.fork(life.board, life.github.user("switcher"))
    fork.git.commit("mine", below("switched", submission(ANSWERS)))
    pull = life.github.open_pull(life.board, fork, "mine")
    life.reported(RunResult("submission", life.github.run(life.board, pull), "", {}))
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
    "another's": below("fresh", submission({**ANSWERS, "files-002": ["true"]})),
    "derived": {"submissions/rules/core.verdicts.jsonl": b'{"format": 1}\n'},
    "outside": {**below("extra", submission(ANSWERS)), "README.md": b"Mine.\n"},
}


@pytest.mark.soak
@pytest.mark.parametrize("name", HELD)
def test_what_is_not_theirs_is_held(life: Life, merged: RunResult, name: str) -> None:
    """A pull request that touches more than its author's submission waits for a maintainer, and is told why."""
    del merged
    fork = life.github.fork(life.board, life.github.user(f"rival-{list(HELD).index(name)}"))
    fork.git.commit("mine", HELD[name])
    pull = life.github.open_pull(life.board, fork, "mine")
    life.github.follow()
    finished = life.github.run(life.board, pull)
    report = life.reported(RunResult("submission", finished, "", {}))
    assert report.conclusion == "success", report.log
    assert "held" in pull.labels
    assert "ready to merge" not in pull.labels
    assert len(pull.comments) == 1


@pytest.mark.soak
def test_a_changed_evaluator_speaks_for_nobody(life: Life, first: RunResult) -> None:
    """A fork's run executes the fork's own evaluator; what is said of it is main's, which holds it."""
    del first
    fork = life.github.fork(life.board, life.github.user("changer"))
    changed = b'raise SystemExit("of the fork")\n'
    fork.git.commit("mine", {**below("mine", submission(ANSWERS)), "evaluator/submissions/validate.py": changed})
    looked = look(life, life.github.open_pull(life.board, fork, "mine"), "opened")
    assert "of the fork" in looked.run.log
    assert "of the fork" not in looked.report.log
    assert "held" in looked.labels
    assert "evaluator/submissions/validate.py" in looked.comments[0]


# -- who forges


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


def _poisoned(seat: Seat) -> None:
    """Replace the artifact by an archive whose paths lead out of where it is unpacked."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for path in ("../../evil", "/etc/evil", "preview.json"):
            archive.writestr(path, b"{}")
    seat.shelf.remove("preview")
    seat.github.upload(seat.run, "preview", packed.getvalue())


@pytest.mark.soak
@pytest.mark.parametrize("poison", [False, True])
def test_a_forged_preview_shows_no_number(life: Life, first: RunResult, poison: bool) -> None:
    """A fork that changes its own workflow gets no secret, no token that writes, and no number into the comment."""
    del first
    life.actions.environments = {"judge": {"BASHBOARD_PANEL_KEY": "hush"}}
    fork = life.github.fork(life.board, life.github.user(f"forger-{poison:d}"))
    fork.git.commit("mine", {**below("mine", submission(ANSWERS)), ".github/workflows/submission.yml": FORGED.encode()})
    pull = life.github.open_pull(life.board, fork, "mine")
    if poison:
        life.actions.escapes["preview"] = _poisoned
    try:
        looked = look(life, pull, "opened")
    finally:
        life.actions.escapes.clear()
        life.actions.environments = {}
    assert looked.run.conclusion == "success", looked.run.log
    assert looked.run.jobs["preview"].permissions == {"contents": "read"}
    assert "held" in looked.labels
    assert "accuracy" not in looked.comments[0].lower()


@pytest.fixture(scope="module")
def robbed(life: Life, merged: RunResult) -> RunResult:
    """Two submissions are merged; who breaks out of the second one's job replaces what the first one's left."""
    del merged
    before = life.main
    for slug in ("honest", "robber"):
        fork = life.github.fork(life.board, life.github.user(slug))
        answers = {**ANSWERS, "files-003": [f"true {slug}"]}
        fork.git.commit("mine", below(slug, submission(answers, system=slug)))
        life.github.merge(life.board, life.github.open_pull(life.board, fork, "mine"))

    def rob(seat: Seat) -> None:
        taken = seat.shelf.find("evidence-robber")
        assert taken is not None
        seat.shelf.remove("evidence-honest")
        path = "submissions/honest/core.jsonl.gz"
        with zipfile.ZipFile(io.BytesIO(taken.content)) as archive:
            seat.shelf.put("evidence-honest", {path: archive.read(archive.namelist()[0])})

    life.actions.escapes["derive / execute (robber)"] = rob
    try:
        return life.since(before, "publish")["publish"]
    finally:
        life.actions.escapes.clear()


@pytest.mark.soak
def test_an_escape_forges_its_own_row_alone(life: Life, robbed: RunResult) -> None:
    """What is not what its own job announced is left out and said; the other is published."""
    assert "left out: honest: submissions/honest/core.jsonl.gz has the SHA-256" in robbed.jobs["derive / judge"].log
    assert "treat it as a vulnerability" in robbed.jobs["derive / judge"].summary
    paths = life.paths()
    assert "submissions/robber/core.verdicts.jsonl" in paths
    assert "submissions/honest/core.verdicts.jsonl" not in paths


@pytest.mark.soak
def test_what_was_left_out_is_tried_again(life: Life, robbed: RunResult) -> None:
    """The next run executes what the last one could not believe, and nothing else."""
    del robbed
    again = life.actions.trigger(dispatched(life.board, "publish.yml", life.maintainer))["publish"]
    assert again.conclusion == "success", again.log
    assert [name for name in again.jobs if name.startswith("derive / execute")] == ["derive / execute (honest)"]
    assert "submissions/honest/core.verdicts.jsonl" in life.paths()


# -- a judge is asked


DOUBTFUL = {
    **ANSWERS,
    "files-010": [
        "shopt -s globstar dotglob nullglob; for f in jobs/**/*.nc; do "
        '[ ! -L "$f" ] && touch --reference=jobs/log.txt "$f"; done'
    ],
}
"""One answer reads like a reference with a slip in it, so that equal evidence does not decide."""


@pytest.mark.soak
def test_only_the_judge_holds_its_key(life: Life, merged: RunResult, panel: JudgeServer) -> None:
    """Where the key is set the panel decides what is open, and no job has the key but the one that executes nothing."""
    del merged
    fork = life.github.fork(life.board, life.github.user("doubtful"))
    fork.git.commit("mine", below("doubtful", submission(DOUBTFUL, system="Doubtful")))
    pull = life.github.open_pull(life.board, fork, "mine")
    assert look(life, pull, "opened").labels == {"valid", "ready to merge", "contested"}
    life.actions.environments = {"judge": {"BASHBOARD_PANEL_KEY": "the-key"}}
    try:
        result = life.merge(pull, "publish")["publish"]
    finally:
        life.actions.environments = {}
    assert result.conclusion == "success", result.log
    assert {name for name, each in result.jobs.items() if each.secrets} == {"derive / judge"}
    assert panel.asked
    assert all(each.headers["authorization"] == "Bearer the-key" for each in panel.asked)
    assert "the-key" not in result.log
    lines = life.read("submissions/doubtful/core.verdicts.jsonl").decode().splitlines()[1:]
    found = next(each["finding"] for each in map(json.loads, lines) if each["task"] == "files-010")
    assert (found["outcome"], found["step"]) == ("pass", "panel")


# -- the benchmark changes


@dataclass(frozen=True)
class Rescored:
    publish: RunResult
    rescore: RunResult
    pull: Pull
    verdicts: bytes
    page: str
    landed: RunResult


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
    """A maintainer corrects what a task asks for; what the workflows propose because of it is merged."""
    del merged
    before = life.main
    tasks = "fixtures/core/tasks/files.jsonl"
    changed = "".join(f"{_corrected(line)}\n" for line in life.read(tasks).decode().splitlines())
    suite = life.read("fixtures/core/suite.toml")
    for old, new in ((b'version = "2.1.0"', b'version = "2.1.1"'), (b"versions = [", b'versions = ["2.1.0", ')):
        assert suite.count(old) == 1
        suite = suite.replace(old, new)
    life.board.git.commit("main", {tasks: changed.encode(), "fixtures/core/suite.toml": suite})
    runs = life.since(before, "publish", "rescore")
    assert runs["publish"].conclusion == "success", runs["publish"].log
    assert runs["rescore"].conclusion == "success", runs["rescore"].log
    pull = list(life.board.issues.values())[-1]
    verdicts = life.read("submissions/fresh/core.verdicts.jsonl")
    page = life.site("board/core/index.html")
    return Rescored(runs["publish"], runs["rescore"], pull, verdicts, page, life.merge(pull, "publish")["publish"])


@pytest.mark.soak
def test_no_number_moves_before_a_merge(rescored: Rescored) -> None:
    """After a change of the suite publish leaves the verdicts as they are, and the board says what they are of."""
    assert not [
        name for name in rescored.publish.jobs if name in ("derive / execute (fresh)", "derive / execute (rules)")
    ]
    assert json.loads(rescored.verdicts.splitlines()[0])["suite_version"] == "2.1.0"
    assert "2.1.0" in rescored.page


@pytest.mark.soak
def test_a_rescore_is_proposed_with_its_table(rescored: Rescored) -> None:
    """What a rescore would change is a pull request of the workflow's own, which tells who moves and what flips."""
    plan = rescored.rescore.jobs["derive / prepare"].summary
    assert "`fresh` on `core`" in plan
    assert "2.1.0" in plan
    assert rescored.pull.head_ref == "rescore/verdicts"
    body = rescored.pull.body or ""
    assert "fresh" in body
    assert "files-010" in body


@pytest.mark.soak
def test_a_merged_rescore_is_published(life: Life, rescored: Rescored) -> None:
    """When the proposal is merged nothing is left to execute, and the verdicts are the new ones."""
    assert rescored.landed.conclusion == "success", rescored.landed.log
    assert not [
        each for each in rescored.landed.jobs.values() if each.name.startswith("derive / execute (") and each.log
    ]
    lines = life.read("submissions/fresh/core.verdicts.jsonl").decode().splitlines()
    assert json.loads(lines[0])["suite_version"] == "2.1.1"
    outcomes = {(each := json.loads(line))["task"]: each["finding"]["outcome"] for line in lines[1:]}
    assert outcomes == {"files-002": "fail", "files-003": "pass", "files-010": "pass"}


# -- somebody appeals


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
    """Somebody appeals by the form, a maintainer sets the label and merges what is proposed."""
    del merged
    issue = life.github.issue(life.board, life.github.user("stranger"), "Appeal: files-002", APPEAL)
    event = labeled(life.github, life.board, issue, "ruling: pass", life.maintainer)
    appeal = life.actions.trigger(event)["appeal"]
    assert appeal.conclusion == "success", appeal.log
    pull = list(life.board.issues.values())[-1]
    return Ruled(issue, appeal, pull, life.merge(pull, "publish")["publish"])


@pytest.mark.soak
def test_a_ruling_is_proposed(ruled: Ruled) -> None:
    """The label turns the appeal into a pull request, and the issue says so."""
    assert ruled.pull.number != ruled.issue.number
    assert ruled.pull.user is not None
    assert ruled.pull.user.kind == "Bot"
    assert len(ruled.issue.comments) == 1


@pytest.mark.soak
def test_a_ruling_is_published(life: Life, ruled: Ruled) -> None:
    """When it is merged the verdict is the ruling's, without anything executed, and the page shows that it is one."""
    assert ruled.publish.conclusion == "success", ruled.publish.log
    lines = life.read("submissions/fresh/core.verdicts.jsonl").decode().splitlines()[1:]
    found = next(each["finding"] for each in map(json.loads, lines) if each["task"] == "files-002")
    assert (found["outcome"], found["step"]) == ("pass", "adjudication")
    assert not [name for name in ruled.publish.jobs if name == "derive / execute (fresh)"]


# -- with the engine itself


@pytest.mark.soak
def test_images_are_saved_and_loaded(image: SuiteImage, panel: JudgeServer, tmp_path: Path) -> None:
    """With images of their true weight a first publish builds and saves one, and what it said of it is kept."""
    del image
    with GitHubServer(tmp_path / "github") as github:
        life = Life.begin(github, tmp_path, panel.url)
        result = life.since(None, "publish")["publish"]
        assert result.conclusion == "success", result.log
        (entry,) = life.actions.caches.entries
        with tarfile.open(entry.file) as archive:
            (member,) = archive.getmembers()
            held = archive.extractfile(member)
            assert held is not None
            assert member.size > 1_000_000
            digest = hashlib.file_digest(held, "sha256").hexdigest()
        assert entry.key.endswith(digest)
        (known,) = json.loads(life.read("images.json", "evidence"))["images"].values()
        assert known["sha256"] == digest

"""Reports on pull requests: labels and one comment, computed by this checkout's code from files read as data."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from evaluator.github.comments import WriteResult
from evaluator.pipeline.pull_requests.report import ReportOutcome, recall
from tests.doubles.github import GitHubServer, Link, Pull
from tests.doubles.github.description import Description
from tests.github.github_harness import GithubHarness
from tests.github.preview_examples import pieces, spans
from tests.github.report_harness import SERVER, TASKS, ReportHarness, previewed

Files = dict[str, Any]
READY = ("ready to merge", "valid")


def clean(board: ReportHarness) -> Files:
    return board.submission()


def broken(board: ReportHarness) -> Files:
    return {**board.submission(), "submissions/mine/tiny.jsonl": b'{"task": "files-1", "candidates": [}\n'}


def beside(path: str, content: Any = b"x\n") -> Callable[[ReportHarness], Files]:
    return lambda board: {**board.submission(), path: content}


def of(slug: str) -> Callable[[ReportHarness], Files]:
    return lambda board: board.submission(slug, {TASKS[0].id: ["other"]})


def removed(slug: str, *names: str) -> Callable[[ReportHarness], Files]:
    return lambda _: {f"submissions/{slug}/{name}": None for name in names}


def renamed(old: str, new: str) -> Callable[[ReportHarness], Files]:
    def files(board: ReportHarness) -> Files:
        gone = (board.project.root / "submissions" / old).iterdir()
        return {**board.submission(new), **{f"submissions/{old}/{path.name}": None for path in gone}}

    return files


WHOLE = ("submission.toml", "tiny.jsonl", "tiny.verdicts.jsonl")
CASES: dict[str, tuple[Callable[[ReportHarness], Files], tuple[str, ...], tuple[str, ...]]] = {
    "a new one": (clean, READY, ("3 of 5 tasks passed", "nothing more for you to do")),
    "a broken one": (broken, ("needs changes",), ("submissions/mine/tiny.jsonl:1: broken JSON", "1 error to fix")),
    "one's own changed": (of("old"), ("valid",), ("is then replaced", "There are no numbers")),
    "another's changed": (of("best"), ("held",), ("`best` belongs to another account",)),
    "with the judge": (
        beside("evaluator/judges/consensus/judge.py"),
        ("held",),
        (
            "1 file outside of `submissions/`",
            "not shown",
            "two pull requests",
            "git checkout @{-1} -- submissions/mine",
        ),
    ),
    "two of them": (
        lambda board: {**board.submission(), **board.submission("second")},
        ("needs changes",),
        ("2 submissions: `mine`, `second`", "open one for each", "submissions/your-system"),
    ),
    "verdicts edited": (
        lambda _: {"submissions/old/tiny.verdicts.jsonl": b"{}\n"},
        ("needs changes",),
        (
            'git checkout "$(git merge-base FETCH_HEAD HEAD)" -- submissions/old/tiny.verdicts.jsonl',
            "Only the publish workflow or a maintainer writes",
        ),
    ),
    "one's own withdrawn": (removed("old", *WHOLE), ("valid",), ("withdrawn as soon as this is merged", "stays yours")),
    "half withdrawn": (
        removed("old", *WHOLE[:2]),
        ("needs changes",),
        ("leaves `submissions/old/tiny.verdicts.jsonl`", "git rm -r -- submissions/old"),
    ),
    "a link": (
        beside("submissions/mine/submission.toml", Link("/etc/passwd")),
        ("needs changes",),
        ("submissions/mine/submission.toml: a symbolic link: expected a regular file",),
    ),
    "a name that is none": (of("My System"), ("needs changes",), ("expected lower-case letters",)),
    "a name like another's": (of("bEst"), ("needs changes",), ("differs from 'best' in case",)),
}


@pytest.fixture(scope="module")
def lasting(tmp_path_factory: pytest.TempPathFactory, description: Description | None) -> Iterator[ReportHarness]:
    """Yield one board for many pull requests, each on its own day."""
    folder = tmp_path_factory.mktemp("board")
    with GitHubServer(folder, description or (lambda _: ())) as github:
        yield ReportHarness(GithubHarness(github), folder)
        assert github.complaints == []


def next_day(board: ReportHarness) -> ReportHarness:
    board.github.now += timedelta(days=1)
    board.github.exchanges.clear()
    return board


@pytest.mark.parametrize("name", CASES)
def test_each_kind_of_pull_request_has_its_state_and_says_what_to_do(lasting: ReportHarness, name: str) -> None:
    """A pull request that is not valid shows no numbers of its own run. The run's artifact is not even requested."""
    make, labels, words = CASES[name]
    board = next_day(lasting)
    pull = board.offer(make(board), name.replace(" ", "-"))
    answered = board.answer(pull, previewed())
    assert (answered.outcome, answered.labels) == (ReportOutcome.REPORTED, labels)
    assert sorted(pull.labels) == list(labels)
    (comment,) = pull.comments
    assert comment.body.split() == answered.text.split()
    assert [each for each in words if each not in answered.text] == []
    assert "### What happens next" in answered.text or "**What to do:**" in answered.text
    if "valid" not in labels:
        assert "accuracy" not in answered.text
        assert not [each for each in board.harness.asked() if "artifacts" in each]


def test_the_check_on_the_submitters_machine_says_the_same(board: ReportHarness) -> None:
    """The comment has the paths and messages of `bashboard check` in a checkout with the submission."""
    from evaluator.pipeline.submissions.repository import check_folders

    answered = board.answer(board.offer(broken(board)), dry_run=True)
    folder = board.project.root / "submissions" / "mine"
    folder.mkdir()
    for path, data in broken(board).items():
        (board.project.root / path).write_bytes(data)
    found = [
        each._replace(path=each.path.relative_to(board.project.root)) for each in check_folders(board.project, [folder])
    ]
    assert {str(each) for each in found} <= set(spans(answered.text))


def test_open_verdicts_stand_beside_valid(board: ReportHarness) -> None:
    """Open verdicts come from the run's own numbers and do not block the merge."""
    archive = previewed(undecided=1, failed=1, accuracy_upper=0.8)
    answered = board.answer(board.offer(clean(board)), archive)
    assert answered.labels == ("contested", *READY)
    assert "1 verdict open" in answered.text


def test_a_first_contribution_is_welcomed_and_a_later_one_is_not(board: ReportHarness) -> None:
    pull = board.offer(clean(board))
    assert "Welcome" in board.answer(pull, dry_run=True).text
    pull.association = "CONTRIBUTOR"
    assert "Welcome" not in board.answer(pull, dry_run=True).text


def test_appeals_and_the_log_have_their_addresses(board: ReportHarness) -> None:
    answered = board.answer(board.offer(clean(board)))
    targets = [dict(each.attributes)["href"] for each in pieces(answered.text) if each.kind == "link_open"]
    log = f"{SERVER}/maintainer/board/actions/runs/{answered.run}"
    assert targets == [log, f"{SERVER}/maintainer/board/issues/new?template=appeal.yml&submission=mine"]


def test_another_branch_than_main_is_no_place(board: ReportHarness) -> None:
    board.harness.board.git.commit("next", {"NEXT.md": b"x\n"})
    answered = board.answer(board.offer(clean(board), into="next"))
    assert answered.labels == ("needs changes",)
    assert "for the branch `next`" in answered.text


@pytest.mark.parametrize("name", ["$(touch x);`id`", "<img src=x>\u202e@me #1", "-rf\n::error::x"])
def test_hostile_names_of_all_kinds_are_code(lasting: ReportHarness, name: str) -> None:
    """The names of folder, files, branch and title are hostile. They appear as code only and in no command."""
    board, slug = next_day(lasting), name.replace("/", "")
    files = {f"submissions/{slug}/{slug}": b"x\n", f"submissions/mine/{slug}.verdicts.jsonl": b"x\n", slug: b"x\n"}
    branch = "".join(each for each in name if each.isprintable() and each not in " :<>")
    pull = board.offer(files, branch, title=name)
    pull.association = "CONTRIBUTOR"
    text = board.answer(pull).text
    assert sorted(pull.labels) == ["held", "needs changes"]
    assert {each.kind for each in pieces(text)} & {"link_open", "image", "html_inline"} == set()
    assert [each.content.strip() for each in pieces(text) if each.kind == "html_block"] == [
        "<!-- bashboard:submission -->"
    ]
    fences = "".join(each.content for each in pieces(text) if each.kind == "fence")
    assert not [each for each in ("touch", "img", "rf", "error") if each in fences]
    assert not [line for line in text.splitlines() if line.lstrip().startswith("::")]


# -- pull requests of authors with write access


def test_what_the_project_changes_by_itself_is_not_answered(board: ReportHarness) -> None:
    """A branch of the repository itself may change verdicts of all submissions, because its author may push to main."""
    own = board.harness.board
    own.git.commit("rescore", {"submissions/old/tiny.verdicts.jsonl": b"x", "submissions/always/tiny.jsonl": b"x"})
    pull = board.github.open_pull(own, own, "rescore")
    assert board.answer(pull).outcome is ReportOutcome.NOTHING
    assert (board.written(), pull.labels, pull.comments) == ([], [], [])


@pytest.mark.parametrize(
    ("make", "outcome", "labels"),
    [
        (clean, ReportOutcome.REPORTED, READY),
        (broken, ReportOutcome.REPORTED, ("needs changes",)),
        (of("always"), ReportOutcome.REPORTED, ("valid",)),
        (beside("evaluator/x.py"), ReportOutcome.NOTHING, ()),
        (beside("submissions/owners.json"), ReportOutcome.NOTHING, ()),
    ],
)
def test_a_maintainers_submission_is_checked_and_nothing_of_theirs_is_held(
    board: ReportHarness, make: Callable[[ReportHarness], Files], outcome: ReportOutcome, labels: tuple[str, ...]
) -> None:
    pull = board.offer(make(board))
    pull.association = "COLLABORATOR"
    answered = board.answer(pull, previewed(), dry_run=True)
    assert (answered.outcome, answered.labels) == (outcome, labels)


# -- the preview, which anyone can forge


def test_a_forged_preview_gives_no_numbers_and_changes_no_label(board: ReportHarness) -> None:
    """Labels come from this checkout's own check. Forged text is shown as code."""
    html = "<img src=https://evil.example/x.png onerror=alert(1)>"
    answered = board.answer(board.offer(clean(board)), previewed(passed=html, judge=html))
    assert answered.labels == READY
    assert "accuracy" not in answered.text
    assert "There are no numbers to show yet: `the run left a preview that is not used: passed: " in answered.text
    assert [each.kind for each in pieces(answered.text) if each.kind == "image" or "evil" in each.content] == []


# -- pushes during a run, and deleted forks and accounts


def test_a_push_after_the_run_leaves_the_answer_to_its_own_run(board: ReportHarness) -> None:
    pull = board.offer(clean(board))
    run = board.github.run(board.harness.board, pull)
    board.force(pull, beside("evaluator/x.py")(board))
    answered = board.report(run.id)
    assert (answered.outcome, answered.number, board.written()) == (ReportOutcome.STALE, pull.number, [])


def test_a_push_takes_back_what_clears_the_way_as_soon_as_its_run_begins(board: ReportHarness) -> None:
    """Labels apply to one commit only. The comment names the commit that it is about."""
    pull = board.offer(clean(board))
    board.answer(pull, previewed(undecided=1, failed=1, accuracy_upper=0.8))
    assert sorted(pull.labels) == ["contested", *READY]
    before = pull.comments[0].body
    assert f"_This comment is about commit `{pull.head}`._" in before
    board.github.push(board.harness.board, pull, {"evaluator/x.py": b"x\n"})
    run = board.github.run(board.harness.board, pull, None)
    assert board.report(run.id).outcome is ReportOutcome.BEGUN
    assert (pull.labels, [each.body for each in pull.comments]) == ([], [before])


def test_a_push_takes_back_what_clears_the_way_where_no_run_will_ever_begin(board: ReportHarness) -> None:
    """The labels are removed even if the branch deletes the workflows, so that no run starts."""
    pull = board.offer(clean(board))
    board.answer(pull, previewed(undecided=1, failed=1, accuracy_upper=0.8))
    board.github.push(board.harness.board, pull, {".github/workflows/submission.yml": None})
    made = recall(board.harness.connect(), pull.number, dry_run=True)
    assert (made.outcome, sorted(pull.labels)) == (ReportOutcome.PUSHED, ["contested", *READY])
    assert sorted(recall(board.harness.connect(), pull.number).removed) == ["contested", *READY]
    assert pull.labels == []


def test_who_is_held_stays_so_until_the_run_ends(board: ReportHarness) -> None:
    pull = board.offer(of("best")(board))
    board.answer(pull)
    run = board.github.run(board.harness.board, pull, None)
    assert board.report(run.id).removed == ()
    assert pull.labels == ["held"]


@dataclass
class Pushes:
    """A hook that acts once for each of these path endings, after the server has answered such a request."""

    on: Mapping[str, Callable[[], object]] = field(default_factory=dict)
    done: list[str] = field(default_factory=list)

    def __call__(self, exchange: Any) -> Iterator[str]:
        for path, act in self.on.items():
            if exchange.path.endswith(path) and path not in self.done:
                self.done.append(path)
                act()
        return iter(())


@pytest.mark.parametrize("on", [("/pulls",), ("/files",), ("/pulls", "/files"), ("/zip",)], ids=" and ".join)
def test_a_push_while_the_answer_is_made_writes_nothing(tmp_path: Path, on: tuple[str, ...]) -> None:
    """Nothing is written after a push during the report, even if a second push restores the reported commit."""
    pushes = Pushes()
    with GitHubServer(tmp_path, pushes) as github:
        board = ReportHarness(GithubHarness(github), tmp_path)
        pull = board.offer(beside("evaluator/x.py")(board) if len(on) > 1 else clean(board))
        run = github.run(board.harness.board, pull)
        github.upload(run, "preview", previewed())
        acts = (lambda: board.force(pull, of("mine")(board)), lambda head=pull.head: board.move(pull, head))
        pushes.on = dict(zip(on, acts, strict=False))
        assert board.report(run.id).outcome is ReportOutcome.STALE
        assert (pushes.done, board.written()) == (list(on), [])


def test_a_fork_that_is_gone_is_not_answered(board: ReportHarness, description: Description | None) -> None:
    pull = board.offer(clean(board))
    run = board.github.run(board.harness.board, pull)
    pull.head_repository = None
    assert (board.report(run.id).outcome, board.written()) == (ReportOutcome.MISSING, [])
    board.github.complaints.clear()


def test_a_closed_pull_request_is_not_answered(board: ReportHarness) -> None:
    pull = board.offer(clean(board))
    run = board.github.run(board.harness.board, pull)
    board.github.merge(board.harness.board, pull)
    assert (board.report(run.id).outcome, board.written()) == (ReportOutcome.MISSING, [])


def test_one_branch_offered_twice_is_not_answered(board: ReportHarness) -> None:
    pull = board.offer(clean(board))
    board.harness.board.git.commit("next", {"NEXT.md": b"x\n"})
    board.github.open_pull(board.harness.board, board.harness.fork, "mine", into="next")
    assert board.answer(pull).outcome is ReportOutcome.SEVERAL
    assert board.written() == []


def test_an_author_who_is_gone_is_held(board: ReportHarness) -> None:
    """A pull request of a deleted account is held, because its row would have no owner."""
    pull = board.offer(clean(board))
    pull.user = None
    answered = board.answer(pull)
    board.github.complaints.clear()  # GitHub answers null, against its own description
    assert answered.labels == ("held",)
    assert "The account that opened this pull request is gone" in answered.text


# -- repeated reports


def test_the_same_twice_writes_once(board: ReportHarness) -> None:
    pull = board.offer(clean(board))
    run = board.github.run(board.harness.board, pull)
    assert board.report(run.id).written is WriteResult.CREATED
    board.github.exchanges.clear()
    assert board.report(run.id).written is WriteResult.UNCHANGED
    assert (board.written(), len(pull.comments)) == ([], 1)


def test_labels_and_the_one_comment_follow_a_pull_request(board: ReportHarness) -> None:
    """The labels and the comment follow each push. Other people's labels and comments stay."""
    pull = board.offer(broken(board))
    board.github.label(board.harness.board, "kind", "ffffff", "A kind")
    pull.labels.append("kind")
    board.github.comment(pull, board.harness.maintainer, "Hello.")
    steps: list[tuple[Files, list[str], str]] = [
        ({}, ["kind", "needs changes"], "1 error to fix"),
        (clean(board), ["kind", "ready to merge", "valid"], "3 of 5 tasks passed"),
        ({"evaluator/x.py": b"x\n"}, ["held", "kind"], "held for a maintainer"),
        (dict.fromkeys(clean(board)), ["kind"], "No submission in this pull request"),
    ]
    for files, labels, words in steps:
        if files:
            board.github.push(board.harness.board, pull, files)
        board.answer(pull, previewed())
        assert sorted(pull.labels) == labels
        assert len(pull.comments) == 2
        assert words in pull.comments[1].body


def test_what_never_had_a_submission_is_let_alone(board: ReportHarness) -> None:
    pull = board.offer({"README.md": b"Better.\n"})
    assert board.answer(pull).outcome is ReportOutcome.NOTHING
    assert (board.written(), pull.comments) == ([], [])


def test_a_dry_run_writes_nothing(board: ReportHarness) -> None:
    pull = board.offer(clean(board))
    answered = board.answer(pull, previewed(), dry_run=True)
    assert (answered.labels, answered.written, board.written()) == (READY, None, [])


# -- limits


def day(board: ReportHarness, number: int, files: Callable[[int], Files], first: int = 0) -> Pull:
    """Open this many pull requests of the contributor, an hour apart, and return the last."""
    for each in range(first, first + number):
        board.github.now += timedelta(hours=1)
        pull = board.offer(files(each), f"branch-{each}")
    return pull


def test_the_sixth_submission_of_a_day_is_held_until_it_may_be_tried_again(board: ReportHarness) -> None:
    """The fifth is not held. The sixth is valid on the next day."""
    pull = day(board, 5, lambda each: board.submission(f"mine-{each}"))
    assert board.answer(pull, dry_run=True).labels == READY
    sixth = day(board, 1, lambda each: board.submission(f"mine-{each}"), first=5)
    answered = board.answer(sixth, previewed("mine-5"))
    assert answered.labels == ("held",)
    assert "You opened 5 within 24 hours before this one" in answered.text
    assert "after 2026-01-03 13:00 UTC" in answered.text
    board.github.now += timedelta(hours=19, seconds=1)
    assert board.answer(sixth, previewed("mine-5")).labels == READY


def test_pull_requests_without_a_submission_do_not_count(board: ReportHarness) -> None:
    day(board, 5, lambda each: {"README.md": b"%d\n" % each})
    assert board.answer(board.offer(clean(board)), dry_run=True).labels == READY


def test_the_last_submission_too_many_to_a_suites_version_is_held(harness: GithubHarness, tmp_path: Path) -> None:
    """Submissions on the board and earlier open ones count. Others' submissions and changes to own ones do not."""
    board = ReportHarness(harness, tmp_path, "[tool.bashboard.pulls]\na_suite_version = 2\n")
    second = board.offer(clean(board), "second")
    third = board.offer(board.submission("third"), "third")
    assert board.answer(second, dry_run=True).labels == READY
    answered = board.answer(third, dry_run=True)
    assert answered.labels == ("held",)
    assert "1 on the board and 1 in open pull requests answer `tiny` `1.0.0`" in answered.text
    assert board.answer(board.offer(of("old")(board), "own"), dry_run=True).labels == ("valid",)

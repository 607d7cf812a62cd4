"""Tests of appeals: a valid appeal becomes one pull request, and an invalid appeal is answered with its faults.

The text of an appeal is shown as plain text and never interpreted.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml

from evaluator.errors import PermissionMissingError, UsageError
from evaluator.pipeline.grading.adjudications import adjudicate
from evaluator.pipeline.pull_requests.appeals import LABELS, AppealError, AppealOutcome, answer_appeal, parse_appeal
from evaluator.records import Outcome, Ruling
from tests.doubles.github import InjectedFault, Pull
from tests.publishing.hosted_checkout import HostedCheckout, verdicts

FORM = Path(__file__).parents[2] / ".github" / "ISSUE_TEMPLATE" / "appeal.yml"
LINES = "fixtures/overrides/tiny/adjudications.jsonl"
WHY = "It names the file, and more about it."
FIELDS = {"submission": "first", "suite": "tiny", "task": "files-1", "rank": "1", "ruling": "pass", "why": WHY}


def body(**changed: str | None) -> str:
    """Return the body of an issue as the form writes it. A field with the value None has no heading."""
    fields = {**FIELDS, **changed}
    return "\n\n".join(f"### {LABELS[name]}\n\n{value}" for name, value in fields.items() if value is not None)


def issue(hosted: HostedCheckout, text: str | None = None) -> Pull:
    return hosted.github.issue(hosted.board, hosted.contributor, "Wrong!", body() if text is None else text)


def answer(
    hosted: HostedCheckout, number: int, ruling: Ruling = Ruling.PASS, *, dry_run: bool = False
) -> AppealOutcome:
    return answer_appeal(hosted.project, hosted.connect(), number, ruling, dry_run=dry_run)


def lines(hosted: HostedCheckout, branch: str) -> list[dict[str, str]]:
    return [json.loads(line) for line in (hosted.content(LINES, branch) or b"").splitlines()]


def pulls(hosted: HostedCheckout) -> list[Pull]:
    return [each for each in hosted.board.issues.values() if each.head_ref]


def test_the_labels_are_the_forms() -> None:
    fields = [each for each in yaml.safe_load(FORM.read_text())["body"] if "id" in each]
    assert {each["id"]: each["attributes"]["label"] for each in fields} == LABELS


@pytest.mark.parametrize(
    ("changed", "faults"),
    [
        ({"submission": "../../etc"}, ["Submission: found `../../etc`"]),
        ({"submission": "@all"}, ["Submission: found `@all`"]),
        ({"suite": "Tiny"}, ["Suite: found `Tiny`"]),
        ({"task": ""}, ["Task: found (empty)"]),
        ({"task": "files-1\n\nfiles-2"}, ["Task: found `files-1\\n\\nfiles-2`"]),
        ({"task": "files-1\u202e"}, ["Task: found `files-1\\u202e`"]),
        ({"rank": "0"}, ["Rank: found `0`"]),
        ({"rank": "①"}, ["Rank: found `①`"]),
        ({"ruling": "undecided"}, ["Ruling: found `undecided`"]),
        ({"why": "_No response_"}, ["Why: 0 characters, expected 8 to 500"]),
        ({"why": "so"}, ["Why: 2 characters"]),
        ({"why": "x" * 501}, ["Why: 501 characters"]),
        ({"why": "as a\u200bsked, I think"}, ["Why: contains the invisible character `\\u200b`; remove it"]),
        ({"why": "\u3164" * 20}, ["Why: contains the invisible character `\\u3164`"]),
        ({"why": "as \x1b[31masked, I think"}, ["Why: contains the invisible character `\\x1b`"]),
        ({"why": f"{WHY}\n\n### Task\n\nfiles-2"}, ["“### Task” stands 2 times"]),
        ({"why": None}, ["“### Why” is missing"]),
        ({"suite": None, "task": "", "why": "so"}, ["“### Suite” is missing", "Task: found (empty)", "Why: 2"]),
    ],
)
def test_what_is_wrong_with_an_appeal_is_told_at_once(changed: dict[str, str | None], faults: list[str]) -> None:
    """All faults of an appeal are reported at once. Untrusted text is shown as code, and no value is guessed."""
    with pytest.raises(AppealError) as raised:
        parse_appeal(body(**changed))
    assert len(raised.value.faults) == len(faults)
    assert all(part in told for part, told in zip(faults, raised.value.faults, strict=True))


def test_words_come_on_one_line() -> None:
    """The explanation is joined to one line. A heading that is not in the form, a mention and a link are plain text."""
    why = "It does\r\n\tas   asked.\n\n### Really\n@maintainer ![x](http://example.org)"
    found = parse_appeal(body(why=why, rank="").replace("\n", "\r\n"))
    assert (found.rank, found.why) == (1, "It does as asked. ### Really @maintainer ![x](http://example.org)")


def test_an_appeal_becomes_a_pull_request(hosted: HostedCheckout) -> None:
    """An appeal becomes a pull request that adds one line to the rulings on main.

    The pull request shows the command and the explanation as code. A comment on the issue names the pull request.
    """
    hosted.write({"submissions/first/tiny.verdicts.jsonl": verdicts(("files-1", "ls -l a", Outcome.FAIL))})
    asked = issue(hosted, body(why="Closes #1 @maintainer <b>`it`</b> does as asked"))
    ruled = answer(hosted, asked.number).ruled
    (pull,) = pulls(hosted)
    assert ruled is not None
    assert ruled.proposal is not None
    assert ruled.proposal.number == pull.number
    (line,) = lines(hosted, "adjudication/1")
    assert (line["task"], line["ruling"]) == ("files-1", "pass")
    assert line["because"] == "Closes #1 @maintainer <b>`it`</b> does as asked"
    assert pull.title == "Rule files-1 of tiny as appealed in #1: pass"
    said = pull.body or ""
    assert "``Closes #1 @maintainer <b>`it`</b> does as asked``" in said
    assert "**Command:** `ls -l a`" in said
    assert "**Submitted by:** `first`, `second`" in said
    assert "**Published verdict:** **fail** at step `output`, ``shows `another` row``, in variant `small`" in said
    assert "for every submission with this command" in said
    assert said.rstrip().endswith("Closes #1")
    (comment,) = asked.comments
    assert f"#{pull.number} proposes to rule this command a **pass**" in comment.body


def test_asked_twice_there_is_one_pull_request_and_one_comment(hosted: HostedCheckout) -> None:
    """A second request for the same appeal changes nothing.

    A request with the other ruling changes the ruling in the same pull request and in the same comment.
    """
    asked = issue(hosted)
    answer(hosted, asked.number)
    head = hosted.head("adjudication/1")
    answer(hosted, asked.number)
    assert hosted.head("adjudication/1") == head
    answer(hosted, asked.number, Ruling.FAIL)
    (pull,) = pulls(hosted)
    (comment,) = asked.comments
    assert [each["ruling"] for each in lines(hosted, "adjudication/1")] == ["fail"]
    assert pull.title.endswith("fail")
    assert "a **fail**" in comment.body


def test_a_ruling_that_main_got_since_is_kept(hosted: HostedCheckout) -> None:
    """If main has newer rulings than the checkout, the new line is added to the rulings on main."""
    made = adjudicate(
        hosted.project, suite="tiny", submission="second", task="files-2", ruling=Ruling.FAIL, because="another file"
    )
    hosted.push({LINES: made.content})
    made.path.unlink()
    answer(hosted, issue(hosted).number)
    assert [each["task"] for each in lines(hosted, "adjudication/1")] == ["files-1", "files-2"]


def test_each_appeal_has_a_pull_request_of_its_own(hosted: HostedCheckout) -> None:
    numbers = [issue(hosted).number, issue(hosted, body(task="files-2")).number]
    assert [answer(hosted, each).ruled is not None for each in numbers] == [True, True]
    assert {pull.head_ref for pull in pulls(hosted)} == {"adjudication/1", "adjudication/2"}


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"submission": "frist"}, "`no submission is named 'frist'; did you mean first"),
        ({"suite": "core"}, "`no suite is named 'core'"),
        ({"task": "files-9"}, "no task 'files-9'"),
        ({"rank": "3"}, "there is no candidate 3"),
    ],
)
def test_what_is_not_there_is_answered_and_nothing_proposed(
    hosted: HostedCheckout, changed: dict[str, str], told: str
) -> None:
    asked = issue(hosted, body(**changed))
    assert answer(hosted, asked.number).ruled is None
    (comment,) = asked.comments
    assert told in comment.body
    assert "Nothing was proposed" in comment.body
    assert pulls(hosted) == []


def test_a_command_that_is_ruled_already_is_answered(hosted: HostedCheckout) -> None:
    """An appeal about a command with a ruling is answered with the place of that ruling.

    This also holds after the pull request of the same appeal was merged.
    """
    asked = issue(hosted)
    answer(hosted, asked.number)
    hosted.github.merge(hosted.board, pulls(hosted)[0])
    assert answer(hosted, asked.number).ruled is None
    (comment,) = asked.comments
    assert f"{LINES}:1: rules this command pass already" in comment.body


def test_a_mended_appeal_is_proposed_and_its_comment_written_anew(hosted: HostedCheckout) -> None:
    asked = issue(hosted, "Hello")
    answer(hosted, asked.number)
    asked.body = body()
    answer(hosted, asked.number)
    (comment,) = asked.comments
    assert "proposes" in comment.body
    assert "Nothing" not in comment.body


def test_a_closed_issue_is_answered(hosted: HostedCheckout) -> None:
    asked = issue(hosted)
    asked.state = "closed"
    assert answer(hosted, asked.number).ruled is None
    assert "this issue is closed: open it again" in asked.comments[0].body


def test_a_pull_request_is_no_appeal(hosted: HostedCheckout) -> None:
    """A pull request is not accepted as an appeal, and nothing is written to it."""
    hosted.push({"x": b"x"}, "mine")
    pull = hosted.github.open_pull(hosted.board, hosted.board, "mine")
    with pytest.raises(UsageError, match=r"#1 is a pull request: expected an issue"):
        answer(hosted, pull.number)
    assert hosted.writes() == []


def test_dry_it_writes_nothing(hosted: HostedCheckout) -> None:
    ruled = answer(hosted, issue(hosted).number, dry_run=True).ruled
    assert ruled
    assert ruled.proposal is None
    assert answer(hosted, issue(hosted, "Hello").number, dry_run=True).ruled is None
    assert hosted.writes() == []


@pytest.mark.parametrize("path", ["/pulls", "/comments", "/git/refs", "/git/commits"])
def test_what_was_done_though_its_answer_was_lost_is_not_done_twice(hosted: HostedCheckout, path: str) -> None:
    asked = issue(hosted)
    hosted.github.faults.append(InjectedFault(502, method="POST", path=path, late=True))
    answer(hosted, asked.number)
    assert len(pulls(hosted)) == len(asked.comments) == 1


def test_actions_that_may_not_propose_name_the_setting(hosted: HostedCheckout) -> None:
    hosted.board.actions_propose = False
    with pytest.raises(PermissionMissingError, match="Settings > Actions > General"):
        answer(hosted, issue(hosted).number)


def test_the_command_shows_what_it_would_do_and_ends_with_what_was_found(hosted: HostedCheckout) -> None:
    """With `--dry-run`, `bashboard appeal` shows the pull request. For an invalid appeal, it shows the faults and exits
    with 1.

    The environment is that of the workflow.
    """
    asked, bad = issue(hosted), issue(hosted, "Hello")
    shown = hosted.command("appeal", "--issue", str(asked.number), "--ruling", "pass", "--dry-run")
    assert shown[0] == 0
    assert shown[1].startswith("Rule files-1 of tiny as appealed in #1: pass\n")
    refused = hosted.command("appeal", "--issue", str(bad.number), "--ruling", "pass")
    assert refused[0] == 1
    assert "“### Task” is missing" in refused[1]
    assert [len(each.comments) for each in (asked, bad)] == [0, 1]

"""An appeal against a verdict: an issue that a form wrote becomes a pull request that adds one adjudication.

A maintainer decides which way, by a label; nothing else of the issue decides anything. Its body is a stranger's: it
names a candidate, which is looked up on main, and says why, which is shown as data and becomes the line's `because`.
What is missing or cannot be told is said in one comment, which is written anew in place.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Final

from evaluator.errors import UsageError
from evaluator.escaping import is_hidden
from evaluator.github.comment.markdown import code
from evaluator.github.comments import upsert_comment
from evaluator.github.connection import Connection
from evaluator.github.form_body import read_form
from evaluator.github.issues import Issue, read_issue
from evaluator.github.proposals import Proposal, propose
from evaluator.github.repository_files import read_file
from evaluator.pipeline.grading.adjudications import Adjudicated, adjudication_of, adjudications_path
from evaluator.pipeline.grading.verdict_files import read_verdicts, verdicts_path
from evaluator.pipeline.project import Project
from evaluator.pipeline.publishing.commit import MAIN, main_head
from evaluator.records import SLUG_PATTERN, Finding, Ruling

COMMENT: Final = "appeal"

LABELS: Final = {name: name.capitalize() for name in ("submission", "suite", "task", "rank", "ruling", "why")}
"""The form's labels by field, as `.github/ISSUE_TEMPLATE/appeal.yml` has them."""

SHORTEST: Final = 8
LONGEST: Final = 500
_COMMAND_SHOWN: Final = 4_000
_TASK: Final = r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}"
_KNOWN_BY: Final = {
    "submission": (SLUG_PATTERN, "the submission's slug, such as my-system"),
    "suite": (SLUG_PATTERN, "the suite's name, such as core"),
    "task": (_TASK, "the task's id, such as files-003"),
    "rank": (r"[1-9][0-9]?", "the candidate's number: 1 is the one that ranks"),
    "ruling": ("|".join(Ruling), "what the verdict should be, pass or fail"),
}


@dataclass(frozen=True, slots=True)
class Appeal:
    """Which candidate is meant, what is asked for, and why, in the appellant's words on one line."""

    submission: str
    suite: str
    task: str
    rank: int
    asked: Ruling
    why: str


@dataclass(frozen=True, slots=True)
class Ruled:
    """What is proposed: the adjudication, its file's path on main, and the pull request's title and body.

    `proposal` is the pull request itself, where it was opened.
    """

    adjudicated: Adjudicated
    path: str
    title: str
    body: str
    proposal: Proposal | None = None


@dataclass(frozen=True, slots=True)
class AppealOutcome:
    """What became of an appeal: `ruled`, None where something is missing; `comment` is the issue's, Markdown."""

    issue: int
    comment: str
    ruled: Ruled | None = None


class AppealError(UsageError):
    """An appeal that cannot be followed; each of `faults` is Markdown that says what to mend."""

    def __init__(self, *faults: str) -> None:
        super().__init__("; ".join(faults))
        self.faults = faults


def parse_appeal(body: str) -> Appeal:
    """The appeal in an issue's body. Raises AppealError with everything that is wrong with it."""
    found = read_form(body, LABELS)
    faults = list(found.faults)
    for field, (pattern, expected) in _KNOWN_BY.items():
        value = found.values.get(field)
        if value is not None and not re.fullmatch(pattern, value, re.ASCII) and (value or field != "rank"):
            faults.append(f"{LABELS[field]}: found {code(value)}, expected {expected}")
    why = " ".join(found.values.get("why", "").split())
    if "why" in found.values and (fault := _why_fault(why)):
        faults.append(f"{LABELS['why']}: {fault}")
    if faults:
        raise AppealError(*faults)
    named = {field: found.values[field] for field in ("submission", "suite", "task")}
    rank, asked = int(found.values["rank"] or 1), Ruling(found.values["ruling"])
    return Appeal(**named, rank=rank, asked=asked, why=why)


def _why_fault(why: str) -> str:
    """What keeps these words from being a published reason; empty where nothing does."""
    hidden = next((each for each in why if is_hidden(each)), None)
    if hidden is not None:
        return f"holds the character {code(hidden)}, which does not show; write it without"
    if not SHORTEST <= len(why) <= LONGEST:
        return f"{len(why):,} characters, expected {SHORTEST} to {LONGEST} that say why the command is right or wrong"
    return ""


def answer_appeal(
    project: Project, connection: Connection, number: int, ruling: Ruling, *, dry_run: bool = False
) -> AppealOutcome:
    """Propose the ruling that an issue appeals for, and say so there, or say what is missing; dry, write nothing.

    Asked twice there is one pull request and one comment. Raises UsageError where the number is a pull request's;
    PermissionMissingError, GitHubError.
    """
    issue = read_issue(connection, number)
    if issue.is_pull:
        raise UsageError(f"#{number} is a pull request: expected an issue that the appeal form wrote")
    try:
        answer = _propose(connection, issue, _ruled(project, connection, issue, ruling), dry_run=dry_run)
    except AppealError as error:
        answer = AppealOutcome(number, _refusal(error))
    if not dry_run:
        upsert_comment(connection, number, COMMENT, answer.comment, issue=True)
    return answer


def _ruled(project: Project, connection: Connection, issue: Issue, ruling: Ruling) -> Ruled:
    """The adjudication as it joins those that main has now. Raises AppealError."""
    if issue.state != "open":
        raise AppealError("this issue is closed: open it again")
    appeal = parse_appeal(issue.body)
    path = adjudications_path(project, appeal.suite).relative_to(project.root).as_posix()
    present = read_file(connection, main_head(connection), path) or b""
    try:
        made = adjudication_of(
            project,
            suite=appeal.suite,
            submission=appeal.submission,
            task=appeal.task,
            ruling=ruling,
            because=appeal.why,
            rank=appeal.rank,
            present=present,
        )
    except UsageError as error:
        raise AppealError(code(str(error), LONGEST)) from error
    title = f"Rule {appeal.task} of {appeal.suite} as appealed in #{issue.number}: {ruling.value}"
    return Ruled(made, path, title, _body(project, issue, appeal, made))


def _propose(connection: Connection, issue: Issue, ruled: Ruled, *, dry_run: bool) -> AppealOutcome:
    word = ruled.adjudicated.adjudication.ruling.value
    if dry_run:
        return AppealOutcome(issue.number, f"A pull request would rule this command a **{word}**.", ruled)
    proposal = propose(
        connection,
        branch=f"adjudication/{issue.number}",
        base=MAIN,
        title=ruled.title,
        body=ruled.body,
        files={ruled.path: ruled.adjudicated.content},
        message=f"{ruled.title}\n\nA maintainer's ruling, which holds for everyone who gave this command.\n",
    )
    said = (
        f"#{proposal.number} proposes to rule this command a **{word}**, for everyone who gave it. "
        "It is in force when a maintainer has merged that and the publication that follows has ended."
    )
    return AppealOutcome(issue.number, said, replace(ruled, proposal=proposal))


def _refusal(error: AppealError) -> str:
    listed = "\n".join(f"- {fault}" for fault in error.faults)
    return (
        f"### Nothing was proposed\n\n{listed}\n\n"
        "Mend this in the text of the issue (its menu, then *Edit*). Then a maintainer takes the label off and sets it "
        "again."
    )


# -- what the pull request says


def _body(project: Project, issue: Issue, appeal: Appeal, made: Adjudicated) -> str:
    task = project.suite(appeal.suite).task(appeal.task)
    command = made.command.decode("utf-8", "backslashreplace")
    rows = {
        "Task": f"{code(task.id)} of {code(appeal.suite)}",
        "Instruction": code(task.nl, _COMMAND_SHOWN),
        "Command": code(command, _COMMAND_SHOWN),
        "Given by": ", ".join(map(code, made.submissions)),
        "The judge found": _found(project, appeal, made),
        "The appeal asks for": f"**{appeal.asked.value}**",
        "The appeal says": code(appeal.why, LONGEST),
    }
    listed = "\n".join(f"- **{name}:** {value}" for name, value in rows.items())
    word = made.adjudication.ruling.value
    return (
        f"#{issue.number} appeals against a verdict, and a maintainer's label rules the command a **{word}**.\n\n"
        f"{listed}\n\n"
        "**Merging makes it the verdict for everyone who gave this command**, above every judge, until the task is "
        "reworded. What the appeal says is published as the reason: change `because` in the line before merging where "
        "it should say something else. Where this no longer merges because another ruling did, take the label "
        f"off the issue and set it again.\n\nCloses #{issue.number}\n"
    )


def _found(project: Project, appeal: Appeal, made: Adjudicated) -> str:
    """The published verdict on the command, or that there is none."""
    file = read_verdicts(verdicts_path(project, appeal.submission, appeal.suite))
    verdict = file.by_command.get((appeal.task, made.adjudication.command_digest)) if file else None
    return _finding(verdict.finding) if verdict else "nothing that is published yet"


def _finding(finding: Finding) -> str:
    said = f"**{finding.outcome.value}**"
    if finding.step:
        said += f" at step {code(finding.step.value)}"
    if finding.reason:
        said += f", {code(finding.reason, LONGEST)}"
    if finding.variant:
        said += f", in variant {code(finding.variant)}"
    if finding.place is not None:
        said += f", at {code(finding.place.decode('utf-8', 'backslashreplace'))}"
    return said

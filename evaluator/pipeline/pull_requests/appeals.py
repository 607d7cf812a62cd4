"""Answer appeals: turn an issue from the appeal form into a pull request that adds one adjudication.

A maintainer sets a label on the issue, and only this label decides the ruling. The issue's body is untrusted. The body
names a candidate and gives a reason. The candidate is looked up on the main branch. The reason is shown as data and
becomes the field `because` of the adjudication. If the issue has faults, one comment lists the faults. A later call
updates this comment.
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
from evaluator.pipeline.submissions.board_suites import public_instruction
from evaluator.records import SLUG_PATTERN, Ruling

COMMENT: Final = "appeal"

LABELS: Final = {name: name.capitalize() for name in ("submission", "suite", "task", "rank", "ruling", "why")}
"""The form's labels by field, equal to those in `.github/ISSUE_TEMPLATE/appeal.yml`."""

SHORTEST: Final = 8
LONGEST: Final = 500
_COMMAND_SHOWN: Final = 4_000
_TASK: Final = r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}"
_EXPECTED: Final = {
    "submission": (SLUG_PATTERN, "the submission's slug, such as my-system"),
    "suite": (SLUG_PATTERN, "the suite's name, such as core"),
    "task": (_TASK, "the task's id, such as files-003"),
    "rank": (r"[1-9][0-9]?", "the candidate's number, 1 for the ranked one"),
    "ruling": ("|".join(Ruling), "what the verdict should be, pass or fail"),
}


@dataclass(frozen=True, slots=True)
class Appeal:
    """An appeal against a verdict. It names a candidate and the requested ruling. `why` is the contributor's reason."""

    submission: str
    suite: str
    task: str
    rank: int
    requested: Ruling
    why: str


@dataclass(frozen=True, slots=True)
class ProposedRuling:
    """The adjudication that an appeal's pull request proposes, with the title and the body of this pull request.

    `path` is the path of the adjudications file. `proposal` is the pull request, or None if none was opened.
    """

    adjudicated: Adjudicated
    path: str
    title: str
    body: str
    proposal: Proposal | None = None


@dataclass(frozen=True, slots=True)
class AppealOutcome:
    """The result of an appeal. `comment` is Markdown for the issue. `ruled` is the ruling, or None if there is none."""

    issue: int
    comment: str
    ruled: ProposedRuling | None = None


class AppealError(UsageError):
    """The error for an appeal with faults. `faults` holds a Markdown text for each necessary correction."""

    def __init__(self, *faults: str) -> None:
        super().__init__("; ".join(faults))
        self.faults = faults


def parse_appeal(body: str) -> Appeal:
    """Return the appeal in an issue's body. Raises AppealError with all faults of the body."""
    form = read_form(body, LABELS)
    faults = list(form.faults)
    for field, (pattern, expected) in _EXPECTED.items():
        value = form.values.get(field)
        if value is not None and not re.fullmatch(pattern, value, re.ASCII) and (value or field != "rank"):
            faults.append(f"{LABELS[field]}: found {code(value)}, expected {expected}")
    why = " ".join(form.values.get("why", "").split())
    if "why" in form.values and (fault := _why_fault(why)):
        faults.append(f"{LABELS['why']}: {fault}")
    if faults:
        raise AppealError(*faults)
    return Appeal(
        submission=form.values["submission"],
        suite=form.values["suite"],
        task=form.values["task"],
        rank=int(form.values["rank"] or 1),
        requested=Ruling(form.values["ruling"]),
        why=why,
    )


def _why_fault(why: str) -> str:
    """Return why the text of an appeal (`why`) may not be published, or an empty text if it may."""
    invisible = next(filter(is_hidden, why), None)
    if invisible is not None:
        return f"contains the invisible character {code(invisible)}; remove it"
    if not SHORTEST <= len(why) <= LONGEST:
        return f"{len(why):,} characters, expected {SHORTEST} to {LONGEST}; say why the command is right or wrong"
    return ""


def answer_appeal(
    project: Project, connection: Connection, number: int, ruling: Ruling, *, dry_run: bool = False
) -> AppealOutcome:
    """Open the pull request for an appeal and comment on its issue. If the appeal has faults, only comment on them.

    A second call updates the same pull request and the same comment. With `dry_run`, nothing is written to GitHub.
    Raises UsageError if the number belongs to a pull request. Raises PermissionMissingError or GitHubError if a request
    to GitHub fails.
    """
    issue = read_issue(connection, number)
    if issue.is_pull:
        raise UsageError(f"#{number} is a pull request: expected an issue from the appeal form")
    try:
        ruled = _proposed_ruling(project, connection, issue, ruling)
        outcome = _propose(connection, issue, ruled, dry_run=dry_run)
    except AppealError as error:
        faults = "\n".join(f"- {fault}" for fault in error.faults)
        outcome = AppealOutcome(
            number,
            f"### Nothing was proposed\n\n{faults}\n\nFix this in the text of the issue (its menu, then *Edit*). A "
            "maintainer then removes the label and sets it again.",
        )
    if not dry_run:
        upsert_comment(connection, number, COMMENT, outcome.comment, issue=True)
    return outcome


def _proposed_ruling(project: Project, connection: Connection, issue: Issue, ruling: Ruling) -> ProposedRuling:
    """Prepare a ruling on the appeal in an issue. Write nothing to GitHub. Raises AppealError with all faults."""
    if issue.state != "open":
        raise AppealError("this issue is closed: open it again")
    appeal = parse_appeal(issue.body)
    path = adjudications_path(project, appeal.suite).relative_to(project.root).as_posix()
    present = read_file(connection, main_head(connection), path) or b""
    try:
        adjudicated = adjudication_of(
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
    return ProposedRuling(adjudicated, path, title, _body(project, issue, appeal, adjudicated))


def _propose(connection: Connection, issue: Issue, ruled: ProposedRuling, *, dry_run: bool) -> AppealOutcome:
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
        message=f"{ruled.title}\n\nA maintainer's ruling, which applies to every submission with this command.\n",
    )
    comment = (
        f"#{proposal.number} proposes to rule this command a **{word}**, for every submission with it. The ruling "
        "takes effect when a maintainer has merged that pull request and the publication after it has ended."
    )
    return AppealOutcome(issue.number, comment, replace(ruled, proposal=proposal))


# -- the body of the pull request


def _body(project: Project, issue: Issue, appeal: Appeal, adjudicated: Adjudicated) -> str:
    task = project.suite(appeal.suite).task(appeal.task)
    command = adjudicated.command.decode("utf-8", "backslashreplace")
    rows = {
        "Task": f"{code(task.id)} of {code(appeal.suite)}",
        "Instruction": code(public_instruction(project, appeal.suite, task), _COMMAND_SHOWN),
        "Command": code(command, _COMMAND_SHOWN),
        "Submitted by": ", ".join(map(code, adjudicated.submissions)),
        "Published verdict": _published_verdict(project, appeal, adjudicated),
        "Requested ruling": f"**{appeal.requested.value}**",
        "Reason in the appeal": code(appeal.why, LONGEST),
    }
    listed = "\n".join(f"- **{name}:** {value}" for name, value in rows.items())
    word = adjudicated.adjudication.ruling.value
    return (
        f"#{issue.number} appeals against a verdict, and a maintainer's label rules the command a **{word}**.\n\n"
        f"{listed}\n\n"
        "**The merge makes this the verdict for every submission with this command**, above every judge, until the "
        "text of the task changes. The reason in the appeal is published: to publish another one, change `because` in "
        "the added line before the merge. If this pull request conflicts with another ruling, remove the label from "
        f"the issue and set it again.\n\nCloses #{issue.number}\n"
    )


def _published_verdict(project: Project, appeal: Appeal, adjudicated: Adjudicated) -> str:
    """Return the published verdict on an appeal's command as Markdown, or a note that no verdict is published."""
    file = read_verdicts(verdicts_path(project, appeal.submission, appeal.suite))
    verdict = file.by_command.get((appeal.task, adjudicated.adjudication.command_digest)) if file else None
    if verdict is None:
        return "none yet"
    finding = verdict.finding
    text = f"**{finding.outcome.value}**"
    if finding.step:
        text += f" at step {code(finding.step.value)}"
    if finding.reason:
        text += f", {code(finding.reason, LONGEST)}"
    if finding.variant:
        text += f", in variant {code(finding.variant)}"
    if finding.place is not None:
        text += f", at {code(finding.place.decode('utf-8', 'backslashreplace'))}"
    return text

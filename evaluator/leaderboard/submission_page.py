"""A submission's page: who and what, how it stands, and its verdict on every task with the reason."""

from __future__ import annotations

from evaluator.leaderboard.board import Appeal, Gathered
from evaluator.leaderboard.escaping import command, inline, web_link
from evaluator.leaderboard.figures_part import figures_part
from evaluator.leaderboard.horizon_part import horizon_part
from evaluator.leaderboard.markup import (
    MEANING,
    Column,
    cell,
    definitions,
    downloads,
    head_cell,
    interval,
    link,
    percent,
    row,
    signed,
    spread,
    table,
    verdict,
)
from evaluator.leaderboard.published_part import appeal_link, appeal_note, row_note
from evaluator.records import Finding, Outcome, Result, Standing, SubmissionManifest, Task

NO_APPEAL = frozenset({Outcome.PASS, Outcome.UNANSWERED, Outcome.INFRA_ERROR})
"""Verdicts without a link beside them: nothing was given or judged, or nobody is wronged. The form takes any."""

TEXT_BUDGET = 240_000
"""Escaped characters that a page spends on a submission's texts, so that none outgrows what a phone loads."""


def submission_part(gathered: Gathered, standing: Standing) -> str:
    """The HTML of one submission's page."""
    manifest = gathered.board.submissions[standing.submission]
    answers = gathered.answers[standing.submission]
    shown = sum(2 + len(results) for results in answers.values())
    limit = max(40, min(400, TEXT_BUDGET // max(1, shown)))
    appeal = gathered.board.appeal
    rows = (_row(task, answers.get(task.id, ()), limit, appeal) for task in gathered.board.tasks)
    parts = [
        f'<p class="crumbs">{link("../../", "Leaderboard")}</p>',
        f'<h1 class="system"><bdi>{inline(manifest.system, 900)}</bdi> '
        f'<small class="slug">{standing.submission}</small></h1>\n',
        row_note(standing),
        _summary(standing),
        f'<p class="description"><bdi>{inline(manifest.description, 8000)}</bdi></p>\n' if manifest.description else "",
        _metadata(manifest, standing),
        figures_part(standing),
        horizon_part(standing),
        '<h2 id="verdicts">Verdicts, task by task</h2>\n',
        appeal_note(appeal, standing.submission),
        table("tasks", _CAPTION, _COLUMNS, rows, "board-table--verdicts"),
        downloads([(f"../{standing.submission}.jsonl", "All candidates with verdicts, uncut, JSON lines")]),
    ]
    return "".join(parts)


_COLUMNS = (
    Column("task", "Task"),
    Column("verdict", "Verdict", facet=True),
    Column("reason", "What decided"),
    Column("command", "First candidate", "none"),
    Column("topic", "Topic", facet=True),
)
_CAPTION = "Every task of the suite, with the verdict on the first candidate, which alone is ranked."


def _summary(standing: Standing) -> str:
    rank = spread(standing.rank_low, standing.rank_high) if standing.ranked else "not ranked"
    bar = interval(standing.accuracy_low, standing.accuracy, standing.accuracy_high, standing.accuracy_upper)
    between = spread(percent(standing.accuracy_low), percent(standing.accuracy_high))
    figures = [
        ("Rank", rank),
        ("Execution accuracy", f'{percent(standing.accuracy)} % <small class="note">{between}</small>{bar}'),
        ("Passed", f'{standing.passed} <small class="note">of {standing.asked} asked</small>'),
        *(
            (f"Within {k} candidates", f"{percent(share)} %")
            for k, share in sorted(standing.accuracy_at.items())
            if k > 1
        ),
        ("NLC2CMD", signed(standing.nlc2cmd)),
        ("Collateral", f'{percent(standing.collateral)} % <small class="note">of commands touch more</small>'),
    ]
    return definitions(figures, "figures") + _tally(standing)


def _tally(standing: Standing) -> str:
    counts = {
        Outcome.PASS: standing.passed,
        Outcome.FAIL: standing.failed,
        Outcome.TIMEOUT: standing.timeout,
        Outcome.INVALID: standing.invalid,
        Outcome.UNANSWERED: standing.unanswered,
        Outcome.UNDECIDED: standing.undecided,
        Outcome.INFRA_ERROR: standing.infra_errors,
    }
    items = "".join(
        f'<li class="tally tally--{outcome.value}" style="--count:{count}" title="{MEANING[outcome]}">'
        f"<b>{count}</b> {verdict(outcome)}</li>"
        for outcome, count in counts.items()
        if count
    )
    return f'<ul class="tallies" aria-label="Verdicts">{items}</ul>\n'


def _metadata(manifest: SubmissionManifest, standing: Standing) -> str:
    authors = "; ".join(
        f"<bdi>{inline(author.name)}</bdi>"
        + (f' <small class="note"><bdi>{inline(author.affiliation)}</bdi></small>' if author.affiliation else "")
        for author in manifest.authors
    )
    return definitions(
        [
            ("Authors", authors),
            ("Link", web_link(manifest.link) if manifest.link else ""),
            ("Method", manifest.method.value),
            ("Weights", "open" if manifest.open_weights else "closed"),
            ("Parameters", f"{manifest.parameters:,}" if manifest.parameters else ""),
            ("Models", _listed(manifest.models)),
            ("Training data", _listed(manifest.training_data)),
            ("Extraction", manifest.extraction.value),
            ("Suite answered", f"{standing.suite} {manifest.suites.get(standing.suite, standing.suite_version)}"),
        ]
    )


def _listed(texts: tuple[str, ...]) -> str:
    more = f" and {len(texts) - 20} more" if len(texts) > 20 else ""
    return "; ".join(f"<bdi>{inline(text)}</bdi>" for text in texts[:20]) + more


def _row(task: Task, results: tuple[Result, ...], limit: int, appeal: Appeal | None) -> str:
    name = head_cell(link(f"../../tasks/{task.id}/", task.id), task.id)
    topic = cell(task.topic.value)
    if not results:
        not_asked = cell('<span class="verdict">not asked</span>', "not asked")
        return row(name, not_asked, cell(""), cell(""), topic)
    first = results[0]
    outcome = first.finding.outcome
    given = "" if first.command is None else command(first.command, limit)
    return row(
        name,
        cell(verdict(outcome), outcome.value),
        cell(decided(first, limit, appeal), kind="decided"),
        cell(given + _others(results[1:], limit), kind="given"),
        topic,
    )


def decided(result: Result, limit: int, appeal: Appeal | None) -> str:
    """What decided, and beside what did not pass where to appeal it."""
    if appeal is None or result.finding.outcome in NO_APPEAL:
        return reason(result.finding, limit)
    return reason(result.finding, limit, appeal_link(appeal, result.submission, result.task, result.rank))


def reason(finding: Finding, limit: int = 400, beside: str = "") -> str:
    """What decided: the step, the judge's words, and where; `beside` is HTML that follows the place."""
    step = f'<span class="step">{finding.step.value}</span> ' if finding.step else ""
    where = []
    if finding.place is not None:
        where.append(f'<code class="place" dir="ltr">{inline(finding.place, 120)}</code>')
    if finding.variant:
        where.append(f"in variant {inline(finding.variant, 80)}")
    if finding.collateral:
        where.append("touches what no reference touches")
    following = [", ".join(where), beside]
    place = f'<small class="where">{" · ".join(filter(None, following))}</small>' if any(following) else ""
    return f"{step}{inline(finding.reason, limit)}{place}"


def _others(results: tuple[Result, ...], limit: int) -> str:
    if not results:
        return ""
    items = "".join(
        f'<li value="{result.rank}">{verdict(result.finding.outcome)} {command(result.command or b"", limit)} '
        f'<small class="note">confidence {result.confidence:.2f}</small></li>'
        for result in results
    )
    plural = "s" if len(results) > 1 else ""
    return f"<details><summary>{len(results)} other candidate{plural}</summary><ol>{items}</ol></details>"

"""Markdown sections that show the numbers of a preview.

All text in the preview record is untrusted and appears in code spans. All other words come from this module.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final

from evaluator.github.comment.markdown import cell, code, table
from evaluator.github.comment.sections import Section
from evaluator.records import Neighbour, Preview, Role, Tally, TaskList, Unranked
from evaluator.wording import pluralize

NAMES: Final = 12
"""The maximum number of tasks named in a row."""
ROWS: Final = 20
"""The maximum number of tasks, or of open reasons, listed with details."""

_ROLES: Final = {Role.LEADER: "leader", Role.BETTER: "next above", Role.WORSE: "next below"}
_UNRANKED: Final = {
    Unranked.CONTROL: "It is a control, which tests the board and takes no rank.",
    Unranked.NOT_ASKED: "It would be listed without a rank, because it answers an earlier version of the suite. Tasks "
    "that are new since then:",
    Unranked.INFRA_ERRORS: "It has no rank yet, because some commands could not be executed.",
}


def preview_sections(preview: Preview) -> Iterator[Section]:
    """Yield the Markdown sections of the preview of a submission's results. The first section shows the score."""
    yield Section(_score(preview))
    if preview.infra_errors:
        count = pluralize(preview.infra_errors, "task")
        yield Section(
            f"{count} could not be executed because of an error on the board's side. The board tries again and "
            "does not count them as failures."
        )
    if preview.rivals:
        yield Section(_topics(preview), "the table of topics")
        yield Section(_gains(preview), "the tasks that it and its neighbours pass")
    if preview.collateral:
        yield Section(_collateral(preview), "collateral damage")
    if preview.rejections:
        yield Section(_rejections(preview), "the verifiers' messages")
    if preview.undecided:
        yield Section(_open_verdicts(preview), "the open verdicts")


def _score(preview: Preview) -> str:
    low, high = _percent(preview.accuracy_low), _percent(preview.accuracy_high)
    lines = [
        f"**Execution accuracy {_percent(preview.accuracy)} %** ({preview.passed} of {preview.asked} tasks, 95 % "
        f"interval {low}-{high} %) on {code(preview.suite)} {code(preview.suite_version)}, judged by "
        f"{code(preview.judge, 60)} {preview.judge_version}.",
        _rank(preview),
    ]
    if preview.passed < preview.asked:
        counts = {
            "failed": preview.failed,
            "over a time limit": preview.timeout,
            "invalid": preview.invalid,
            "unanswered": preview.unanswered,
            "undecided": preview.undecided,
            "not executed": preview.infra_errors,
        }
        outcomes = ", ".join(f"{count} {name}" for name, count in counts.items() if count)
        lines.append(f"The other {preview.asked - preview.passed}: {outcomes}.")
    lines.append(
        "These numbers are a preview from this pull request's own run. The published numbers come from another run "
        "after the merge."
    )
    return "\n".join(lines)


def _rank(preview: Preview) -> str:
    if preview.unranked is not None:
        newer = f" {preview.not_asked}." if preview.unranked is Unranked.NOT_ASKED else ""
        return _UNRANKED[preview.unranked] + newer
    if preview.ranked == 1:
        return "It would be the first ranked submission."
    low, high = preview.rank_low, preview.rank_high
    rank = f"**rank {low}**" if low == high else f"**a rank from {low} to {high}**"
    tie = f"tie group {preview.tie_group}: systems that a paired test cannot distinguish from the best of the group"
    return f"It would take {rank} of {preview.ranked} ({tie})."


def _topics(preview: Preview) -> str:
    heads = ["Topic", "this", *(f"{_roles(rival)} {cell(rival.submission)}" for rival in preview.rivals)]
    rows = []
    for topic in sorted(preview.topics):
        others = (_tally(rival.topics.get(topic)) for rival in preview.rivals)
        rows.append([topic.value, _tally(preview.topics[topic]), *others])
    rows.append(["all", f"{preview.passed} of {preview.asked}", *(f"{r.passed} of {r.asked}" for r in preview.rivals)])
    return f"### By topic, compared with the leader and the nearest neighbours\n\n{table(heads, rows)}"


def _gains(preview: Preview) -> str:
    alone = preview.alone
    lines = []
    if alone.total:
        lines.append(f"- Newly passed, and by no other ranked submission: {_names(alone)}")
    for rival in preview.rivals:
        # the tasks were just named if both lists are complete and equal
        is_same = rival.gained == alone and alone.total == len(alone.tasks) > 0
        gained = f"the same {rival.gained.total}" if is_same else _names(rival.gained)
        low, high = f"{100 * rival.difference_low:+.1f}", f"{100 * rival.difference_high:+.1f}"
        p_value = "p < 0.001" if rival.p_value < 0.001 else f"p = {rival.p_value:.3f}"
        lines.append(
            f"- Compared with {code(rival.submission)} ({_roles(rival)}): newly passed {gained}; missed "
            f"{_names(rival.lost)}. Difference {100 * rival.difference:+.1f} points (95 % interval {low} to {high}, "
            f"McNemar {p_value})."
        )
    return "### Tasks newly passed and missed\n\n" + "\n".join(lines)


def _collateral(preview: Preview) -> str:
    lines = []
    for task in preview.touched[:ROWS]:
        more = f" and {task.total - len(task.paths)} more" if task.paths and task.total > len(task.paths) else ""
        paths = ", ".join(code(path, 120) for path in task.paths)
        lines.append(f"- {code(task.task)}{': ' if paths else ''}{paths}{more}")
    count = pluralize(preview.collateral, "command")
    head = f"### Collateral damage\n\n{count} changed, created or deleted files that no reference touches:\n\n"
    return head + "\n".join(lines + _rest(preview.collateral - len(lines)))


def _rejections(preview: Preview) -> str:
    lines = [f"- {code(each.task)}: {code(each.reason)}" for each in preview.rejections[:ROWS]]
    head = "### Rejected by the tasks' verifiers\n\n"
    return head + "\n".join(lines + _rest(len(preview.rejections) - len(lines)))


def _open_verdicts(preview: Preview) -> str:
    causes = Counter((verdict.reason, verdict.variant) for verdict in preview.open_verdicts)
    listed = causes.most_common(ROWS)
    lines = []
    for (reason, variant), count in listed:
        tasks = [each.task for each in preview.open_verdicts if (each.reason, each.variant) == (reason, variant)]
        where = f" (variant {code(variant, 60)})" if variant else ""
        lines.append(f"- {count}: {code(reason)}{where}: {_listed(tasks, count)}")
    rest = preview.undecided - sum(count for _, count in listed)
    upper = f"If all were passes, accuracy would be {_percent(preview.accuracy_upper)} %."
    head = f"### Open verdicts\n\n{preview.undecided} undecided, waiting for adjudication. {upper}\n\n"
    return head + "\n".join(lines + _rest(rest))


def _roles(rival: Neighbour) -> str:
    return ", ".join(_ROLES[role] for role in rival.roles)


def _names(tasks: TaskList) -> str:
    listed = _listed(tasks.tasks, tasks.total)
    return f"{tasks.total} ({listed})" if listed else f"{tasks.total}"


def _listed(tasks: Sequence[str], total: int) -> str:
    """Return the names of the first tasks as a list in prose, followed by the number of the other tasks."""
    shown = tasks[:NAMES]
    more = f" and {total - len(shown)} more" if shown and total > len(shown) else ""
    return ", ".join(map(code, shown)) + more


def _rest(count: int) -> list[str]:
    return [f"- … and {pluralize(count, 'more task')}"] if count else []


def _tally(tally: Tally | None) -> str:
    return f"{tally.passed} of {tally.asked}" if tally else "-"


def _percent(share: float) -> str:
    return f"{100 * share:.1f}"

"""A preview's numbers as sections of Markdown.

Every text of the record is a stranger's and stands in a code span; all other words are ours.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from evaluator.github.comment.markdown import cell, code, table
from evaluator.records import Neighbour, Preview, Role, Tally, TaskList, Unranked
from evaluator.wording import pluralize

NAMES: Final = 12
"""Tasks named in a row."""
ROWS: Final = 20
"""Tasks told one by one."""

_ROLES: Final = {Role.LEADER: "leader", Role.BETTER: "next above", Role.WORSE: "next below"}
_UNRANKED: Final = {
    Unranked.CONTROL: "It is a control, which tests the board and takes no rank.",
    Unranked.NOT_ASKED: "It would be listed without a rank: it answers an earlier version of the suite. Tasks that are "
    "newer, and that it is not asked:",
    Unranked.INFRA_ERRORS: "It has no rank yet: some commands could not be executed.",
}


class Section(NamedTuple):
    """A part of the text that is whole in itself. One without a name is never left out."""

    text: str
    name: str = ""


def preview_sections(preview: Preview) -> Iterator[Section]:
    """What it would come to, the figures first."""
    yield Section(_figures(preview))
    if preview.infra_errors:
        count = pluralize(preview.infra_errors, "task")
        yield Section(f"{count} could not be executed for a reason of ours. They are tried again and are no failures.")
    if preview.rivals:
        yield Section(_topics(preview), "the table of topics")
        yield Section(_gains(preview), "the tasks that it and its neighbours pass")
    if preview.collateral:
        yield Section(_collateral(preview), "collateral damage")
    if preview.undecided:
        yield Section(_open_verdicts(preview), "the open verdicts")


def _figures(preview: Preview) -> str:
    low, high = _percent(preview.accuracy_low), _percent(preview.accuracy_high)
    lines = [
        f"**Execution accuracy {_percent(preview.accuracy)} %** ({preview.passed} of {preview.asked} tasks, 95 % "
        f"interval {low}-{high} %) on {code(preview.suite)} {code(preview.suite_version)}, judged by "
        f"{code(preview.judge, 60)} {preview.judge_version}.",
        _place(preview),
        f"The other {preview.asked - preview.passed}: {_outcomes(preview)}." if preview.passed < preview.asked else "",
        "These numbers are a preview, made by this pull request's own run. What is published is executed anew after "
        "the merge.",
    ]
    return "\n".join(line for line in lines if line)


def _place(preview: Preview) -> str:
    if preview.unranked is not None:
        newer = f" {preview.not_asked}." if preview.unranked is Unranked.NOT_ASKED else ""
        return _UNRANKED[preview.unranked] + newer
    if preview.ranked == 1:
        return "It would be the first that is ranked."
    low, high = preview.rank_low, preview.rank_high
    rank = f"**rank {low}**" if low == high else f"**a rank from {low} to {high}**"
    tie = f"tie group {preview.tie_group}: the systems that a paired test does not tell from the group's best"
    return f"It would take {rank} of {preview.ranked} ({tie})."


def _outcomes(preview: Preview) -> str:
    counts = {
        "failed": preview.failed,
        "over a time limit": preview.timeout,
        "invalid": preview.invalid,
        "unanswered": preview.unanswered,
        "undecided": preview.undecided,
        "not executed": preview.infra_errors,
    }
    return ", ".join(f"{count} {name}" for name, count in counts.items() if count)


def _topics(preview: Preview) -> str:
    heads = ["Topic", "this", *(f"{_roles(each)} {cell(each.submission)}" for each in preview.rivals)]
    rows = []
    for topic in sorted(preview.topics):
        others = (_tally(each.topics.get(topic)) for each in preview.rivals)
        rows.append([topic.value, _tally(preview.topics[topic]), *others])
    rows.append(["all", f"{preview.passed} of {preview.asked}", *(f"{r.passed} of {r.asked}" for r in preview.rivals)])
    return f"### By topic, beside the leader and the nearest neighbours\n\n{table(heads, rows)}"


def _gains(preview: Preview) -> str:
    lines = []
    if preview.alone.total:
        lines.append(f"- Newly passed, by no other that is ranked: {_names(preview.alone)}")
    for rival in preview.rivals:
        gained = f"the same {rival.gained.total}" if _is_same(rival.gained, preview.alone) else _names(rival.gained)
        lost = _names(rival.lost)
        who = f"{code(rival.submission)} ({_roles(rival)})"
        lines.append(f"- Beside {who}: newly passed {gained}; missed {lost}. {_difference(rival)}.")
    return "### Tasks newly passed and missed\n\n" + "\n".join(lines)


def _is_same(one: TaskList, other: TaskList) -> bool:
    """True where both name all their tasks, and the same."""
    return one == other and one.total == len(one.tasks) > 0


def _difference(rival: Neighbour) -> str:
    low, high = f"{100 * rival.difference_low:+.1f}", f"{100 * rival.difference_high:+.1f}"
    p_value = "p < 0.001" if rival.p_value < 0.001 else f"p = {rival.p_value:.3f}"
    return f"Difference {100 * rival.difference:+.1f} points (95 % interval {low} to {high}, McNemar {p_value})"


def _collateral(preview: Preview) -> str:
    lines = []
    for each in preview.touched[:ROWS]:
        more = f" and {each.total - len(each.paths)} more" if each.paths and each.total > len(each.paths) else ""
        paths = ", ".join(code(path, 120) for path in each.paths)
        lines.append(f"- {code(each.task)}{': ' if paths else ''}{paths}{more}")
    count = pluralize(preview.collateral, "command")
    head = f"### Collateral damage\n\n{count} changed, left or deleted what no reference touches:\n\n"
    return head + "\n".join(lines + _rest(preview.collateral - len(lines)))


def _open_verdicts(preview: Preview) -> str:
    told = Counter((each.reason, each.variant) for each in preview.open_verdicts)
    lines = []
    for (reason, variant), count in told.most_common(ROWS):
        same = (each.task for each in preview.open_verdicts if (each.reason, each.variant) == (reason, variant))
        where = f" (variant {code(variant, 60)})" if variant else ""
        lines.append(f"- {count}: {code(reason)}{where}: {_listed(tuple(same), count)}")
    unknown = preview.undecided - sum(count for _, count in told.most_common(ROWS))
    upper = f"If all were passes, accuracy would be {_percent(preview.accuracy_upper)} %."
    head = f"### Open verdicts\n\n{preview.undecided} undecided, up for adjudication. {upper}\n\n"
    return head + "\n".join(lines + _rest(unknown))


def _roles(rival: Neighbour) -> str:
    return ", ".join(_ROLES[role] for role in rival.roles)


def _names(tasks: TaskList) -> str:
    listed = _listed(tasks.tasks, tasks.total)
    return f"{tasks.total} ({listed})" if listed else f"{tasks.total}"


def _listed(tasks: Sequence[str], total: int) -> str:
    """The first few, and how many more there are."""
    shown = tasks[:NAMES]
    more = f" and {total - len(shown)} more" if shown and total > len(shown) else ""
    return ", ".join(map(code, shown)) + more


def _rest(count: int) -> list[str]:
    return [f"- … and {pluralize(count, 'more task')}"] if count else []


def _tally(tally: Tally | None) -> str:
    return f"{tally.passed} of {tally.asked}" if tally else "-"


def _percent(share: float) -> str:
    return f"{100 * share:.1f}"

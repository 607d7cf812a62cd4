"""The leaderboard: who stands where, how sure that is, and what every figure is a share of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from evaluator.leaderboard.board import Gathered, SuiteBoard
from evaluator.leaderboard.escaping import inline
from evaluator.leaderboard.markup import (
    Column,
    cell,
    downloads,
    head_cell,
    interval,
    link,
    number_cell,
    percent,
    row,
    signed,
    spread,
    table,
)
from evaluator.leaderboard.published_part import awaiting_note, judged_mark, judged_note
from evaluator.records import DetectableDifference, Standing, SuiteManifest, Tally, Unranked

CHARTS: Mapping[str, tuple[str, str]] = {
    "accuracy": (
        "How sure is the order?",
        "Execution accuracy with its 95 % interval; a ring stands where accuracy would be if every undecided "
        "task were passed. Systems whose bars overlap are hard to tell apart.",
    ),
    "agreement": (
        "Does text similarity agree?",
        "Execution accuracy against NLC2CMD, a score of the command's text alone. A system far from the "
        "diagonal writes commands that look right and are not, or the other way round.",
    ),
    "topics": (
        "Who is good at what?",
        "Execution accuracy by topic. Topics have few tasks: read single cells with care.",
    ),
    "horizon": (
        "Who is quicker than a person?",
        "Tasks passed within once, twice and four times the time that a person takes, estimated where not measured; a "
        "bar stands at accuracy in any time. A system's time is the latency that it reports itself, unchecked, and "
        "its command's measured time; systems that report none are absent.",
    ),
}
"""The charts by name, each with its question and what to read from it."""

_UNTIMED = (
    " This board is of published verdicts, which hold no measured times: here a system's time is its latency alone."
)

APART = 0.05
"""The adjusted p-value at or under which a system begins a tie group."""

WHY_UNRANKED: Mapping[Unranked, str] = {
    Unranked.CONTROL: "A control: it tests the board itself.",
    Unranked.NOT_ASKED: "It answers an earlier version, which did not have every task.",
    Unranked.INFRA_ERRORS: "Our machinery failed on some tasks; they are tried again.",
}
"""Why a submission is listed without a rank."""


def leaderboard_part(
    gathered: Gathered, drawings: Mapping[str, str], root: str, others: Sequence[str], script: str
) -> str:
    """The leaderboard's HTML. `root` leads from the page to the site's root, `others` are all suites' names;
    `drawings` hold the charts as SVG, and are empty where there is nothing to draw; `script` is the file below
    `board/` that draws them anew where scripts run."""
    board = gathered.board
    place = f"{root}board/{board.name}"
    pages = None if board.manifest.foreign else place
    parts = [_switcher(board.name, root, others) if len(others) > 1 else "", _about(gathered), _source(board.manifest)]
    if gathered.ranked:
        parts.append(_standings(gathered, pages))
    else:
        parts.append("<p>No system is ranked yet.</p>\n")
    if gathered.unranked:
        parts.append(_unranked(gathered.unranked, pages))
    parts += [judged_note(gathered), awaiting_note(board)]
    files = [("standings.csv", "Standings, CSV"), ("standings.json", "Standings, JSON")]
    files += [("results.jsonl", "All verdicts, JSON lines")] if pages else []
    parts.append(downloads((f"{place}/{name}", title) for name, title in files))
    parts += [
        _chart(board, name, drawings[name], place, f"{root}board/{script}") for name in CHARTS if name in drawings
    ]
    return "".join(parts)


def _switcher(current: str, root: str, names: Sequence[str]) -> str:
    items = "".join(
        f'<li><a href="{root}board/{name}/"{" aria-current=page" if name == current else ""}>{name}</a></li>'
        for name in names
    )
    return f'<nav class="suites" aria-label="Suites"><ul>{items}</ul></nav>\n'


def _about(gathered: Gathered) -> str:
    board = gathered.board
    variants = sum(len(world.variants) for world in board.worlds.values())
    counts = (
        f"<b>{len(board.standings)}</b> systems",
        f"<b>{len(board.tasks)}</b> tasks",
        f"<b>{len(board.worlds)}</b> worlds in <b>{variants}</b> variants",
        f"suite <b>{board.name} {board.manifest.version}</b>",
    )
    items = "".join(f"<li>{count}</li>" for count in counts)
    return f'<ul class="counts" aria-label="This board">{items}</ul>\n'


def _source(manifest: SuiteManifest) -> str:
    """Whose a foreign suite is, and that its numbers are all there is of it here."""
    if manifest.source is None:
        return ""
    source = manifest.source
    return (
        f'<p class="note">A suite of somebody else\'s: {inline(source.name)}, {inline(source.version)}, licence '
        f"{inline(source.licence)}. Its texts are not ours to publish, so numbers are all that is shown of it.</p>\n"
    )


def topics_of(standings: Sequence[Standing]) -> Mapping[str, int]:
    """The topics of a board with the number of tasks asked in each, in alphabetical order."""
    asked: dict[str, int] = {}
    for standing in standings:
        for topic, tally in standing.topics.items():
            asked[topic] = max(asked.get(topic, 0), tally.asked)
    return dict(sorted(asked.items()))


def _standings(gathered: Gathered, place: str | None) -> str:
    topics = topics_of(gathered.ranked)
    columns = [
        Column("rank", "Rank", "number"),
        Column("system", "System"),
        Column("accuracy", "Accuracy", "number", "%, 95 % interval"),
        Column("group", "Tie group", "number", "and why"),
        Column("undecided", "Undecided", "number", "if all passed"),
        Column("nlc2cmd", "NLC2CMD", "number", "at most 1"),
        *(Column(f"topic-{topic}", topic.capitalize(), "number", f"% of {asked}") for topic, asked in topics.items()),
        Column("by-utility", "By utility", "number", "%, weighted"),
        Column("asked", "Asked", "number"),
        Column("method", "Method", facet=True),
    ]
    names = {standing.submission: standing.system for standing in gathered.ranked}
    rows = (_row(standing, place, topics, names) for standing in gathered.ranked)
    title = gathered.board.manifest.title
    groups = max((standing.tie_group or 0 for standing in gathered.ranked), default=0)
    caption = (
        f"<b>{inline(title)}</b>: ranked by execution accuracy, in <b>{groups}</b> tie group{'s' * (groups != 1)}. "
        "Systems of one group are tied: no paired test tells them from the best of it. A heavy line begins a group."
    )
    reading = _resolution(gathered.board.resolution) + _READING
    if place is not None:
        reading += f"<p>{link(f'{place}/compare/', 'Compare two systems, task by task')}</p>\n"
    return table("standings", caption, columns, rows, "board-table--standings") + reading


def _resolution(found: DetectableDifference | None) -> str:
    """What the board cannot tell apart, and on what that rests."""
    if found is None:
        return ""
    most = f"{100 * found.discordance:.1f} %"
    if found.difference is None:
        told = (
            f"<b>{found.tasks} tasks tell no two systems apart</b> that differ on {most} of them, as these usually do."
        )
    else:
        told = (
            f"<b>Differences under {100 * found.difference:.1f} points can hardly be told at {found.tasks} tasks</b>: "
            f"of two systems that differ on {most} of the tasks, as these usually do, the test finds a smaller "
            "difference less than four times in five."
        )
    return f'<p class="note resolution">{told}</p>\n'


_READING = (
    '<p class="note">Beside each accuracy stands its 95 % interval, as a bar from 0 to 100 % and in figures; a dotted '
    "line reaches to what it would be if every undecided task were passed. "
    "Undecided counts as not passed.</p>\n"
)


def _row(standing: Standing, place: str | None, topics: Mapping[str, int], names: Mapping[str, str]) -> str:
    return row(
        number_cell(_rank(standing), standing.rank_low),
        system_cell(standing, place),
        _accuracy_cell(standing),
        cell(tie_words(standing, names, place), standing.tie_group, "tie"),
        _undecided_cell(standing),
        number_cell(signed(standing.nlc2cmd), standing.nlc2cmd),
        *(_topic_cell(standing.topics.get(topic)) for topic in topics),
        _weighted_cell(standing.figures.utility_weighted),
        number_cell(str(standing.asked), standing.asked),
        method_cell(standing),
        kind="group-start" if begins_group(standing) else "",
    )


def begins_group(standing: Standing) -> bool:
    """Whether the system is the best of its tie group: it is told apart from the best of the group above."""
    return standing.p_adjusted is None or standing.p_adjusted <= APART


def tie_words(standing: Standing, names: Mapping[str, str], place: str | None) -> str:
    """The tie group, and folded under it why the system is in it. `names` are systems by slug."""
    group, other = standing.tie_group, standing.compared_with
    if other is None:
        return f'<b>{group}</b> <small class="note">the best</small>'
    begins = begins_group(standing)
    name = f"<bdi>{inline(names.get(other, other), 200)}</bdi>"
    said = f"Told apart from {name}, the best of group {(group or 1) - 1}" if begins else f"Not told apart from {name}"
    counts = f"{_tasks(standing.only_this)} passed by this one alone, {standing.only_other} by the other alone"
    tests = f"{p_words(standing.p_value)}; for all comparisons made, {p_words(standing.p_adjusted)}"
    side = f" {link(f'{place}/compare/?a={standing.submission}&b={other}', 'Task by task')}." if place else ""
    return (
        f"<details><summary><b>{group}</b> {'apart' if begins else 'tied'}, {p_words(standing.p_adjusted)}</summary>"
        f"<p>{said}: {counts} ({tests}).{side}</p></details>"
    )


def _tasks(count: int | None) -> str:
    return "1 task" if count == 1 else f"{count or 0} tasks"


def p_words(value: float | None) -> str:
    """A p-value of three decimals; what is smaller than they show is said to be."""
    if value is None:
        return ""
    return "p &lt; 0.001" if value < 0.001 else f"p = {value:.3f}"


def _weighted_cell(share: float | None) -> str:
    return number_cell('<span class="note">–</span>', -1) if share is None else number_cell(percent(share), share)


def _rank(standing: Standing) -> str:
    return f"<b>{spread(standing.rank_low, standing.rank_high)}</b>"


def system_cell(standing: Standing, place: str | None) -> str:
    """The cell that names a system and leads to its page, where `place` has one."""
    name = f"<bdi>{inline(standing.system, 300)}</bdi>"
    if place is not None:
        name = link(f"{place}/submissions/{standing.submission}/", name)
    slug = f'<small class="slug">{standing.submission}</small>'
    return head_cell(f"{name} {slug}{judged_mark(standing)}", standing.submission)


def method_cell(standing: Standing) -> str:
    """How a system works, and whether its weights are open."""
    weights = "open weights" if standing.open_weights else "closed weights"
    return cell(f'{standing.method.value}<br><small class="note">{weights}</small>', standing.method.value)


def _accuracy_cell(standing: Standing) -> str:
    low, high = standing.accuracy_low, standing.accuracy_high
    bar = interval(low, standing.accuracy, high, standing.accuracy_upper)
    figures = (
        f'<b class="figure">{percent(standing.accuracy)}</b> {bar}<br>'
        f'<span class="range">{spread(percent(low), percent(high))}</span> '
        f'<small class="note">{standing.passed} of {standing.asked}</small>'
    )
    return cell(figures, standing.accuracy, "number accuracy")


def _undecided_cell(standing: Standing) -> str:
    if not standing.undecided:
        return number_cell("0", 0)
    bound = f'<br><small class="note">≤ {percent(standing.accuracy_upper)}</small>'
    return number_cell(f"{standing.undecided}{bound}", standing.undecided)


def _topic_cell(tally: Tally | None) -> str:
    if tally is None or not tally.asked:
        return number_cell('<span class="note">not asked</span>', -1)
    share = tally.passed / tally.asked
    return number_cell(f"{100 * share:.0f}", share)


def _why_unranked(standing: Standing) -> str:
    if standing.unranked is Unranked.INFRA_ERRORS and standing.judged_by:
        return "Not all of its verdicts are published yet."
    return WHY_UNRANKED[standing.unranked] if standing.unranked else ""


def _unranked(standings: Sequence[Standing], place: str | None) -> str:
    columns = [
        Column("system", "System"),
        Column("method", "Method"),
        Column("why", "Why not ranked"),
        Column("passed", "Passed", "number"),
        Column("asked", "Asked", "number"),
        Column("not-asked", "Not asked", "number"),
        Column("infra", "Infra-errors", "number"),
    ]
    rows = (
        row(
            system_cell(standing, place),
            method_cell(standing),
            cell(_why_unranked(standing), kind="why"),
            number_cell(str(standing.passed)),
            number_cell(str(standing.asked)),
            number_cell(str(standing.not_asked)),
            number_cell(str(standing.infra_errors)),
        )
        for standing in standings
    )
    caption = (
        "<b>Listed, not ranked</b>: these figures are not those of a system on every task of this version, "
        "so they cannot be compared with those above."
    )
    return table("unranked", caption, columns, rows)


def _chart(board: SuiteBoard, name: str, drawing: str, place: str, script: str) -> str:
    question, caption = CHARTS[name]
    caption += _UNTIMED if name == "horizon" and board.published else ""
    address = f"{place}/charts/{name}"
    files = f'<a href="{address}.svg" download>SVG</a> <a href="{address}.json" download>Vega-Lite</a>'
    return (
        f'<section class="chart"><h2 id="{name}">{question}</h2><figure>'
        f'<div class="chart-scroll" tabindex="0" role="region" aria-label="Chart: {question}">'
        f'<div class="chart-canvas" data-chart="{address}.json" data-script="{script}">{drawing}</div></div>'
        f'<figcaption>{caption} <span class="files">{files}</span></figcaption></figure></section>\n'
    )

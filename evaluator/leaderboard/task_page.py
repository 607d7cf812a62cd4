"""A task's page, and the index of tasks: what is asked, what is right, what only looks right, who solves it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from evaluator.leaderboard.board import Appeal, Gathered
from evaluator.leaderboard.escaping import command, inline
from evaluator.leaderboard.markup import (
    Column,
    cell,
    definitions,
    downloads,
    head_cell,
    link,
    number_cell,
    row,
    share_bar,
    table,
    verdict,
)
from evaluator.leaderboard.published_part import judged_mark
from evaluator.leaderboard.submission_page import decided
from evaluator.records import (
    Observation,
    Outcome,
    OutputMode,
    Result,
    Standing,
    SuiteManifest,
    Task,
    Timing,
    WorldManifest,
)

MAX_ATTEMPTS = 100
"""Systems a task's page lists; the page's JSON lines have them all."""

OUTPUT: Mapping[OutputMode, str] = {
    OutputMode.EXACT: "Exact: standard output must be the same bytes, a final line end apart.",
    OutputMode.LINES: "Lines: the same lines of standard output, in the same order.",
    OutputMode.SET: "Set: the same rows of standard output in any order; how a row is laid out may differ as far "
    "as the references differ.",
    OutputMode.NONE: "None: what is printed is not compared, only what is done.",
}
"""How standard output is compared, in a sentence."""

OBSERVED: Mapping[Observation, str] = {
    Observation.EXIT: "whether the exit status is zero",
    Observation.STDERR: "standard error",
    Observation.SHELL: "the shell's state (directory, variables, options, functions, traps)",
    Observation.PROCESSES: "the processes left running",
    Observation.MTIME: "modification times",
}
"""What a task may ask to be compared besides."""

_SCRIPT = 8_000


def task_part(gathered: Gathered, task: Task) -> str:
    """The HTML of one task's page."""
    attempts = gathered.attempts[task.id]
    parts = [
        f'<p class="crumbs">{link("../../../../tasks/", "Tasks")}</p>',
        f"<h1>{task.id}</h1>\n",
        f'<blockquote class="instruction">{inline(task.nl, 12_000)}</blockquote>\n',
        _facts(gathered, task),
        _commands("references", "References", "Known correct: doing what one of them does passes.", task.references),
    ]
    if task.near_misses:
        note = "Known wrong, though they look right: the judge is tested on failing them."
        parts.append(_commands("near-misses", "Near misses", note, task.near_misses))
    parts += [
        f'<div data-search-exclude="true"><h2 id="systems">Who solves it</h2>\n{_attempts(gathered, attempts)}</div>',
        downloads([(f"../{task.id}.jsonl", "Every system's first candidate, uncut, JSON lines")]),
    ]
    return "".join(parts)


def _place(suite: SuiteManifest, world: WorldManifest) -> str:
    """Where a command finds itself, and as whom; a relative path in an instruction begins there."""
    return f"in <code>{inline(world.cwd or suite.cwd)}</code>, as {inline(world.user or suite.user)}"


def _facts(gathered: Gathered, task: Task) -> str:
    world = gathered.board.worlds[task.world]
    variants = ", ".join(variant.name for variant in world.variants)
    observed = "; ".join(OBSERVED[observation] for observation in task.observe)
    timing = gathered.board.times.get(task.id, task.timing)
    return definitions(
        [
            ("World", f'{inline(world.title)} <small class="note">{task.world}</small>'),
            ("Runs", _place(gathered.board.manifest, world)),
            ("Variants", variants),
            ("Topic", task.topic.value),
            ("Difficulty", f"{task.difficulty} of 5"),
            ("Output", OUTPUT[task.output]),
            ("Files", "Every path that is added, changed or deleted is compared."),
            ("Compared besides", observed),
            ("Files by text", ", ".join(inline(path) for path in task.text_files)),
            ("Set up by", command(task.setup, _SCRIPT) if task.setup else ""),
            ("Verified by", command(task.verify, _SCRIPT) if task.verify else ""),
            ("May vary", inline(task.volatile) if task.volatile else ""),
            ("A person's time", "" if timing is None else _time(timing)),
        ]
    )


def _time(timing: Timing) -> str:
    """Seconds, and how they are known."""
    if timing.measurements is None:
        known = "estimated from the shortest reference" if timing.provenance == "estimated" else "measured"
    else:
        known = f"the median of {timing.measurements} measurement{'s' if timing.measurements > 1 else ''}"
    return f'{timing.human_s:.1f} s <small class="note">{known}</small>'


def _commands(name: str, title: str, note: str, commands: Sequence[bytes]) -> str:
    items = "".join(f"<li>{command(text, _SCRIPT)}</li>" for text in commands)
    return f'<h2 id="{name}">{title}</h2>\n<p>{note}</p>\n<ol class="commands commands--{name}">{items}</ol>\n'


def _attempts(gathered: Gathered, attempts: Sequence[Result]) -> str:
    if not attempts:
        return "<p>No system has been asked yet.</p>\n"
    solved = [result for result in attempts if result.finding.outcome is Outcome.PASS]
    rest = [result for result in attempts if result.finding.outcome is not Outcome.PASS]
    shown = (solved + rest)[:MAX_ATTEMPTS]
    systems = {standing.submission: standing for standing in gathered.board.standings}
    limit = min(400, 200_000 // (2 * len(shown)))
    cut = f"; the first {MAX_ATTEMPTS} are listed" if len(attempts) > MAX_ATTEMPTS else ""
    caption = f"<b>{len(solved)} of {len(attempts)}</b> systems solve this task at their first candidate{cut}."
    appeal = gathered.board.appeal
    rows = (_attempt(result, systems[result.submission], limit, appeal) for result in shown)
    columns = (
        Column("system", "System"),
        Column("verdict", "Verdict", facet=True),
        Column("reason", "What decided"),
        Column("command", "First candidate", "none"),
    )
    return table("attempts", caption, columns, rows, "board-table--verdicts")


def _attempt(result: Result, standing: Standing, limit: int, appeal: Appeal | None) -> str:
    outcome = result.finding.outcome
    name = link(f"../../submissions/{result.submission}/", f"<bdi>{inline(standing.system, 200)}</bdi>")
    given = "" if result.command is None else command(result.command, limit)
    return row(
        head_cell(name + judged_mark(standing), result.submission),
        cell(verdict(outcome), outcome.value),
        cell(decided(result, limit, appeal), kind="decided"),
        cell(given, kind="given"),
    )


def tasks_part(boards: Iterable[Gathered]) -> str:
    """The HTML of the index of tasks, a table for each suite of ours."""
    tables = "".join(_index(gathered) for gathered in boards if not gathered.board.manifest.foreign)
    return tables or "<p>No suite has been scored yet.</p>\n"


def _index(gathered: Gathered) -> str:
    board = gathered.board
    columns = (
        Column("task", "Task"),
        Column("topic", "Topic", facet=True),
        Column("difficulty", "Difficulty", "number", "of 5"),
        Column("instruction", "Instruction"),
        Column("world", "World", facet=True),
        Column("output", "Output", facet=True),
        Column("solved", "Solved by", "number", "systems"),
    )
    rows = (_index_row(task, board.name, gathered.attempts[task.id]) for task in board.tasks)
    caption = (
        f"<b>{inline(board.manifest.title)} {board.manifest.version}</b>: {inline(board.manifest.description, 2000)}"
    )
    return table(f"tasks-{board.name}", caption, columns, rows, "board-table--index")


def _index_row(task: Task, suite: str, attempts: Sequence[Result]) -> str:
    solved = sum(result.finding.outcome is Outcome.PASS for result in attempts)
    share = solved / len(attempts) if attempts else 0.0
    return row(
        head_cell(link(f"../board/{suite}/tasks/{task.id}/", task.id), task.id),
        cell(task.topic.value),
        number_cell(str(task.difficulty), task.difficulty),
        cell(inline(task.nl, 300), kind="instruction"),
        cell(task.world),
        cell(task.output.value),
        number_cell(f'{share_bar(share)}{solved} <small class="note">of {len(attempts)}</small>', share),
    )

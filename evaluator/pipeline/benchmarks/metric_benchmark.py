"""Measure how many pairs of commands the NLC2CMD metric scores per second on one core.

By default, the pairs come from a suite and from the submissions that answer the suite. Every near miss (a wrong command
that looks right) and every first candidate forms a pair with each reference of its task. A file can provide other
pairs. Three cases are timed, each several times, in one thread:

* *as they come*: all pairs in order, with an empty cache. A reference is parsed once, even if it is in many pairs.
* *every command once*: pairs in which no text occurs twice, with an empty cache, so each pair parses two commands.
* *all read before*: all pairs. Every command is parsed before the measurement starts.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from statistics import median
from typing import TypeAlias

from evaluator.errors import FormatError, UsageError
from evaluator.json_lines import LineProblems
from evaluator.pipeline.boards.jsonl_metrics import read_pairs
from evaluator.pipeline.project import Project
from evaluator.pipeline.submissions.repository import load_submissions
from evaluator.progress import Progress
from evaluator.shell.nlc2cmd.score import forget_commands, reading_of, score_pair

Text: TypeAlias = str | bytes
Pair: TypeAlias = tuple[Text, Text]


def bench_metrics(
    project: Callable[[], Project], progress: Progress, *, suite: str, file: Path | None, runs: int
) -> list[dict[str, object]]:
    """Measure the speed of the NLC2CMD metric in three cases, and return one row per case.

    A row has the number of pairs, of distinct commands, and of pairs per second. The pairs come from `file`. If `file`
    is None, they come from the suite `suite` of the project that `project()` returns. Raises UsageError if there are no
    pairs.
    """
    pairs = list(_pairs_of_file(file) if file else _pairs_of_suite(project(), suite))
    if not pairs:
        raise UsageError(f"no pairs to score in {file or f'suite {suite}'}")
    cases = {
        "as they come": (pairs, forget_commands),
        "every command once": (_distinct_pairs(pairs), forget_commands),
        "all read before": (pairs, lambda: _read_all(pairs)),
    }
    score_pair("echo $(date) > now", "date")  # imports bashlex and loads the tables before the measurement
    progress.stage("timing", runs * len(cases))
    return [_row(name, pairs_of_case, prepare, progress, runs) for name, (pairs_of_case, prepare) in cases.items()]


def _pairs_of_file(file: Path) -> Iterator[Pair]:
    if not file.is_file():
        raise UsageError(f"{file}: expected a file of pairs as `bashboard metrics nlc2cmd` takes, found none")
    problems = LineProblems(file)
    with file.open("rb") as lines:
        yield from read_pairs(lines, problems)
    if problems.count:
        raise FormatError(problems.all())


def _pairs_of_suite(project: Project, name: str) -> Iterator[Pair]:
    submissions = load_submissions(project)
    for task in project.suite(name).tasks:
        firsts = (submission.candidates(name, task.id)[:1] for submission in submissions)
        commands = [first.command for candidates in firsts for first in candidates]
        for prediction in dict.fromkeys((*task.near_misses, *commands)):
            yield from ((prediction, reference) for reference in task.references)


def _distinct_pairs(pairs: Iterable[Pair]) -> list[Pair]:
    """Return the pairs whose two commands differ and are in no earlier returned pair. Leave out all other pairs."""
    commands: set[Text] = set()
    distinct: list[Pair] = []
    for prediction, reference in pairs:
        if prediction != reference and not {prediction, reference} & commands:
            commands |= {prediction, reference}
            distinct.append((prediction, reference))
    return distinct


def _read_all(pairs: Iterable[Pair]) -> None:
    forget_commands()
    for pair in pairs:
        for command in pair:
            reading_of(command)


def _row(
    name: str, pairs: Sequence[Pair], prepare: Callable[[], None], progress: Progress, runs: int
) -> dict[str, object]:
    rates: list[float] = []
    cpu_rates: list[float] = []
    for _ in range(runs):
        prepare()
        began, cpu_began = time.perf_counter(), time.process_time()
        for prediction, reference in pairs:
            score_pair(prediction, reference)
        cpu_rates.append(len(pairs) / (time.process_time() - cpu_began))
        rates.append(len(pairs) / (time.perf_counter() - began))
        progress.advance()
    return {
        "commands": name,
        "pairs": len(pairs),
        "different_commands": len({command for pair in pairs for command in pair}),
        "pairs/s_min": round(min(rates)),
        "pairs/s_median": round(median(rates)),
        "pairs/s_max": round(max(rates)),
        "pairs/CPU_s": round(median(cpu_rates)),
    }

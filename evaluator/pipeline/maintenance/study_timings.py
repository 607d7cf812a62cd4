"""Compute the human time of tasks from a study, fit lines to the times, and write the medians into the suite."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

from evaluator.files import write_whole
from evaluator.metrics.human_time import READING_S, TOKEN_S, reference_tokens
from evaluator.records import Measurement, Task, Timing
from evaluator.study.fit import Fit, fit_lines, line, task_times
from evaluator.study.ledger import read_measurements
from evaluator.suites.load import SINCE_FORMAT, Suite


def fit_study(suite: Suite, files: Sequence[Path]) -> Fit:
    """Fit straight lines to the times of participants for the suite's current tasks.

    A line gives the time as a function of the number of tokens in a task's references. Raises FormatError for an
    invalid file.
    """
    tasks = {task.id: task for task in suite.tasks}
    counted, left_out = [], Counter[str]()
    measurements = read_measurements(files)
    for measurement in measurements:
        reason = _reason_to_ignore(measurement, suite, tasks.get(measurement.task))
        left_out.update([reason] if reason else [])
        counted += [] if reason else [measurement]
    times = task_times(counted, {name: reference_tokens(task) for name, task in tasks.items()})
    least_squares, theil_sen = fit_lines(times)
    return Fit(
        participants=len({measurement.participant for measurement in counted}),
        n=len(times),
        least_squares=least_squares,
        theil_sen=theil_sen,
        present=line(READING_S, TOKEN_S, times) if times else None,
        left_out=dict(sorted(left_out.items())),
        tasks=times,
    )


def _reason_to_ignore(measurement: Measurement, suite: Suite, task: Task | None) -> str | None:
    """Return the reason for which a study's measurement does not count, or None if it counts."""
    if measurement.suite != suite.manifest.name:
        return f"of suite {measurement.suite}"
    if task is None:
        return "of a task that the suite has no more"
    if not task.is_asked_of(measurement.version):
        return "of a task's earlier wording"
    return None


def write_timings(suite: Suite, fit: Fit) -> list[Path]:
    """Write a study's medians into the suite's tasks as empirical timings. Return the files that changed.

    All other lines in the files stay unchanged. A suite in an older format is upgraded to the format that supports
    `measurements`.
    """
    times = {
        task.task: Timing(human_s=task.median_s, provenance="empirical", measurements=task.measurements)
        for task in fit.tasks
    }
    changed = []
    for path in sorted((suite.folder / "tasks").glob("*.jsonl")):
        before = path.read_bytes()
        after = b"".join(_add_timing(row, times) for row in before.splitlines(keepends=True))
        if after != before:
            write_whole(path, after)
            changed.append(path)
    if changed and suite.manifest.format < SINCE_FORMAT:
        manifest = suite.folder / "suite.toml"
        upgraded = re.sub(rb"(?m)^format *= *\d+", b"format = %d" % SINCE_FORMAT, manifest.read_bytes(), count=1)
        write_whole(manifest, upgraded)
        changed.append(manifest)
    return changed


def _add_timing(row: bytes, times: Mapping[str, Timing]) -> bytes:
    value = json.loads(row)
    if value["id"] not in times:
        return row
    value["timing"] = times[value["id"]].model_dump(mode="json")
    return json.dumps(value, ensure_ascii=False).encode() + b"\n"

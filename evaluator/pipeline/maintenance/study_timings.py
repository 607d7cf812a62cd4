"""Compute the human time of tasks from a study, fit lines to the times, and write the medians into the suite."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from evaluator.files import write_whole
from evaluator.json_lines import lines_with_ends
from evaluator.metrics.human_time import task_size
from evaluator.records import Measurement, Task, Timing
from evaluator.study.fit import Fit, Line, fit_lines, line, task_times
from evaluator.study.ledger import read_measurements
from evaluator.suites.load import SINCE_FORMAT, TIER_FORMAT, Suite

LEAST_MEASURED: Final = 50
"""The least number of measured tasks for a line that replaces the estimate of a suite."""


def fit_study(suite: Suite, files: Sequence[Path]) -> Fit:
    """Fit straight lines to the times of participants for the suite's current tasks.

    A line gives the time as a function of a task's size. Raises FormatError for an
    invalid file.
    """
    tasks = {task.id: task for task in suite.tasks}
    counted, left_out = [], Counter[str]()
    measurements = read_measurements(files)
    for measurement in measurements:
        reason = _reason_to_ignore(measurement, suite, tasks.get(measurement.task))
        left_out.update([reason] if reason else [])
        counted += [] if reason else [measurement]
    times = task_times(counted, {name: task_size(task) for name, task in tasks.items()})
    least_squares, theil_sen = fit_lines(times)
    return Fit(
        participants=len({measurement.participant for measurement in counted}),
        n=len(times),
        least_squares=least_squares,
        theil_sen=theil_sen,
        present=line(suite.manifest.human_time.constant_s, suite.manifest.human_time.size_s, times) if times else None,
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
    `measurements`. If at least `LEAST_MEASURED` tasks are measured, the fitted line replaces that of the suite.
    """
    times = {
        task.task: Timing(human_s=task.median_s, provenance="empirical", measurements=task.measurements)
        for task in fit.tasks
    }
    changed = []
    for path in sorted((suite.folder / "tasks").rglob("*.jsonl")):
        before = path.read_bytes()
        after = b"".join(_add_timing(row, times) for row in lines_with_ends(before))
        if after != before:
            write_whole(path, after)
            changed.append(path)
    if changed and suite.manifest.format < SINCE_FORMAT:
        manifest = suite.folder / "suite.toml"
        upgraded = re.sub(rb"(?m)^format *= *\d+", b"format = %d" % SINCE_FORMAT, manifest.read_bytes(), count=1)
        write_whole(manifest, upgraded)
        changed.append(manifest)
    fitted = fit.least_squares
    if fit.n >= LEAST_MEASURED and fitted and fitted.b > 0 and suite.manifest.format >= TIER_FORMAT:
        _write_line(suite.folder / "suite.toml", fitted, fit.n)
        changed.append(suite.folder / "suite.toml")
    return changed


def _write_line(manifest: Path, fitted: Line, tasks: int) -> None:
    """Write the table `human_time` of a suite's manifest, in the place of an earlier one or at the end."""
    kept, in_table = [], False
    for line_of_file in manifest.read_text("utf-8").splitlines():
        in_table = line_of_file == "[human_time]" or (in_table and not line_of_file.startswith("["))
        kept += [] if in_table else [line_of_file]
    text = "\n".join(kept).rstrip("\n")
    values = f"constant_s = {max(0.0, fitted.a):g}\nsize_s = {fitted.b:g}\nmeasured_tasks = {tasks}\n"
    write_whole(manifest, f"{text}\n\n[human_time]\n{values}".encode())


def _add_timing(row: bytes, times: Mapping[str, Timing]) -> bytes:
    value = json.loads(row)
    if value["id"] not in times:
        return row
    value["timing"] = times[value["id"]].model_dump(mode="json")
    return json.dumps(value, ensure_ascii=False).encode() + b"\n"

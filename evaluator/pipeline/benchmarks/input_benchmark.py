"""Measure the cost of the worst inputs: checks of submissions of 64 kB, and judgements of the largest evidence.

Each input has its own process, because the peak memory of a process covers all inputs that it has read. The inputs of
`check` are in `fixtures/inputs/worst.jsonl`. Each line of this file describes one input: the name of a file, and its
parts. A part is a text and the number of its repetitions. In the text, `{n}` stands for the number of the current
repetition.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final, NamedTuple

from evaluator.json_lines import LineProblems, read_json_lines
from evaluator.pipeline.project import Project
from evaluator.progress import Progress

WORST_INPUTS: Final = Path("fixtures/inputs/worst.jsonl")
MOST_CPU_S: Final = 1.0
MOST_MB: Final = 200
"""The bounds for each input. The memory of a judgement has no bound, as its evidence alone may take more."""

_STOPPED_AFTER_S: Final = 30
_SOUND: Final = {
    "submission.toml": b'format = 1\nsystem = "A system"\nopen_weights = true\nmethod = "rules"\n\n[[authors]]\n'
    b'name = "A group"\n\n[suites]\ncore = "2.1.0"\n',
    "core.jsonl": b'{"task":"archives-001","output":"ls"}\n',
}


class WorstInput(NamedTuple):
    """One file that a line of `worst.jsonl` describes. `file` is the name of the file in a submission's folder."""

    name: str
    file: str
    data: bytes


@dataclass(frozen=True, slots=True)
class InputCost:
    """The CPU seconds and the peak memory of one input, and whether both are within their bounds."""

    what: str
    input: str
    bytes: int
    cpu_s: float
    peak_mb: int
    within: bool


class EndedProcess(NamedTuple):
    """A process that has ended: its CPU and wall-clock seconds, its peak memory, its exit status and its output."""

    cpu_s: float
    wall_s: float
    peak_mb: int
    status: int
    output: bytes


def worst_inputs(project: Project) -> list[WorstInput]:
    """Return the files that `worst.jsonl` describes. Raises FormatError for a line that cannot be read."""
    path = project.root / WORST_INPUTS
    inputs, problems = [], LineProblems(path)
    for number, _, entry in read_json_lines(path.read_bytes(), problems):
        try:
            data = "".join(_repeated(text, count) for text, count in entry["parts"]).encode()
            inputs.append(WorstInput(entry["name"], entry["file"], data))
        except (ValueError, TypeError, KeyError) as error:
            problems.add(number, f"expected a name, a file and its parts: {error!r}")
    problems.raise_any()
    return inputs


def _repeated(text: str, count: int) -> str:
    return "".join(text.replace("{n}", str(number)) for number in range(count)) if "{n}" in text else text * count


def bench_inputs(project: Project, progress: Progress) -> list[InputCost]:
    """Return the cost of every worst input: first of the checks of submissions, then of the judgements of evidence."""
    from evaluator.pipeline.benchmarks.largest_evidence import CASES

    inputs = worst_inputs(project)
    progress.stage("check", len(inputs))
    costs = []
    for worst in inputs:
        costs.append(check_cost(project, worst))
        progress.advance()
    progress.stage("judge", len(CASES))
    for name in CASES:
        costs.append(judgement_cost(name))
        progress.advance()
    return costs


_MEASURE: Final = """
import json, os, resource, sys, time
limit = int(sys.argv[1])
resource.setrlimit(resource.RLIMIT_CPU, (limit, limit))
quiet = [(os.POSIX_SPAWN_OPEN, 2, os.devnull, os.O_WRONLY, 0)]
start = time.monotonic()
child = os.posix_spawn(sys.executable, [sys.executable, *sys.argv[2:]], os.environ, file_actions=quiet)
_, status, usage = os.wait4(child, 0)
seconds = usage.ru_utime + usage.ru_stime, time.monotonic() - start
json.dump([os.waitstatus_to_exitcode(status), *seconds, usage.ru_maxrss], sys.stderr)
"""


def check_cost(project: Project, worst: WorstInput) -> InputCost:
    """Check a submission with the file `worst` and otherwise valid files, and return the cost of the check."""
    with tempfile.TemporaryDirectory(prefix="bashboard-bench-") as parent:
        folder = Path(parent) / "a-system"
        folder.mkdir()
        for name, data in {**_SOUND, worst.file: worst.data}.items():
            (folder / name).write_bytes(data)
        ended = run_measured(["-m", "evaluator.cli", "check", str(folder), "--json"], project.root)
    within = ended.status in (0, 1) and ended.cpu_s <= MOST_CPU_S and ended.peak_mb <= MOST_MB
    return InputCost("check", worst.name, len(worst.data), ended.cpu_s, ended.peak_mb, within)


def judgement_cost(name: str) -> InputCost:
    """Judge the case `name` with the largest evidence in a new process, and return the cost of the judgement.

    The CPU time does not include the time to make the case.
    """
    ended = run_measured(["-m", "evaluator.pipeline.benchmarks.largest_evidence", name], None)
    found: dict[str, Any] = json.loads(ended.output) if ended.status == 0 else {"cpu_s": ended.cpu_s, "bytes": 0}
    cpu_s = round(found["cpu_s"], 2)
    return InputCost("judge", name, found["bytes"], cpu_s, ended.peak_mb, ended.status == 0 and cpu_s <= MOST_CPU_S)


def run_measured(arguments: Sequence[str], folder: Path | None) -> EndedProcess:
    """Run Python with these arguments in a new process, and return the time and memory of this process.

    The kernel kills the process after `_STOPPED_AFTER_S` seconds of CPU time. A small process starts the new process,
    because Linux counts the starter's memory as memory of the new process.
    """
    with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as report:
        command = [sys.executable, "-I", "-S", "-c", _MEASURE, str(_STOPPED_AFTER_S), *arguments]
        subprocess.run(command, cwd=folder, stdout=output, stderr=report, check=False)
        output.seek(0)
        report.seek(0)
        status, cpu_s, wall_s, peak_kb = json.load(report)
        return EndedProcess(round(cpu_s, 2), round(wall_s, 2), peak_kb // 1024, status, output.read())


def input_rows(costs: Sequence[InputCost]) -> Iterator[dict[str, object]]:
    """Yield a table row for the cost of each input."""
    for cost in costs:
        yield {**asdict(cost), "within": "yes" if cost.within else "NO"}

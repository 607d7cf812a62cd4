"""Fuzz one target for a limited time in a process of its own, and keep inputs that add line coverage to its corpus."""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tests.fuzz.line_coverage import Line, lines_reached, scope_lines
from tests.fuzz.target import CORPUS, Target

ROOT: Final = Path(__file__).parents[2]
UNIT_TIMEOUT_S: Final = 20
"""Seconds for one input. More is a finding."""
MEMORY_MB: Final = 2048
"""Resident memory of the process. More is a finding."""
_EXECUTIONS: Final = re.compile(r"stat::number_of_executed_units:\s*(\d+)")


@dataclass(frozen=True, slots=True)
class Campaign:
    """The result of fuzzing: the number of executed inputs, the inputs that failed, and the log of the process."""

    executions: int
    findings: tuple[Path, ...]
    log: str


def fuzz(target: Target, work: Path, limits: Sequence[str], *, planted: bool = False) -> Campaign:
    """Fuzz a target and return the result. New inputs go to `work/inputs`, and inputs that fail go to `work`.

    `limits` are libFuzzer's arguments that end the campaign, such as `-runs=1000` or `-max_total_time=60`. The campaign
    also ends at the first finding.
    """
    inputs = work / "inputs"
    inputs.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile("w", suffix=".dict") as dictionary:
        for token in target.tokens:
            dictionary.write('"' + "".join(f"\\x{byte:02x}" for byte in token) + '"\n')
        dictionary.flush()
        arguments = [
            *(str(inputs), str(CORPUS / target.name)),
            *(f"-dict={dictionary.name}", f"-max_len={target.longest}", f"-artifact_prefix={work}/"),
            *(f"-timeout={UNIT_TIMEOUT_S}", f"-rss_limit_mb={MEMORY_MB}", "-print_final_stats=1", "-verbosity=1"),
            *("-len_control=0", "-keep_seed=1", "-reduce_inputs=0", *limits),
        ]
        module = ["-m", "tests.fuzz.fuzz_process"]
        command = [sys.executable, *module, target.name, str(int(planted)), str(work), *arguments]
        done = subprocess.run(
            command, cwd=ROOT, env={**os.environ, "PYTHONHASHSEED": "0"}, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, check=False,
        )  # fmt: skip
    log = done.stdout.decode(errors="replace")
    executions = sum(map(int, _EXECUTIONS.findall(log)))
    findings = tuple(sorted(path for path in work.iterdir() if path.is_file()))
    if done.returncode and not findings:
        raise RuntimeError(f"the process of {target.name} ended with {done.returncode}:\n{log[-3000:]}")
    return Campaign(executions, findings, log)


def found_inputs(work: Path) -> list[bytes]:
    """Return the inputs that a campaign kept, smallest first."""
    return sorted((path.read_bytes() for path in (work / "inputs").iterdir()), key=lambda data: (len(data), data))


def keep(target: Target, inputs: Sequence[bytes]) -> list[Path]:
    """Add to the corpus each input that reaches lines of the target's scopes which the corpus does not reach yet."""
    lines = frozenset[Line]().union(*map(scope_lines, target.scopes))
    reached: set[Line] = set()
    for path in target.corpus:
        reached |= lines_reached(target, path.read_bytes(), lines)
    added = []
    for data in inputs:
        new = lines_reached(target, data, lines) - reached
        if new:
            reached |= new
            added.append(CORPUS / target.name / f"found-{hashlib.sha256(data).hexdigest()[:12]}")
            added[-1].write_bytes(data)
    return added

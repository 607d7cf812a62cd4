"""atheris fuzzes every target: no finding in the parsers, and the planted fault of each target is found."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fuzz.campaign import found_inputs, fuzz
from tests.fuzz.line_coverage import REQUIRED_PERCENT, measure
from tests.fuzz.target import PlantedError, Target

pytest.importorskip("atheris", reason="no atheris here: `make soak` installs it if there is a wheel for this machine")
pytestmark = pytest.mark.soak

SECONDS = 15
PLANTED_RUNS = 300_000


def test_fuzzing_finds_nothing_and_keeps_the_coverage(target: Target, tmp_path: Path) -> None:
    campaign = fuzz(target, tmp_path, [f"-max_total_time={SECONDS}"])
    assert not campaign.findings, campaign.log[-4000:]
    assert campaign.executions > len(target.corpus)
    corpus = [path.read_bytes() for path in target.corpus]
    assert measure(target, [*corpus, *found_inputs(tmp_path)]).percent >= REQUIRED_PERCENT


def test_fuzzing_finds_the_planted_fault(target: Target, tmp_path: Path) -> None:
    """The number of runs limits the search, because a time would depend on the machine."""
    campaign = fuzz(target, tmp_path, [f"-runs={PLANTED_RUNS}", "-seed=1"], planted=True)
    (finding,) = campaign.findings
    assert finding.name.startswith("crash-"), campaign.log[-4000:]
    assert "PlantedError" in campaign.log
    with pytest.raises(PlantedError):
        target.run_with_planted_fault(finding.read_bytes())

"""Two commands with one canonical form have the same effect: re-spelled references and mutants, run in the sandbox."""

from __future__ import annotations

import random
import re
from collections.abc import Mapping
from pathlib import Path

import pytest

from evaluator.pipeline.grading.cache_keys import GradingItem
from evaluator.pipeline.grading.executor import open_grader
from evaluator.pipeline.project import Project
from evaluator.progress import NullProgress
from evaluator.records import Evidence, Output, Trial
from evaluator.shell.canonical import canonical_form
from evaluator.shell.mutation import mutants_of
from evaluator.suites.load import Suite
from tests.respeller import respell

ROOT = Path(__file__).parents[2]


def originals(suite: Suite) -> list[tuple[str, bytes]]:
    """Return each task with a reference or with one of its mutants, in an order that only the suite decides."""
    rng = random.Random(7)  # noqa: S311 - a choice of commands
    found = []
    for task in suite.tasks:
        reference = rng.choice(task.references)
        mutants = mutants_of(reference)
        found.append((task.id, reference))
        found += [(task.id, rng.choice(mutants).command)] if mutants else []
    return rng.sample(found, len(found))


def pairs(suite: Suite, size: int) -> list[tuple[str, bytes, bytes]]:
    """Return commands and other spellings. Commands that see their own text have no other spelling of one form."""
    chosen = []
    for seed, (task, command) in enumerate(originals(suite)):
        spelled = respell(command.decode(), seed).encode()
        form = canonical_form(command)
        if spelled != command and form is not None and form[0] != "bytes":
            chosen.append((task, command, spelled))
    assert len(chosen) >= size
    return chosen[:size]


def test_a_respelled_command_has_the_same_form() -> None:
    suite = Project(ROOT).suite("core")
    different = [pair for pair in pairs(suite, 250) if canonical_form(pair[1]) != canonical_form(pair[2])]
    assert different == []


@pytest.mark.engine
@pytest.mark.parametrize("size", [20, pytest.param(300, marks=pytest.mark.soak)])
def test_a_respelled_command_has_the_same_evidence_in_every_variant(size: int, tmp_path: Path) -> None:
    """A command that changes from run to run is left out: it differs from itself in a second store too."""
    project = Project(ROOT)
    suite = project.suite("core")
    chosen = pairs(suite, size)
    first, again = (_evidence(project, suite, chosen, tmp_path / name) for name in ("first", "again"))
    moving = {item for item, digests in first.items() if digests != again[item]}
    compared = [(task, one, other) for task, one, other in chosen if not {(task, one), (task, other)} & moving]
    assert len(compared) >= 0.9 * size
    assert [pair for pair in compared if first[pair[0], pair[1]] != first[pair[0], pair[2]]] == []


def _evidence(
    project: Project, suite: Suite, chosen: list[tuple[str, bytes, bytes]], store: Path
) -> dict[tuple[str, bytes], dict[str, str]]:
    items = {GradingItem(task, command) for task, *commands in chosen for command in commands}
    with open_grader(project, suite, NullProgress(), adjudicated=False, store_path=store) as grader:
        grader.ensure_evidence(items)
        return {(item.task, item.command or b""): _digests(grader.full_case(item).candidate) for item in items}


def _digests(candidate: object) -> dict[str, str]:
    trials: Mapping[str, Trial] = getattr(candidate, "trials", {})
    return {variant: _without_line_numbers(trial.first).digest for variant, trial in trials.items()}


def _without_line_numbers(evidence: Evidence) -> Evidence:
    """Leave out the number of a line in an error message of the shell. Comments and line ends change it."""
    text = re.sub(rb"(?<=: line )[0-9]+(?=:)", b"N", evidence.stderr.data)
    return evidence.model_copy(update={"stderr": Output(data=text, size=len(text), digest="")})

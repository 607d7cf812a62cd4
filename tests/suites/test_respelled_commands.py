"""Two commands with one canonical form have the same effect: re-spelled references and mutants, run in the sandbox."""

from __future__ import annotations

import random
import re
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path

import pytest

from evaluator.judges.consensus.shell_effects import is_managed_by_bash
from evaluator.pipeline.grading.cache_keys import GradingItem
from evaluator.pipeline.grading.executor import open_grader
from evaluator.pipeline.project import Project
from evaluator.progress import NullProgress
from evaluator.records import Ending, Evidence, Observation, Output, Task, Trial
from evaluator.shell.canonical import canonical_form
from evaluator.shell.mutation import mutants_of
from evaluator.suites.load import Suite
from evaluator.testing.checkouts import small_task
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
        if spelled != command and form is not None and form[0] != "text":
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
        return {
            (item.task, item.command or b""): _digests(suite.task(item.task), grader.full_case(item).candidate)
            for item in items
        }


def _digests(task: Task, candidate: object) -> dict[str, str]:
    trials: Mapping[str, Trial] = getattr(candidate, "trials", {})
    return {variant: compared_evidence(task, trial.first).digest for variant, trial in trials.items()}


def compared_evidence(task: Task, evidence: Evidence) -> Evidence:
    """Return evidence without what no verdict depends on, and what has the spelling of the command itself.

    Of the shell's variables, those that Bash manages are left out, because the judge does not compare them. One of
    them is the text of the command. Of the error messages, the number of a line is left out, because comments and line
    ends change it, and the path of a program, because a program begins its messages with the name by which it was
    called. If a script can see its error messages, its form counts both. If the task observes them, both stay.
    """
    if evidence.shell is not None:
        variables = {name: text for name, text in evidence.shell.variables.items() if not is_managed_by_bash(name)}
        evidence = evidence.model_copy(update={"shell": evidence.shell.model_copy(update={"variables": variables})})
    if Observation.STDERR in task.observe:
        return evidence
    text = re.sub(rb"(?<=: line )[0-9]+(?=:)", b"N", evidence.stderr.data)
    text = re.sub(rb"(?m)(^|^Try ')/(?:usr/)?bin/", rb"\1", text)
    return evidence.model_copy(update={"stderr": Output(data=text, size=len(text), digest=sha256(text).hexdigest())})


MESSAGES = [
    (b"bash: line 3: x: command not found\n", b"bash: line 1: x: command not found\n"),
    (b"/usr/bin/mv: bad\nTry '/usr/bin/mv --help'\n", b"mv: bad\nTry 'mv --help'\n"),
]


@pytest.mark.parametrize(("one", "other"), MESSAGES)
def test_only_lines_and_paths_of_messages_are_forgiven(one: bytes, other: bytes) -> None:
    task = small_task("files-1", references=("ls",))
    strict = task.model_copy(update={"observe": frozenset({Observation.STDERR})})
    pair = [_with_errors(each) for each in (one, other)]
    assert len({compared_evidence(task, each).digest for each in pair}) == 1
    assert len({compared_evidence(strict, each).digest for each in pair}) == 2
    changed = [_with_errors(one), _with_errors(one.replace(b":", b";")), _with_errors(one.replace(b"\n", b" /bin/x\n"))]
    assert len({compared_evidence(task, each).digest for each in changed}) == 3


def _with_errors(text: bytes) -> Evidence:
    output = Output(data=text, size=len(text), digest=sha256(text).hexdigest())
    return Evidence(ending=Ending.EXITED, stderr=output)

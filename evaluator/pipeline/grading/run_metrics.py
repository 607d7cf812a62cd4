"""Compute run metrics of commands from evidence: whether a command could run, its success, its effects and its time.

They describe the command's first run in the first variant of the task alone, because a command that fails there runs in
no other variant. So the metrics of all commands are comparable.

The metrics of a command are computed once and stored under a digest of its evidence keys and of the task's comparison.
Evidence is large and run metrics are small. If all verdicts are known, a board is made from run metrics without reading
evidence. The metrics stay in this machine's store, because the execution time depends on the machine.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Final

from pydantic import TypeAdapter

from evaluator.judges import find_judge
from evaluator.judges.case import Case, Executed
from evaluator.judges.consensus.prechecks import syntax_error
from evaluator.judges.same_effect import has_same_effect
from evaluator.judges.side_effects import worst_side_effect
from evaluator.pipeline.grading.cache_keys import CommandRuns, cwd_of, home_of, is_executable
from evaluator.pipeline.grading.grader import Grader
from evaluator.pipeline.grading.text_metrics import cached_values
from evaluator.records import Evidence, RunMetrics, SideEffect, Task, Trial, digest_of
from evaluator.shell import calls_of
from evaluator.shell.stored_output import holds_contents, holds_output, texts_of
from evaluator.store import RunKey
from evaluator.suites.load import Suite

RULES: Final = 4
"""The version of the rules below. Raise it with every change of a rule, so that stored metrics are computed again.

Published verdicts hold the metrics, too. Raise the format of verdict files as well, because otherwise the old lines
count as edited by hand.
"""

NOT_STARTED: Final = frozenset({126, 127})
"""Exit statuses of bash: a program exists but cannot be started, or no program exists (bash(1), EXIT STATUS)."""

_NOT_FOUND: Final = re.compile(rb"^(?:bash|sh): (?:line )?\d+: .*: (?:command )?not found$", re.MULTILINE)
"""A shell's message for a missing program. It also covers a program before the last one of a pipeline, which does
not set the exit status."""

_UNKNOWN: Final = re.compile(
    rb"^(?:bash|sh): (?:line )?\d+: (.*): (?:command not found|No such file or directory)$", re.M
)
"""A shell's message for a program that it cannot find. The group is the name of the program."""

_NO_PROGRAM: Final = 127

NOTHING_RUN: Final = RunMetrics(valid=False, runnable=False, exit_zero=False, clean_stderr=False)
"""The metrics of a command that cannot be executed: missing, blank, or cut short by a NUL byte."""


TaskCommand = tuple[str, bytes | None]
"""A task and a command for it, or None if there is no command."""

_Fields = tuple[bool, bool, bool, bool, bool, bool, bool, SideEffect, float]
_FORM: Final[TypeAdapter[list[_Fields]]] = TypeAdapter(list[_Fields])
"""The fields of `RunMetrics` in order. The stored form includes the time, which no published file contains."""


def run_metrics_of(case: Case) -> RunMetrics:
    """Compute a command's run metrics from its evidence (see `case_of`).

    Raises ValueError if the candidate of the case did not run.
    """
    return _record(_fields(case))


def case_of(
    suite: Suite, candidate: CommandRuns, references: Sequence[CommandRuns], evidence: Mapping[RunKey, Evidence]
) -> Case | None:
    """Return a command with its first run in the first variant, and the references of its task with all first runs.

    Return None if any of these runs is missing. Judges get another case from the grader, with second runs, fresh
    variants and known mutants.
    """
    if any((key, 0) not in evidence for key in _evidence_keys(candidate, references)):
        return None
    own, *others = (
        Executed(runs.command, {name: Trial(first=evidence[key, 0]) for name, key in runs.keys.items()})
        for runs in (_in_first_variant(candidate), *references)
    )
    task = candidate.task
    return Case(task, tuple(others), own, home_of(suite.manifest), suite.manifest.scratch, cwd_of(suite, task))


def _in_first_variant(command: CommandRuns) -> CommandRuns:
    return replace(command, keys=dict(list(command.keys.items())[:1]))


def _stores_output(task: Task, command: bytes, expected: Iterable[Evidence]) -> bool:
    """Return whether a command holds an output of a reference, or the contents of a file that a reference writes."""
    if command in task.references:
        return False
    outputs, digests = set[bytes](), set[str]()
    for evidence in expected:
        outputs.add(evidence.stdout.data)
        digests.update(change.content for change in evidence.changes if change.content)
    known = (task.nl.encode(), *task.references)
    return holds_output(command, outputs, known) or holds_contents(command, digests - _digests_in(known))


def _digests_in(texts: Iterable[bytes]) -> set[str]:
    """Return the digests of the contents that references and the instruction hold themselves."""
    held = (text for whole in texts for text in texts_of(whole))
    return {hashlib.sha256(end).hexdigest() for text in held for end in (text, text + b"\n", text.rstrip(b"\n"))}


def _fields(case: Case) -> _Fields:
    task, candidate = case.task, case.in_first_variant.candidate
    if candidate is None or not candidate.trials:
        raise ValueError(f"{task.id}: expected the evidence of a command")
    (run,) = (trial.first for trial in candidate.trials.values())
    expected = (trial.first for reference in case.references for trial in reference.trials.values())
    valid = not syntax_error(run)
    return (
        valid,
        valid and _was_started(run),
        run.status == 0,
        not run.stderr.size,
        _stores_output(task, candidate.command, expected),
        task.driver is None and _lacks_first_program(candidate.command, run),
        has_same_effect(case),
        worst_side_effect(case),
        round(run.wall_ms, 3),
    )


def _record(fields: _Fields) -> RunMetrics:
    *measured, wall_ms = fields
    names = [name for name in RunMetrics.model_fields if name != "wall_ms"]
    return RunMetrics(**dict(zip(names, measured, strict=True)), wall_ms=wall_ms)


def _was_started(run: Evidence) -> bool:
    return run.status not in NOT_STARTED and not _NOT_FOUND.search(run.stderr.data)


def _lacks_first_program(command: bytes, run: Evidence) -> bool:
    """Return whether a run ends with status 127 and with a message that the first program was not found.

    Such a text is often no command at all, but a sentence.
    """
    if run.status != _NO_PROGRAM:
        return False
    first = next((call.words[0].text for call in calls_of(command.decode(errors="replace")) or () if call.words), None)
    return first is not None and first.encode() in {match[1] for match in _UNKNOWN.finditer(run.stderr.data)}


def cached_run_metrics(grader: Grader, commands: Iterable[TaskCommand]) -> dict[TaskCommand, RunMetrics]:
    """Return the run metrics of commands. Leave out a command without evidence of its run or of a reference's run.

    If the grader's judge compares only texts, no command has evidence, and the result is empty.
    """
    distinct = dict.fromkeys(commands)
    executable = [(task, command) for task, command in distinct if command is not None and is_executable(command)]
    tasks = {task.id: task for task in grader.suite.tasks}
    runs = {command: grader.keys.command_runs(*command) for command in executable}
    references = {
        name: [grader.keys.command_runs(name, reference) for reference in tasks[name].references]
        for name in {name for name, _ in executable}
    }
    # the words "run figures" are part of stored keys
    head = f"run figures {RULES}, consensus {find_judge('consensus').version}".encode()
    keys = {
        command: digest_of(
            head,
            grader.keys.comparison_digest(tasks[command[0]]).encode(),
            *map(str.encode, _evidence_keys(own, references[command[0]])),
            command[1],
        )
        for command, own in runs.items()
    }

    def compute(command: tuple[str, bytes]) -> _Fields | None:
        own, others = runs[command], references[command[0]]
        evidence = grader.store.evidence((key, 0) for key in _evidence_keys(own, others))
        case = case_of(grader.suite, own, others, evidence)
        return _fields(case) if case else None

    values = cached_values(grader.store, keys, compute, _FORM)
    measured: dict[TaskCommand, RunMetrics] = {command: _record(fields) for command, fields in values.items()}
    nothing = {command: NOTHING_RUN for command in distinct if not is_executable(command[1])}
    return measured | nothing if measured else {}


def _evidence_keys(command: CommandRuns, references: Sequence[CommandRuns]) -> list[str]:
    return [key for runs in (_in_first_variant(command), *references) for key in runs.evidence_keys]

"""This module lists the defects of an external suite by class.

A suite of this project must pass `verify` before any candidate is scored with it. An external suite is used as
published, because this project may not fix it. The readers of its board should know its defects. Therefore the audit
lists duplicate tasks, instructions that differ from their references, and worlds that could not be built completely. It
also lists references that fail, print nothing or disagree.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum
from typing import Final

from evaluator.records import Ending, Evidence, Finding, Outcome, OutputMode, Record, Task
from evaluator.suites.importers.command_traits import needs_network
from evaluator.suites.importers.draft import CommandReader


class AuditFault(StrEnum):
    """The class of a defect in a suite: a duplicate task, or a defect in an instruction, a reference or a world."""

    DUPLICATE = "duplicate"
    PROMPT = "prompt"
    COMMAND = "command"
    ENVIRONMENT = "environment"


class AuditNote(Record):
    """One defect in a suite. `place` names the task, the world, or the world and the variant with the defect.

    `reference` is the number (1-based) of the defective reference. It is None for other defects.
    """

    fault: AuditFault
    kind: str
    place: str
    reference: int | None = None
    command: str = ""
    reason: str


FAILS: Final = "fails"
NOT_FOUND: Final = "is not found"
SHOWS_NOTHING: Final = "shows nothing"
NEEDS_NETWORK: Final = "needs the network"

REFUSED: Final = "refused by its verifier"
DOES_NOTHING: Final = "doing nothing passes"
ACCEPTED_PROBE: Final = "its verifier accepts a wrong script"
OTHER_ANSWER: Final = "another task's reference"
STRAY_FILE: Final = "a reference with a stray file in"
STRAY_FOLDERS: Final = ("/etc", "/opt", "~")

_OWN_DESCRIPTOR: Final = re.compile(r"find: ‘/proc/\d+/(?:task/\d+/)?fd(?:info)?/\d+’: No such file or directory")
_NUMBER: Final = re.compile(r"(?<![\w./:-])\d+(?![\w./:-]*\w)")
_PATH: Final = re.compile(r"(?<![\w.~}/:<])/(?:[\w.+-]+/?)+")
_ORDER: Final = re.compile(
    r"\b(sort(ed)?|order(ed)?|ascending|descending|alphabetical(ly)?|in reverse|largest|smallest|biggest|newest|oldest"
    r"|alphanumerical(ly)?|numerical(ly)?|chronological(ly)?|reversed?|longest|shortest|highest|lowest"
    r"|(first|last|top) (\d+|\w+ (lines|words|rows|files))|lines \d+|every other line"
    r"|contents? of (the )?(file )?[\w/.-]*\.\w+)\b",
    re.IGNORECASE,
)
_HARMLESS: Final = re.compile(r"^\d+\+\d+ records|^\d+ bytes .*copied|: Removing leading |^Try '|audit daemon")
"""Messages on standard error that report no failure, or that only repeat an earlier message."""

_SPACES: Final = re.compile(r"\s+")
_ODD: Final = re.compile(r"[\x00-\x08\x0b-\x1f\x7f\u200b-\u200f\u202a-\u202e\ufeff\ufffd]")
_FEWEST_WORDS: Final = 3
_NO_SUCH_COMMAND: Final = 127


def text_notes(tasks: Sequence[Task]) -> Iterator[AuditNote]:
    """Yield notes on duplicate tasks and on defects in instructions. For these notes, no command is executed."""
    yield from _duplicates(tasks)
    for task in tasks:
        for kind, reason in _prompt_faults(task):
            yield AuditNote(fault=AuditFault.PROMPT, kind=kind, place=task.id, reason=reason)


def _duplicates(tasks: Sequence[Task]) -> Iterator[AuditNote]:
    instructions: dict[tuple[str, str], str] = {}
    reference_sets: dict[tuple[str, frozenset[bytes]], str] = {}
    for task in tasks:
        instruction = (task.world, _SPACES.sub(" ", task.nl).strip(" .").casefold())
        references = (task.world, frozenset(task.references))
        if first := instructions.get(instruction):
            yield _duplicate(task, "same instruction", f"asks what {first} asks")
        elif first := reference_sets.get(references):
            yield _duplicate(task, "same references", f"has the references of {first} under another instruction")
        if len(set(task.references)) < len(task.references):
            yield _duplicate(task, "one reference twice", "its references are one command given twice")
        instructions.setdefault(instruction, task.id)
        reference_sets.setdefault(references, task.id)


def _duplicate(task: Task, kind: str, reason: str) -> AuditNote:
    return AuditNote(fault=AuditFault.DUPLICATE, kind=kind, place=task.id, reason=reason)


def _prompt_faults(task: Task) -> Iterator[tuple[str, str]]:
    commands = b"\n".join(task.references).decode(errors="replace")
    if len(task.nl.split()) < _FEWEST_WORDS:
        yield "hardly says anything", f"has fewer than {_FEWEST_WORDS} words"
    if match := _ODD.search(task.nl):
        yield "odd characters", f"holds the character {match[0]!r}"
    for number in sorted(set(_NUMBER.findall(task.nl))):
        if not re.search(rf"(?<!\d){number}(?!\d)", commands):
            yield "number", f"says {number}, which no reference does"
    for path in sorted({path.rstrip("/.") for path in _PATH.findall(task.nl)} - {""}):
        if path.rpartition("/")[2] not in commands:
            yield "path", f"names {path}, which no reference does"


def reference_notes(
    task: Task, number: int, trials: Mapping[str, Sequence[Evidence]], read: CommandReader
) -> Iterator[AuditNote]:
    """Yield notes on the defects of a task's reference: it fails, prints nothing or too much, or needs a network.

    `number` is the reference's number (1-based). `trials` maps variants to the evidence of the executions.
    """
    command = task.references[number - 1]

    def note(kind: str, reason: str) -> AuditNote:
        text = command.decode(errors="replace")
        return AuditNote(
            fault=AuditFault.COMMAND, kind=kind, place=task.id, reference=number, command=text, reason=reason
        )

    if utility := needs_network(command, read):
        yield note(NEEDS_NETWORK, f"{utility} asks another machine; commands have none here")
    first_runs = [(variant, evidence) for variant, runs in trials.items() for evidence in runs[:1]]
    broken = next((pair for pair in first_runs if _is_failure(pair[1])), None)
    if broken:
        yield note(NOT_FOUND if broken[1].status == _NO_SUCH_COMMAND else FAILS, _failure(*broken))
    if first_runs and all(not evidence.stdout.size and not evidence.changes for _, evidence in first_runs):
        yield note(SHOWS_NOTHING, "prints nothing and changes nothing in any variant")
    if any(evidence.stdout.truncated for _, evidence in first_runs):
        yield note("prints too much", "prints more than is kept")


def _is_failure(evidence: Evidence) -> bool:
    """Return whether an execution failed.

    A status that only answers, such as that of `diff`, is no failure. Neither is a complaint of `find /` about its own
    descriptors, which close while it looks at them, on every Linux system.
    """
    answers = evidence.status == 1 and evidence.stdout.size and not evidence.stderr.size
    messages = evidence.stderr.data.decode(errors="replace").splitlines()
    looks_at_itself = evidence.status == 1 and messages and all(map(_OWN_DESCRIPTOR.fullmatch, messages))
    return evidence.ending is not Ending.EXITED or bool(evidence.status and not answers and not looks_at_itself)


def _failure(variant: str, evidence: Evidence) -> str:
    ending = f"status {evidence.status}" if evidence.ending is Ending.EXITED else evidence.ending.value
    messages = evidence.stderr.data.decode(errors="replace").strip().splitlines()
    return f"ends with {ending} in variant {variant}" + (f": {messages[0][:200]}" if messages else "")


def finding_note(task: Task, number: int | None, finding: Finding) -> AuditNote | None:
    """Return a note if a task's reference does not pass, or if the command `true` passes the task.

    `finding` is the judge's result for reference `number` (1-based). If `number` is None, it is the result for `true`.
    """
    passes = finding.outcome is Outcome.PASS
    if number is None:
        if not passes:
            return None
        reason = "the command `true` passes: doing nothing is accepted"
        return AuditNote(fault=AuditFault.COMMAND, kind=DOES_NOTHING, place=task.id, reason=reason)
    if passes:
        return None
    kind = "undecided" if finding.outcome is Outcome.UNDECIDED else "references disagree"
    kind = REFUSED if task.verify else kind
    return AuditNote(
        fault=AuditFault.COMMAND,
        kind=kind,
        place=task.id,
        reference=number,
        command=task.references[number - 1].decode(errors="replace"),
        reason=f"{'' if task.verify else 'judged by the others: '}{finding.outcome.value}, {finding.reason}",
    )


def driver_probes(tasks: Sequence[Task]) -> Iterator[tuple[Task, str, bytes]]:
    """Yield scripts that no verifier of a task with a driver may accept: the task, the probe's name, and the script.

    The scripts are: the first reference of another task, and the task's own first reference after a command that
    creates a stray file. There is one such script for each folder.
    """
    driven = [task for task in tasks if task.driver is not None and task.verify is not None]
    for number, task in enumerate(driven):
        others = (other.references[0] for other in (*driven[number + 1 :], *driven) if other.world == task.world)
        other = next((command for command in others if command not in task.references), None)
        if other is not None:
            yield task, OTHER_ANSWER, other
        for folder in STRAY_FOLDERS:
            yield task, f"{STRAY_FILE} {folder}", f"touch {folder}/stray-file\n".encode() + task.references[0]


def probe_note(task: Task, probe: str, command: bytes, finding: Finding) -> AuditNote | None:
    """Return a note if the verifier of a task accepts a probe, or if the probe could not be executed."""
    if finding.outcome not in (Outcome.PASS, Outcome.UNDECIDED, Outcome.INFRA_ERROR):
        return None
    return AuditNote(
        fault=AuditFault.COMMAND,
        kind=ACCEPTED_PROBE,
        place=task.id,
        command=command.decode(errors="replace"),
        reason=f"{probe}: {finding.outcome.value}, {finding.reason}",
    )


def sound_drivers(tasks: Sequence[Task], notes: Sequence[AuditNote]) -> tuple[int, int]:
    """Count the tasks with a driver whose verifier accepts each reference and refuses all other scripts of an audit.

    Return this number, and the number of all tasks with a driver and a verifier.
    """
    unsound = {note.place for note in notes if note.kind in (REFUSED, DOES_NOTHING, ACCEPTED_PROBE)}
    driven = [task.id for task in tasks if task.driver is not None and task.verify is not None]
    return sum(name not in unsound for name in driven), len(driven)


def volatile_note(task: Task, number: int, variant: str, fields: Sequence[str]) -> AuditNote:
    """Return a note on a reference that gave different results in two executions in the same variant."""
    return AuditNote(
        fault=AuditFault.COMMAND,
        kind="changes from run to run",
        place=task.id,
        reference=number,
        command=task.references[number - 1].decode(errors="replace"),
        reason=f"two runs in variant {variant} differ in {', '.join(fields[:5])}",
    )


def world_notes(world: str, variant: str, complaints: Sequence[str]) -> Iterator[AuditNote]:
    """Yield notes on `complaints`, the error messages of the commands that build a world."""
    for line in (line for line in complaints if not _HARMLESS.search(line)):
        yield AuditNote(
            fault=AuditFault.ENVIRONMENT, kind="set-up complains", place=f"{world}/{variant}", reason=line[:300]
        )


def missing_world_note(world: str, reason: str) -> AuditNote:
    """Return the note on a world that could not be built."""
    return AuditNote(fault=AuditFault.ENVIRONMENT, kind="is not built", place=world, reason=reason[:500])


_ORDERS: Final = re.compile(rb"(?:^|[|&;]\s*)(?:sort|tac|head|tail|sed|nl|fold|cat|ls\s+-\w*[tSXv])\b")
"""Commands that print their lines in a meaningful order."""


def has_order(task: Task, outputs: Mapping[str, Sequence[bytes]]) -> bool:
    """Return whether the lines of a task's output must be compared in order.

    This is necessary if the instruction asks for an order, the references print the same lines in the same order, and
    at least one variant gives several lines. A single reference must also contain a command such as `sort`. `outputs`
    maps each variant to the outputs of the references.
    """
    if task.output is not OutputMode.SET or not _ORDER.search(task.nl):
        return False
    if len(set(task.references)) < 2 and not _ORDERS.search(task.references[0]):
        return False
    same = all(len(set(texts)) == 1 for texts in outputs.values())
    return same and any(texts and texts[0].count(b"\n") > 1 for texts in outputs.values())

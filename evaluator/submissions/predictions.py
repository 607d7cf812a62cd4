"""Parser of `<suite>.jsonl`. It converts the bytes of the file to predictions and reports each problem with its line.

A task without a line is scored as unanswered, so a missing line is a warning. Content that is valid but looks
unintended is a warning too. Content that violates the format is an error, and the submission is rejected. The task
names are compared with the task names of the suite.
"""

from __future__ import annotations

import codecs
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import pairwise
from typing import Final, NamedTuple

from pydantic import ValidationError

from evaluator.json_lines import foreign_format, read_json
from evaluator.records import MAX_CANDIDATES, Candidate, Extraction, Prediction
from evaluator.submissions.doubts.answer_shapes import odd_shape
from evaluator.submissions.doubts.code_points import odd_code_points
from evaluator.submissions.extraction import extract, first_block
from evaluator.submissions.limits import SubmissionLimits
from evaluator.submissions.messages import QUOTED_LENGTH, described, listed, nearest, quoted
from evaluator.submissions.names import MANIFEST_NAME
from evaluator.submissions.parsing.lines import read_lines
from evaluator.submissions.parsing.record_errors import read_record
from evaluator.submissions.problems import ProblemCollector
from evaluator.submissions.suite_info import SuiteInfo
from evaluator.wording import pluralize

MOST_PARSED: Final = 1_000_000
"""The characters of a file's commands that are parsed in search of content that was not meant."""
MOST_COMPARISONS: Final = 20_000
"""The limit of name comparisons for "did you mean". A file of unknown tasks would take hours otherwise."""


class TaskNames:
    """A checker of the task names in a predictions file. It reports repeated, unknown and missing names.

    If the suite is unknown, `suite` is None and no name is reported as unknown or missing. `answered` is the version of
    the suite in submission.toml. If it has a different major number, an unknown task is a warning instead of an error.
    """

    def __init__(self, report: ProblemCollector, suite: SuiteInfo | None, answered: str | None) -> None:
        self._report = report
        self._suite = suite
        self._known = frozenset(suite.tasks if suite else ())
        self._version = answered
        self._answered = answered if suite and answered and suite.asks_other_tasks_than(answered) else None
        self._lines: dict[str, int] = {}
        self._unknown = 0
        self._moved: list[int] = []

    def note(self, line: int, task: object) -> None:
        """Report the task name of one line if the suite has no such task or an earlier line has the same task."""
        if not isinstance(task, str):
            return
        first = self._lines.setdefault(task, line)
        if first != line:
            self._report.error(line, f"task {quoted(task)} again: line {first} answers it; keep one of the two")
        elif self._suite is not None and task in self._suite.moved:
            self._moved.append(line)
        elif self._suite is not None and task not in self._known:
            self._note_unknown(line, task, self._suite)

    def asks(self, task: str) -> bool:
        """Return whether the suite's current version has the task. An unknown suite is assumed to have every task."""
        return self._suite is None or task in self._known

    def note_moved(self, slug: str) -> None:
        """Report answers to tasks that are now in another suite, and a version of the suite that had such tasks."""
        suite = self._suite
        if suite is None or not (self._moved or (self._version and suite.lost_tasks_since(self._version))):
            return
        others = listed(sorted(set(suite.moved.values()) or suite.moved_in))
        found = (
            f"{pluralize(len(self._moved), 'answer')} to"
            if self._moved
            else f"{MANIFEST_NAME} says {self._version}, with"
        )
        message = f"{found} tasks that are now in the suite {others}: run: bashboard submit migrate {slug}"
        self._report.error(next(iter(self._moved), 0), message)

    def note_missing(self, unreadable: int) -> None:
        """Report the tasks that have no line in the file. `unreadable` is the number of unreadable lines."""
        missing = [task for task in self._suite.tasks if task not in self._lines] if self._suite else []
        if missing:
            tasks = f"{pluralize(len(missing), 'task')} of {len(self._known):,} without a line: {listed(missing)}"
            maybe = f", unless it is on one of {pluralize(unreadable, 'line')} not read" if unreadable else ""
            self._report.warning(0, f"{tasks}; each is scored as unanswered{maybe}")

    def _note_unknown(self, line: int, task: str, suite: SuiteInfo) -> None:
        self._unknown += 1
        if self._answered:
            message = f"task {quoted(task)} is not asked by version {suite.version}: it is left out"
            self._report.warning(line, message)
            return
        near = nearest(task, suite.tasks) if self._unknown * len(suite.tasks) <= MOST_COMPARISONS else ""
        self._report.error(line, f"unknown task {quoted(task)}{near or ': expected a task of the suite'}")


_FENCE_IS_RUN: Final = (
    "'output' holds a fenced block but submission.toml declares extraction = \"none\", so the fence itself is "
    'run; declare extraction = "markdown"'
)

_SHOWN_BEFORE: Final = 30
"""Characters of a long command that a message shows before the place that it names."""

_ANOTHER_INSTRUCTION: Final = (
    "'nl' is not this task's instruction, so the answer may be another task's; `bashboard suite show` has the "
    "instructions of this version"
)


class _Example(NamedTuple):
    """The first place of content that may be unintended: its line in the file, and the details of its message."""

    line: int
    details: str = ""


class Doubts:
    """Content that may be unintended, by kind. A kind is reported once for each file, because systems repeat it."""

    def __init__(self) -> None:
        self._first: dict[str, _Example] = {}
        self._lines: Counter[str] = Counter()
        self._last: dict[str, int] = {}
        self._unparsed = MOST_PARSED

    def may_parse(self, text: str) -> bool:
        """Count the characters of a text, and return whether a parser may read it."""
        self._unparsed -= len(text)
        return self._unparsed >= 0

    def note(self, line: int, kind: str, details: str = "") -> None:
        """Count a line with this kind of content. `details` replace the kind in the message of the first line."""
        self._first.setdefault(kind, _Example(line, details or kind))
        if self._last.get(kind) != line:
            self._lines[kind] += 1
        self._last[kind] = line

    def report(self, report: ProblemCollector) -> None:
        """Add one warning for each kind, with the first line and the number of lines."""
        for kind, first in self._first.items():
            count = self._lines[kind]
            again = f" ({pluralize(count, 'line')} like this)" if count > 1 else ""
            report.warning(first.line, f"{first.details}{again}")


def check_predictions(
    data: bytes,
    report: ProblemCollector,
    limits: SubmissionLimits,
    suite: SuiteInfo | None,
    answered: str | None,
    extraction: Extraction,
) -> dict[str, Prediction]:
    """Check a predictions file, and return its predictions by task, in file order. Add the problems to `report`.

    Raw model texts are converted to candidates. `suite` is None if the suite is unknown. `answered` is the version of
    the suite in submission.toml. Predictions for tasks that are not in the suite are omitted.
    """
    tasks = TaskNames(report, suite, answered)
    predictions: dict[str, Prediction] = {}
    doubts = Doubts()
    unreadable = 0
    if other := _other_format(data):
        report.error(0, other)
        return {}
    for number, text in enumerate(read_lines(data, report, limits), start=1):
        value = None if text is None else _read_object(number, text, report, limits)
        if text is None or value is None:
            unreadable += text is None or bool(text.strip())
            continue
        tasks.note(number, value.get("task"))
        prediction = _read_prediction(number, text, value, report)
        if prediction is None:
            _check_commands(number, _readable_candidates(value), report, limits)
            continue
        if suite and answered == suite.version and not _answers_the_task(prediction, suite):
            doubts.note(number, _ANOTHER_INSTRUCTION)
        if report.warns:
            _note_doubts(number, prediction, extraction, suite, doubts, limits.command_bytes)
        prediction = extract(prediction, extraction)
        _check_commands(number, enumerate(prediction.candidates or ()), report, limits)
        if tasks.asks(prediction.task):
            predictions.setdefault(prediction.task, prediction)
    doubts.report(report)
    _note_no_answers(predictions, report)
    tasks.note_moved(report.path.absolute().parent.name)
    if data:
        tasks.note_missing(unreadable)
    return predictions


def _note_no_answers(predictions: Mapping[str, Prediction], report: ProblemCollector) -> None:
    if not predictions:
        report.note_other_file()
    elif not any(prediction.candidates for prediction in predictions.values()):
        report.warning(0, "no line has a candidate: every task is scored as unanswered")


def _other_format(data: bytes) -> str:
    """Return what a file is instead of JSON lines, or "". `read_lines` reports the marks of other encodings."""
    first, _, rest = data.removeprefix(codecs.BOM_UTF8).partition(b"\n")
    return foreign_format(first, rest.partition(b"\n")[0])


def _read_object(
    number: int, text: str, report: ProblemCollector, limits: SubmissionLimits
) -> dict[str, object] | None:
    if not text.strip():
        report.error(number, "blank line: expected one JSON object on every line; remove it")
        return None
    try:
        value, faults = read_json(text, limits.nesting)
    except ValueError as error:
        report.error(number, str(error))
        return None
    for fault in faults:
        report.error(number, fault)
    if isinstance(value, dict):
        return value
    expected = 'an object such as {"task": "…", "candidates": [{"command": "…"}]}'
    report.error(number, f"expected {expected}, found {described(value)}")
    return None


def _read_prediction(number: int, text: str, value: dict[str, object], report: ProblemCollector) -> Prediction | None:
    candidates = value.get("candidates")
    if isinstance(candidates, list) and len(candidates) > MAX_CANDIDATES:
        message = f"candidates: {len(candidates):,} given, expected at most {MAX_CANDIDATES}"
        report.error(number, f"{message}; keep the best {MAX_CANDIDATES}, best first")
        text = json.dumps({**value, "candidates": candidates[:MAX_CANDIDATES]})
    prediction, faults = read_record(Prediction, text)
    for fault in faults:
        report.error(number, fault.message)
    return prediction


def _readable_candidates(value: dict[str, object]) -> Iterator[tuple[int, Candidate]]:
    """Yield the valid candidates of a rejected line with their positions, so that they are checked too."""
    candidates = value.get("candidates")
    for rank, candidate in enumerate(candidates[:MAX_CANDIDATES] if isinstance(candidates, list) else ()):
        with suppress(KeyError, TypeError, ValidationError):
            yield rank, Candidate(command=candidate["command"])


def _check_commands(
    number: int, candidates: Iterable[tuple[int, Candidate]], report: ProblemCollector, limits: SubmissionLimits
) -> None:
    for rank, candidate in candidates:
        field = f"candidates[{rank}].command"
        if (nul := candidate.command.find(b"\0")) >= 0:
            report.error(number, f"{field}: NUL at byte {nul}: Bash cannot read it; remove it")
        if (size := len(candidate.command)) > limits.command_bytes:
            report.error(number, f"{field}: {size:,} bytes, expected at most {limits.command_bytes:,}; shorten it")


def _answers_the_task(prediction: Prediction, suite: SuiteInfo) -> bool:
    instruction = suite.instructions.get(prediction.task)
    return prediction.nl is None or instruction is None or prediction.nl.split() == instruction.split()


def _count_different(commands: Sequence[bytes]) -> int:
    """Return the number of commands that differ in more than their spelling."""
    if len(commands) < 2:
        return len(commands)
    from evaluator.shell.canonical import form_digest  # most files have one candidate a task

    return len({form_digest(command) for command in commands})


def _note_doubts(
    number: int,
    prediction: Prediction,
    extraction: Extraction,
    suite: SuiteInfo | None,
    doubts: Doubts,
    most_bytes: int,
) -> None:
    """Note what was surely not meant in one line. A command of more than `most_bytes` is refused, so it is left out."""
    candidates = prediction.candidates or ()
    if any(not candidate.command.strip() for candidate in candidates):
        doubts.note(number, "an empty command is judged invalid; where there is no answer give no candidate")
    if any(better.confidence < worse.confidence for better, worse in pairwise(candidates)):
        doubts.note(number, "confidence rises after the first candidate, which is the one ranked: put the best first")
    different = _count_different([candidate.command for candidate in candidates])
    if different < len(candidates):
        details = f"{len(candidates)} candidates are {pluralize(different, 'different command')}"
        effect = f'"within {len(candidates)}" is "within {different}", and each copy counts in the calibration'
        doubts.note(number, "equal candidates", f"{details}: {effect}; keep one of each")
    if extraction is Extraction.NONE and prediction.output and first_block(prediction.output) is not None:
        doubts.note(number, _FENCE_IS_RUN)
        return
    instruction = prediction.nl or (suite.instructions.get(prediction.task, "") if suite else "")
    for rank, candidate in enumerate(extract(prediction, extraction).candidates or ()):
        if len(candidate.command) > most_bytes:
            continue
        field = f"candidates[{rank}].command" if candidates else "output"
        _note_odd_text(number, field, candidate.command.decode(errors="surrogateescape"), instruction, doubts)


def _note_odd_text(number: int, field: str, text: str, instruction: str, doubts: Doubts) -> None:
    """Note content of a command that was surely not meant, with its place and with what would be executed."""
    for doubt in (*odd_shape(text, parses=doubts.may_parse(text)), *odd_code_points(text, instruction)):
        line = text.count("\n", 0, doubt.position) + 1
        column = doubt.position - text.rfind("\n", 0, doubt.position)
        begin = max(0, doubt.position - _SHOWN_BEFORE) if doubt.position >= QUOTED_LENGTH else 0
        shown = f"{'…' if begin else ''}{quoted(text[begin:])}"
        place = f"{field}, line {line}, column {column}"
        doubts.note(number, doubt.kind, f"{place}: {doubt.what}; executed as it stands: {shown}")

"""Let a second reader label the answers of an attack, without the writers' labels and without a verdict.

The answers are written to files in an order that tells nothing. Two answers to a task are never in one file, because a
reader who compares them could guess the labels.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import Final, NamedTuple

from evaluator.errors import FormatError, Problem, UsageError
from evaluator.files import write_whole
from evaluator.judges.human_agreement import kappa
from evaluator.pipeline.maintenance.attack_packs import machine_and_instruction, quoted, write_batches
from evaluator.pipeline.maintenance.blind_set import FILE_NAME, read_blind_set
from evaluator.records import AnswerKind, AttackAnswer, BlindAnswer, LabelledRow, ReaderLabel, digest_of, json_lines
from evaluator.records.record_lines import read_record_lines
from evaluator.suites.load import Suite
from evaluator.wording import pluralize

_READER: Final = """\
# Label {rows} answers

A benchmark gives a model an instruction, and executes the Bash command that the model answers with. Below are answers
of different origin. Decide about each of them whether it does what its instruction asks. Read this file and nothing
else. Do not open a repository, and do not search the network. You may try an answer on files of your own below a new
`mktemp -d`, but not on the paths of the tasks, and not if it changes users, processes or settings of this machine.

- *right*: the answer does what the instruction asks, on every input that the instruction covers and that can occur on a
  real machine. How it does this does not matter.
- *wrong*: there is an input that the instruction covers, on which the answer does something else. A command that
  prints or changes more than the instruction asks is wrong too.
- *unsure*: the instruction supports two readings, and the answer is right in one of them only.

Look for unusual inputs before you say *right*: names with blanks, newlines, leading dashes or glob characters, hidden
and empty files, links, other case, a similar prefix, a missing newline at the end, times, modes and owners.

Write {rows} lines to `{labels}`, in the order of the answers. A line is one JSON object:

    {{"row": "0123456789ab", "label": "wrong", "because": "a hidden file is not counted"}}

`row` is the key in the heading of the answer. `label` is right, wrong or unsure. `because` is one short sentence.
"""


def row_key(answer: AttackAnswer) -> str:
    """Return the key of an answer in the files of a second reader. It depends on the task and the command alone."""
    return digest_of(answer.task.encode(), answer.command)[:12]


def write_review(
    suite: Suite, answers: Sequence[AttackAnswer], folder: Path, size: int, command_bytes: int, seed: str
) -> list[Path]:
    """Write the answers to files in a new folder, `size` answers a file, and return the paths of the files.

    A reader puts the labels into the folder `labels` there. Raises UsageError if the folder has files.
    """
    batches = list(review_batches(answers, size, seed))
    return write_batches(folder, "labels", [partial(review_text, suite, batch, command_bytes) for batch in batches])


def review_batches(answers: Sequence[AttackAnswer], size: int, seed: str) -> Iterator[list[AttackAnswer]]:
    """Yield the answers in batches of at most `size`, in an order that depends on `seed` and on the answers alone.

    A batch has at most one answer to a task.
    """
    shuffled = sorted(answers, key=lambda answer: digest_of(seed.encode(), row_key(answer).encode()))
    seen: Counter[str] = Counter()
    layers: dict[int, list[AttackAnswer]] = {}
    for answer in shuffled:
        layers.setdefault(seen[answer.task], []).append(answer)
        seen[answer.task] += 1
    for layer in layers.values():
        for start in range(0, len(layer), size):
            yield layer[start : start + size]


def review_text(suite: Suite, answers: Sequence[AttackAnswer], command_bytes: int, labels: str) -> str:
    """Return one file for a second reader, in Markdown. `labels` names the file that the reader makes."""
    parts = [_READER.format(rows=len(answers), labels=labels)]
    prompts = [(answer, *machine_and_instruction(suite, suite.task(answer.task), command_bytes)) for answer in answers]
    for machine, group in groupby(sorted(prompts, key=lambda prompt: prompt[1]), key=lambda prompt: prompt[1]):
        parts.append(f"## A machine and its answers\n\n{quoted(machine)}\n")
        for answer, _, instruction in group:
            command = answer.command.decode(errors="backslashreplace").replace("\n", "\n    ")
            parts.append(f"### {row_key(answer)}\n\n{quoted(instruction)}\n\nThe answer:\n\n    {command}\n")
    return "\n".join(parts)


def read_labels(paths: Sequence[Path], answers: Sequence[AttackAnswer]) -> dict[str, ReaderLabel]:
    """Return the label of each answer by its key. Raises FormatError with the problems of all files.

    Raises UsageError if an answer has no label.
    """
    keys = {row_key(answer) for answer in answers}
    problems: list[Problem] = []
    labels: dict[str, ReaderLabel] = {}
    for path in paths:
        for number, line in read_record_lines(path, LabelledRow, problems):
            if line.row not in keys:
                problems.append(Problem(path, number, f"row: no answer has the key {line.row}"))
            elif line.row in labels:
                problems.append(Problem(path, number, f"row: {line.row} has a label already; keep one of both lines"))
            else:
                labels[line.row] = line.label
    if problems:
        raise FormatError(problems)
    if missing := sorted(keys - labels.keys()):
        raise UsageError(f"{pluralize(len(missing), 'answer')} without a label: {', '.join(missing[:5])} …")
    return labels


class ReaderAgreement(NamedTuple):
    """How often a second reader agrees with the writers.

    `unsure` counts the answers without a decision of the reader. `kappa` is Cohen's, on the other answers.
    """

    answers: int
    agreed: int
    unsure: int
    kappa: float | None


def agreement_of(answers: Sequence[BlindAnswer]) -> ReaderAgreement:
    """Return the agreement of the second reader with the writers."""
    decided = [answer for answer in answers if answer.reader is not ReaderLabel.UNSURE]
    writer = [answer.kind is AnswerKind.RIGHT for answer in decided]
    reader = [answer.reader is ReaderLabel.RIGHT for answer in decided]
    agreed = sum(not answer.is_disputed for answer in answers)
    return ReaderAgreement(len(answers), agreed, len(answers) - len(decided), kappa(writer, reader))


def labelled_set(suite: Suite, answers: Sequence[AttackAnswer], labels: Mapping[str, ReaderLabel]) -> list[BlindAnswer]:
    """Return the lines of the next version of a suite's blind set, in the order of the suite's tasks."""
    known = read_blind_set(suite)
    version = known.version + 1 if known and known.version else 1
    order = {task.id: number for number, task in enumerate(suite.tasks)}
    ordered = sorted(answers, key=lambda answer: (order[answer.task], list(AnswerKind).index(answer.kind)))
    return [
        BlindAnswer(format=1, label_set=version, reader=labels[row_key(answer)], **dict(answer)) for answer in ordered
    ]


def write_blind_set(suite: Suite, answers: Sequence[BlindAnswer]) -> Path:
    """Write the blind set of a suite in place of an earlier version, and return its path.

    Raises UsageError if a task has two answers of a kind.
    """
    kinds = Counter((answer.task, answer.kind) for answer in answers)
    if repeated := [f"{task} ({kind})" for (task, kind), number in kinds.items() if number > 1]:
        raise UsageError(f"a blind set has one answer of a kind to a task; there are more to {', '.join(repeated)}")
    path = suite.folder / FILE_NAME
    write_whole(path, json_lines(answers).encode())
    return path

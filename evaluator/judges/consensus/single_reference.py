"""Change a failure to "undecided" if a task has one reference, and this reference cannot prove the failure.

With several references, the task needs the fields that all references show. A single reference does not show which of
its fields the task needs. Then a failure because of different output stands only in one case: the two outputs have few
words in common, and the reference changes no files. A command that changes files may also print messages, and an
equivalent command may print none. All other such failures become undecided.

Words of the command itself do not count as common words, because output can repeat them. For example, a list
of processes shows the command.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from evaluator.judges.case import Case, Executed
from evaluator.judges.consensus.collateral import changes_beyond_scratch
from evaluator.judges.consensus.usable_references import usable_references
from evaluator.judges.reasons import reason
from evaluator.records import Finding, Outcome, OutputMode, Step

_WORD: Final = re.compile(r"[^\W\d_]+|\d+")

LEAST_CONTAINED: Final = 0.6
"""Minimum share of the smaller text's distinct words that the other text must contain."""

LEAST_ALIKE: Final = 0.15
"""Minimum share of all distinct words that both texts must contain: one common word of a long listing is not enough.

Both thresholds were chosen on the even-numbered tasks of NL2SH-ALFA. Of the outputs there that differ in more than
layout, 31 of 33 from equivalent commands reach both thresholds, and 2 of 72 from commands of another task.
"""


class Printed(NamedTuple):
    """The output of a command, with the command that printed it."""

    text: bytes
    command: bytes


def has_word_overlap(left: Printed, right: Printed) -> bool:
    """Return whether two outputs share so many words that perhaps only their layout differs.

    Words of the commands themselves do not count.
    """
    left_words, right_words = (_words(printed.text) - _words(printed.command) for printed in (left, right))
    if not left_words or not right_words:
        return False
    shared, shorter = len(left_words & right_words), min(len(left_words), len(right_words))
    return shared >= LEAST_CONTAINED * shorter and shared >= LEAST_ALIKE * len(left_words | right_words)


def _words(text: bytes) -> set[str]:
    return set(_WORD.findall(text.decode(errors="replace").casefold()))


def soften_failure(case: Case, finding: Finding) -> Finding:
    """Change a failure because of different output to "undecided" if the only reference does not prove the failure.

    All other findings stay the same, and no failure becomes a pass. A command that prints nothing still fails, unless
    the reference changes files.
    """
    references = usable_references(case)
    is_by_output = finding.outcome is Outcome.FAIL and finding.step is Step.OUTPUT
    if not is_by_output or len(references) != 1 or case.task.output is not OutputMode.SET or case.candidate is None:
        return finding
    if changes_beyond_scratch(case, references[0]):
        return _doubtful(finding, "the changes are right, and only messages may differ")
    candidate, reference = (_printed(command, finding.variant) for command in (case.candidate, references[0]))
    return _doubtful(finding, "perhaps only the layout differs") if has_word_overlap(candidate, reference) else finding


def _printed(command: Executed, variant: str | None) -> Printed:
    trials = [trial for name, trial in command.trials.items() if variant in (None, name)]
    return Printed(trials[0].first.stdout.data, command.command)


def _doubtful(finding: Finding, why: str) -> Finding:
    return finding.model_copy(update={"outcome": Outcome.UNDECIDED, "reason": reason(f"{why}: {finding.reason}")})

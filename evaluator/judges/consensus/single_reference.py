"""What one reference alone cannot prove: that other output than its own is wrong.

With two references, what they share is required; with one, nothing tells which of its fields matter. So a
failure by what was printed stands only where the two texts have little in common, and where printing is what the
reference is there for: one that changes files may chatter, and another that does the same may not.

Whether two texts may be two presentations of one answer: how many words they share.

Asked only where one reference is all there is, because then nothing tells which of its fields matter, and only
to keep from calling a failure what may be another layout. What shares its words is never passed for it. Words of
the command itself are left out: a list of processes shows them, and so does every path below a folder it names.
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
"""Of the smaller text's different words, the part that the other must have."""

LEAST_ALIKE: Final = 0.15
"""Of all different words, the part that both must have, so that one word out of a long listing is not enough.

Both numbers are from the even-numbered tasks of NL2SH-ALFA. Of the outputs there that differ beyond layout,
31 of 33 of equivalent commands reach them, and 2 of 72 of commands that were taken from another task.
"""


class Printed(NamedTuple):
    """What a command printed, and the command."""

    text: bytes
    command: bytes


def has_word_overlap(left: Printed, right: Printed) -> bool:
    """True where two texts share so many words that only their layout may differ."""
    ours, theirs = (_words(each.text) - _words(each.command) for each in (left, right))
    if not ours or not theirs:
        return False
    shared = len(ours & theirs)
    return shared >= LEAST_CONTAINED * min(len(ours), len(theirs)) and shared >= LEAST_ALIKE * len(ours | theirs)


def _words(text: bytes) -> set[str]:
    return set(_WORD.findall(text.decode(errors="replace").casefold()))


def soften_failure(case: Case, finding: Finding) -> Finding:
    """The finding, or undecided where it is a failure by output that the only reference does not prove.

    No failure becomes a pass by it, so no near miss does. Whatever prints nothing has failed, unless files show
    that it did what is asked.
    """
    references = usable_references(case)
    is_by_output = finding.outcome is Outcome.FAIL and finding.step is Step.OUTPUT
    if not is_by_output or len(references) != 1 or case.task.output is not OutputMode.SET or case.candidate is None:
        return finding
    if changes_beyond_scratch(case, references[0]):
        return _doubtful(finding, "may be chatter beside the changes, which are right")
    ours, theirs = (_printed(command, finding.variant) for command in (case.candidate, references[0]))
    return _doubtful(finding, "may be another layout") if has_word_overlap(ours, theirs) else finding


def _printed(command: Executed, variant: str | None) -> Printed:
    trials = [trial for name, trial in command.trials.items() if variant in (None, name)]
    return Printed(trials[0].first.stdout.data, command.command)


def _doubtful(finding: Finding, why: str) -> Finding:
    return finding.model_copy(update={"outcome": Outcome.UNDECIDED, "reason": reason(f"{why}: {finding.reason}")})

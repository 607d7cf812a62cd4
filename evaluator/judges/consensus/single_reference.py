"""What one reference alone cannot prove: that other output than its own is wrong.

With two references, what they share is required; with one, nothing tells which of its fields matter. So a
failure by what was printed stands only where the two texts have little in common, and where printing is what the
reference is there for: one that changes files may chatter, and another that does the same may not.
"""

from __future__ import annotations

from evaluator.judges.case import Case, Executed
from evaluator.judges.consensus.collateral import changes_beyond_scratch
from evaluator.judges.consensus.usable_references import usable_references
from evaluator.judges.reasons import reason
from evaluator.judges.words import Printed, may_say_the_same
from evaluator.records import Finding, Outcome, OutputMode, Step


def with_doubt(case: Case, finding: Finding) -> Finding:
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
    return _doubtful(finding, "may be another layout") if may_say_the_same(ours, theirs) else finding


def _printed(command: Executed, variant: str | None) -> Printed:
    trials = [trial for name, trial in command.trials.items() if variant in (None, name)]
    return Printed(trials[0].first.stdout.data, command.command)


def _doubtful(finding: Finding, why: str) -> Finding:
    return finding.model_copy(update={"outcome": Outcome.UNDECIDED, "reason": reason(f"{why}: {finding.reason}")})

"""Sort the first candidates that did not pass into classes of errors, and count the classes. No class ranks.

A candidate that did not pass has the first of these classes whose definition fits. Infra-errors have no class.

1. `no command`: there is no answer, the shell cannot read the answer, or the shell does not find its first program. If
   nothing was executed, it is also an answer that no reader can parse.
2. `right text but wrong effect`: the text equals a reference after normalisation.
3. `effect right but text far`: one reference leaves the same state and prints the same words in the first variant, and
   the judge found the difference in a comparison there. So only the form of the output differs.
4. `wrong utility`: the utilities that it calls are those of no reference, as a multiset.
5. `wrong flags`: of the references with the same utilities, none has the same flags.
6. `wrong arguments`: of the references with the same utilities and flags, none has the same arguments.
7. `wrong effect`: everything else. A reference has the same calls in another order, with other pipes, redirections or
   assignments, or the answer is a script, whose calls are not compared.

The order makes each class reachable: the classes 2 and 3 look at the answer as a whole, and come before those that look
at its parts. The levels utility, flag and argument are those of the field (Lin et al. 2018, Agarwal et al. 2021). The
classes that separate text from effect follow from execution, as in the error analyses of Westenfelder et al. 2025
("LLM-Supported Natural Language to Bash Translation", NAACL) and Vo et al. 2024 ("Execution-Based Evaluation of Natural
Language to Bash and PowerShell for Incident Remediation", arXiv:2405.06807). The definitions are this project's own.
"""

from __future__ import annotations

from typing import Final

import polars as pl

from evaluator.metrics.frames import BOARD, first_candidates
from evaluator.records import CallAgreement, ErrorClass, Finding, Outcome, RunMetrics, Step, TextMetrics

_COMPARED: Final = frozenset({Step.FILES, Step.SHELL, Step.PROCESSES, Step.EXIT, Step.STDERR, Step.OUTPUT, Step.SCORE})
"""The steps of a judge that compare evidence or compute a score. Other steps decide for another reason than form: a
limit, a verifier, a panel, a maintainer, or a known mutant of a reference."""

UNCLASSIFIED: Final = frozenset({Outcome.PASS, Outcome.INFRA_ERROR, Outcome.NOT_RUN})
"""The outcomes that have no class of error."""

_BY_CALLS: Final = {
    CallAgreement.NONE: ErrorClass.UTILITY,
    CallAgreement.UTILITIES: ErrorClass.FLAGS,
    CallAgreement.FLAGS: ErrorClass.ARGUMENTS,
}


def error_class(
    finding: Finding,
    text: TextMetrics | None,
    run: RunMetrics | None,
    *,
    is_script: bool = False,
    first_variant: str | None = None,
) -> ErrorClass | None:
    """Return the class of an answer that did not pass, or None for a pass, an infra-error and a candidate not run.

    `is_script` is true for a task that asks for a script, which is a task with a driver. `run` is None if nothing was
    executed. `first_variant` is the variant that `run` describes. Without `text`, the classes that compare the text
    are left out.

    >>> failed = Finding(outcome=Outcome.FAIL, step=Step.OUTPUT)
    >>> error_class(failed, TextMetrics(calls=CallAgreement.FLAGS), None).value
    'wrong arguments'
    """
    if finding.outcome in UNCLASSIFIED:
        return None
    if _is_no_command(finding, text, run):
        return ErrorClass.NO_COMMAND
    if text is not None and text.full_command:
        return ErrorClass.RIGHT_TEXT
    if run is not None and run.same_effect and finding.step in _COMPARED and finding.variant in (None, first_variant):
        return ErrorClass.RIGHT_EFFECT
    if text is None or is_script:
        return ErrorClass.EFFECT
    return _BY_CALLS.get(text.calls, ErrorClass.EFFECT)


def _is_no_command(finding: Finding, text: TextMetrics | None, run: RunMetrics | None) -> bool:
    if finding.outcome in (Outcome.UNANSWERED, Outcome.INVALID):
        return True
    if run is None:
        return text is not None and text.calls is CallAgreement.UNREADABLE
    return not run.valid or bool(run.unknown_program)


def error_counts(frame: pl.DataFrame) -> pl.DataFrame:
    """Count the first candidates that did not pass by error class: columns suite, submission, errors.

    `errors` is a list of {name, count} with all classes in their order, or null if a candidate has no class.

        passed + infra-errors + sum of the counts = tasks asked

    Example: `head a` and `ls -l`, with references `tail a` and `ls -a`, both fail. The counts are 1 for `wrong utility`
    and `wrong flags`, and 0 for the other classes.
    """
    failed = ~pl.col("outcome").cast(pl.String).is_in([outcome.value for outcome in UNCLASSIFIED])
    numbers = {kind.value: (failed & (pl.col("error") == kind.value)).sum().cast(pl.Int64) for kind in ErrorClass}
    counts = [pl.struct(pl.lit(name).alias("name"), number.alias("count")) for name, number in numbers.items()]
    complete = pl.col("error").filter(failed).is_not_null().all()
    found = first_candidates(frame).group_by(BOARD).agg(pl.when(complete).then(pl.concat_list(counts)).alias("errors"))
    return found.sort(BOARD)

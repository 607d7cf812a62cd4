"""Check the text, missing evidence, limits and verifiers of a case. Every judge does this before its own comparison.

A verifier is a task's own program that accepts or refuses the result of a command. The check of the text comes first,
because it needs no evidence. Missing evidence comes next: it is not the candidate's fault, so the pipeline must execute
the command again.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from evaluator.judges.case import Case
from evaluator.judges.reasons import reason, shown
from evaluator.records import Ending, Evidence, Finding, Observation, Outcome, Step

_SYNTAX_ERROR: Final = re.compile(rb"^bash: -c: line \d+: .*?(syntax error|unexpected EOF).*", re.MULTILINE)
_MESSAGE_LENGTH: Final = 140
"""Length of a verifier's message inside a reason, in characters."""

_LIMITS: Final = {
    Ending.MEMORY: "exceeded the memory limit",
    Ending.DISK: "exceeded the disk limit",
    Ending.CRASH: "stopped its container",
}


def early_verdict(case: Case) -> Finding | None:
    """Return the finding of the first check that decides, or None if none of them decides.

    The checks are: the command's text, missing evidence, the limits, and the task's verifier.
    """
    missing = settle_missing(case, case.variants, case.variants)
    return settle_by_text(case) or missing or settle_by_run(case)


def settle_by_run(case: Case) -> Finding | None:
    """Return the finding if the candidate's runs decide without a comparison: a limit, or the task's verifier."""
    return _settle_by_ending(case) or _settle_by_verifier(case)


def settle_by_text(case: Case) -> Finding | None:
    """Return a finding if there is no command, or if the shell cannot receive the command. Otherwise return None."""
    if case.candidate is None:
        return Finding(outcome=Outcome.UNANSWERED, reason="no command was given")
    command = case.candidate.command
    if not command.strip():
        return Finding(outcome=Outcome.INVALID, step=Step.SYNTAX, reason="the command is empty")
    if b"\0" in command:
        return Finding(
            outcome=Outcome.INVALID,
            step=Step.SYNTAX,
            reason=f"the command contains a NUL byte at offset {command.index(0)}; an argument cannot contain one",
        )
    return None


def settle_missing(case: Case, of_candidate: Sequence[str], of_references: Sequence[str]) -> Finding | None:
    """Return an infra-error if a first run is missing, or lacks what the task observes. Otherwise return None.

    The candidate needs its runs in the variants `of_candidate`, and each reference in the variants `of_references`.
    """
    if not case.references or not case.variants:
        return _infra("no reference of the task was executed", None)
    commands = [(case.candidate, "the command", of_candidate)] if case.candidate else []
    commands += [
        (reference, f"reference {number}", of_references) for number, reference in enumerate(case.references, start=1)
    ]
    for command, name, variants in commands:
        for variant in variants:
            if variant not in command.trials:
                return _infra(f"no evidence of {name} in this variant", variant)
            lacking = _lacking(case, command.trials[variant].first)
            if lacking:
                return _infra(f"the evidence of {name} lacks {lacking}, which the task observes", variant)
    return None


def _lacking(case: Case, evidence: Evidence) -> str | None:
    if evidence.ending is not Ending.EXITED:
        return None
    if Observation.SHELL in case.task.observe and evidence.shell is None:
        return "the shell's state"
    if Observation.PROCESSES in case.task.observe and evidence.processes is None:
        return "the processes left"
    return None


def _settle_by_ending(case: Case) -> Finding | None:
    for variant, evidence in _candidate_evidence(case):
        if evidence.ending is Ending.TIMEOUT:
            return Finding(
                outcome=Outcome.TIMEOUT, step=Step.LIMIT, reason="the command exceeded the time limit", variant=variant
            )
        if evidence.ending is not Ending.EXITED:
            sentence = f"the command {_LIMITS[evidence.ending]}"
            return Finding(outcome=Outcome.FAIL, step=Step.LIMIT, reason=sentence, variant=variant)
        error = syntax_error(evidence)
        if error is not None:
            sentence = reason(f"the shell cannot read the command: {shown(error)}")
            return Finding(outcome=Outcome.INVALID, step=Step.SYNTAX, reason=sentence, variant=variant)
    return None


def syntax_error(evidence: Evidence) -> bytes | None:
    """Return the line of standard error in which bash reports a syntax error of the command, or None.

    After such an error bash exits with 2, or with 1 for an unclosed array or substitution.
    """
    if evidence.status not in (1, 2):
        return None
    for match in _SYNTAX_ERROR.finditer(evidence.stderr.data):
        if evidence.status == 2 or match[1] == b"unexpected EOF":
            return match[0]
    return None


def _settle_by_verifier(case: Case) -> Finding | None:
    if case.task.verify is None:
        return None
    for variant, evidence in _candidate_evidence(case):
        if evidence.verifier == 1:
            sentence = reason(f"the task's verifier rejects the result{_message(evidence)}")
            return Finding(outcome=Outcome.FAIL, step=Step.VERIFIER, reason=sentence, variant=variant)
        if evidence.verifier != 0:
            sentence = reason(
                f"the task's verifier ended with {evidence.verifier!r}, expected 0 or 1{_message(evidence)}"
            )
            return Finding(outcome=Outcome.INFRA_ERROR, step=Step.VERIFIER, reason=sentence, variant=variant)
    sentence = "the task's verifier accepts the result in every variant"
    return Finding(outcome=Outcome.PASS, step=Step.VERIFIER, reason=sentence)


def _message(evidence: Evidence) -> str:
    """Return a verifier's message as the end of a sentence, on one line and without control characters."""
    words = b" ".join(evidence.verifier_message.split())
    return f": {shown(words, _MESSAGE_LENGTH)}" if words else ""


def _candidate_evidence(case: Case) -> list[tuple[str, Evidence]]:
    assert case.candidate is not None  # noqa: S101 - `settle_by_text` returned otherwise
    return [(variant, case.candidate.trials[variant].first) for variant in case.variants]


def _infra(sentence: str, variant: str | None) -> Finding:
    return Finding(outcome=Outcome.INFRA_ERROR, step=Step.INFRA, reason=sentence, variant=variant)

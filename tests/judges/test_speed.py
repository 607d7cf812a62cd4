"""Judging must never be what a board waits for."""

from __future__ import annotations

import time

from evaluator.judges import Case, find_judge
from evaluator.records import Evidence, Outcome
from evaluator.testing.evidence import added, case, evidence, task

TASKS, VARIANTS, BUDGET_S = 300, 4, 1.0
"""A board of 300 different commands, three references each, must be judged within a second of CPU."""


def names(number: int) -> str:
    return "".join(f"file-{number}-{row}.txt\n" for row in range(12))


def sizes(number: int) -> str:
    return "".join(f"{row * number} ./file-{number}-{row}.txt\n" for row in range(12))


def long(number: int) -> str:
    return "".join(f"-rw-r--r-- 1 root root {row * number} Mar 14 09:30 file-{number}-{row}.txt\n" for row in range(12))


def make(number: int) -> Case:
    """One task: two of five candidates equal a reference, the others fail by files, by output, or are undecided."""
    kind = number % 5
    references: list[dict[str, Evidence]] = [{}, {}, {}]
    candidate = {}
    for variant in range(VARIANTS):
        seed, name = 7 * number + variant, f"variant-{variant}"
        changes = [added(f"/srv/{seed}-{path}", str(path)) for path in range(6)]
        for reference, shows in zip(references, (long, names, sizes), strict=True):
            reference[name] = evidence(shows(seed), changes=changes)
        printed = {3: names(seed + 1), 4: names(seed).replace("\n", " new\n")}.get(kind, sizes(seed))
        candidate[name] = evidence(printed, changes=changes[1:] if kind == 2 else changes)
    return case(references, candidate, task("set"))


def test_a_board_is_judged_within_a_second() -> None:
    cases = [make(number) for number in range(TASKS)]
    judge = find_judge("consensus").judge
    begun = time.process_time()
    found = [judge(one).outcome for one in cases]
    spent = time.process_time() - begun
    assert [found.count(outcome) for outcome in (Outcome.PASS, Outcome.FAIL, Outcome.UNDECIDED)] == [120, 120, 60]
    assert spent < BUDGET_S

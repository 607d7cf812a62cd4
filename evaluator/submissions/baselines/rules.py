"""The rule-based baseline. It finds keywords, names and numbers in an instruction and fills a command template.

It uses only the instruction of a task. The commands of the most specific rules come first.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from string import Formatter
from typing import Final

from evaluator.records import MAX_CANDIDATES, Candidate, Method, Prediction, Task
from evaluator.submissions.baselines.baseline import Baseline
from evaluator.submissions.baselines.conditions import find_tests
from evaluator.submissions.baselines.rule_table import RULES, Rule
from evaluator.submissions.baselines.slots import find_slots
from evaluator.submissions.baselines.training import TrainingPair

DOUBT: Final = 3
"""Confidence is n / (n + DOUBT) for n keywords and slots. It grows with the evidence and stays below 1."""


def translate(tasks: Sequence[Task], _: Sequence[TrainingPair]) -> list[Prediction]:
    """Return at most five commands for each task, from the most specific rules that apply to its instruction."""
    return [Prediction(task=task.id, candidates=_candidates(task.nl)) for task in tasks]


def _candidates(instruction: str) -> tuple[Candidate, ...]:
    slots = {**dict(find_slots(instruction)), "tests": " ".join(find_tests(instruction)) or "-type f"}
    applicable = [rule for rule in RULES if _applies(rule, instruction.lower(), slots)]
    weights: dict[str, int] = {}
    for rule in sorted(applicable, key=lambda rule: -_weight(rule)):
        weights.setdefault(rule.template.format_map(slots), _weight(rule))
    return tuple(
        Candidate(command=command.encode(), confidence=round(weight / (weight + DOUBT), 3))
        for command, weight in list(weights.items())[:MAX_CANDIDATES]
    )


def _applies(rule: Rule, lowered: str, slots: Mapping[str, str]) -> bool:
    return _holes(rule) <= slots.keys() and all(re.search(keyword, lowered) for keyword in rule.keywords)


def _weight(rule: Rule) -> int:
    """Return how specific a rule is. A keyword counts 2, and a slot 1. A slot that always has a value counts 0."""
    return 2 * len(rule.keywords) + len(_holes(rule) - {"directory", "tests"})


def _holes(rule: Rule) -> set[str]:
    return {name for _, name, _, _ in Formatter().parse(rule.template) if name}


RULE_BASED = Baseline(
    system="Keyword and slot rules",
    description=(
        "A translator without learning: about a hundred intents, each a few keyword expressions and a command's "
        "template whose holes are filled with paths, names, numbers, sizes and times found in the instruction. Sees a "
        "task's instruction and nothing else of it; the rules were written before the tasks were read."
    ),
    method=Method.RULES,
    predict=translate,
)

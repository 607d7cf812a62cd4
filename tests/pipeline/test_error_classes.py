"""The error class of an answer, from its text, its evidence and its verdict."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from evaluator.judges import find_judge
from evaluator.metrics.error_classes import error_class
from evaluator.metrics.texts import compare_texts
from evaluator.pipeline.grading.run_metrics import NOTHING_RUN, run_metrics_of
from evaluator.records import (
    CallAgreement,
    Ending,
    ErrorClass,
    Evidence,
    Finding,
    Outcome,
    RunMetrics,
    Step,
    Task,
    TextMetrics,
)
from evaluator.shell.call_agreement import LONGEST
from evaluator.suites.fresh_variants import FRESH
from evaluator.testing.checkouts import small_checkout, small_task
from evaluator.testing.evidence import added, case, evidence, raw
from evaluator.testing.executor import RequestedExecution, Shows, fake_boards

SCORING = (Path(__file__).parents[2] / "site" / "scoring.md").read_text("utf-8")
NO_COMMAND, TEXT, FORM = ErrorClass.NO_COMMAND, ErrorClass.RIGHT_TEXT, ErrorClass.RIGHT_EFFECT
UTILITY, FLAGS, ARGUMENTS, EFFECT = ErrorClass.UTILITY, ErrorClass.FLAGS, ErrorClass.ARGUMENTS, ErrorClass.EFFECT


def unknown(name: str) -> Evidence:
    return evidence(status=127, stderr=f"bash: line 1: {name}: command not found\n")


def file(name: str, content: str) -> Evidence:
    return evidence(changes=[added(f"/srv/{name}", content)])


SYNTAX = evidence(status=2, stderr="bash: -c: line 1: syntax error near unexpected token `|'\n")
ABSENT = evidence(status=127, stderr="bash: line 1: ./report.sh: No such file or directory\n")
TIMEOUT = evidence(ending=Ending.TIMEOUT, status=None)
MEMORY = evidence("a\n", ending=Ending.MEMORY, status=None)
LONG = " | ".join(["sort"] * (LONGEST + 1))

EXAMPLES: dict[tuple[str, str], tuple[Evidence | str, Evidence | str, ErrorClass]] = {
    ("ls -A", "list all the files"): ("a\n", unknown("list"), NO_COMMAND),
    ("shuf -n 1 a.txt > b.txt", "shuf -n 1 a.txt >b.txt"): (file("b.txt", "a\n"), file("b.txt", "b\n"), TEXT),
    ("wc -l < a.txt", "awk 'END { printf \"%5d\", NR }' a.txt"): ("7\n", "    7", FORM),
    ("sort a.txt", "tac a.txt"): ("a\nb\n", "b\na\n", UTILITY),
    ("sort -r a.txt", "sort -n a.txt"): ("b\na\n", "a\nb\n", FLAGS),
    ("head -n 5 a.txt", "head -n 10 a.txt"): ("a\n" * 5, "a\n" * 10, ARGUMENTS),
    ("sort a.txt > b.txt", "sort a.txt > c.txt"): (file("b.txt", "a\n"), file("c.txt", "a\n"), EFFECT),
}
"""The examples of the page about scoring, with the evidence of both commands."""

COMMANDS: list[tuple[str, str, Evidence | str, Evidence | str, ErrorClass]] = [
    *((*pair, *shown) for pair, shown in EXAMPLES.items()),
    ("ls", "", "a\n", "", NO_COMMAND),
    ("ls", " \n", "a\n", "", NO_COMMAND),
    ("ls", "ls\0", "a\n", "", NO_COMMAND),
    ("ls", "ls | | wc", "a\n", SYNTAX, NO_COMMAND),
    ("ls", "./report.sh", "a\n", ABSENT, NO_COMMAND),
    ("ls", "lss && ls", "a\n", unknown("lss"), NO_COMMAND),
    ("ls", "true && lss", "a\n", unknown("lss"), UTILITY),
    ("ls a | wc -l", "lss a | wc -l", "1\n", evidence("0\n", stderr="bash: line 1: lss: command not found\n"), UTILITY),
    ("ls", "bash -c lss", "a\n", unknown("lss"), UTILITY),
    ("ls", "ls -R", "a\n", TIMEOUT, FLAGS),
    ("ls", "ls -R", "a\n", MEMORY, FLAGS),
    ("yes | head > a", "yes | head >a", file("a", "y"), TIMEOUT, TEXT),
    ("printf a", "echo -n a", "a", " a ", FORM),
    ("printf a", "printf b", "a", "b", ARGUMENTS),
    ("sort a && wc a", "sort a || wc a", "a\n", "b\n", EFFECT),
    ("sort a | uniq", "uniq a | sort", "a\n", "b\n", ARGUMENTS),
    ("sort | uniq", "uniq | sort", "a\n", "b\n", EFFECT),
    (LONG, "ls", "a\n", "b\n", EFFECT),
    ("ls", LONG, "a\n", "b\n", UTILITY),
]


def judged(
    task: Task, command: str, expected: Evidence | str, shown: Evidence | str | Mapping[str, Evidence | str]
) -> tuple[Finding, TextMetrics, RunMetrics]:
    """Return the verdict on a command and its metrics. `shown` may hold the evidence of the variant `fresh`."""
    variants = shown if isinstance(shown, Mapping) else {"one": shown}
    whole = case([dict.fromkeys(variants, expected)], variants, task, command=raw(command))
    published = whole.within([name for name in variants if name != FRESH])
    run = run_metrics_of(published) if command.strip() and "\0" not in command else NOTHING_RUN
    return find_judge("consensus").judge(whole), compare_texts(raw(command), task.references), run


def class_of(task: Task, *arguments: Any, **fields: Any) -> ErrorClass | None:
    return error_class(*judged(task, *arguments), first_variant="one", **fields)


@pytest.mark.parametrize(
    ("reference", "command", "expected", "shown", "kind"),
    COMMANDS,
    ids=[f"{row[0]} / {row[1]}"[:60] for row in COMMANDS],
)
def test_the_first_class_that_fits_counts(
    reference: str, command: str, expected: Evidence | str, shown: Evidence | str, kind: ErrorClass
) -> None:
    assert class_of(small_task("files-1", [reference]), command, expected, shown) is kind


def test_every_class_has_an_example_on_the_page() -> None:
    """The table of the page has the same answers and classes as the test above, one for each class."""
    section = SCORING.partition("{ #error-classes }")[2].partition("\n### ")[0]
    rows = re.findall(r"^\| `(.+?)` \| `(.+?)` \| .* \| ([a-z ]+) \|$", section, re.MULTILINE)
    assert rows == [(*pair, kind.value) for pair, (_, _, kind) in EXAMPLES.items()]
    names = re.findall(r"^\| \d \| ([a-z ]+) \|", section, re.MULTILINE)
    assert names == [kind.value for kind in ErrorClass] == [kind.value for _, _, kind in EXAMPLES.values()]


def test_the_most_similar_reference_decides() -> None:
    """The flags are wrong, because one reference has the same utility."""
    assert class_of(small_task("files-1", ["du -s", "ls -a"]), "ls -l", "a\n", "b\n") is FLAGS


def test_a_pass_an_infra_error_and_a_candidate_that_did_not_run_have_no_class() -> None:
    for outcome in (Outcome.PASS, Outcome.INFRA_ERROR, Outcome.NOT_RUN):
        assert error_class(Finding(outcome=outcome), TextMetrics(), None) is None


def test_a_missing_answer_is_no_command() -> None:
    assert error_class(Finding(outcome=Outcome.UNANSWERED), TextMetrics(), NOTHING_RUN) is NO_COMMAND


ALIKE = RunMetrics(valid=True, runnable=True, exit_zero=True, clean_stderr=True, same_effect=True)
VERDICTS = [
    (Step.OUTPUT, "one", FORM),
    (Step.FILES, "one", FORM),
    (Step.STDERR, "one", FORM),
    (Step.SCORE, None, FORM),
    (Step.OUTPUT, "two", UTILITY),
    (Step.OUTPUT, FRESH, UTILITY),
    (Step.EQUAL, None, UTILITY),
    (Step.PANEL, None, UTILITY),
    (Step.ADJUDICATION, None, UTILITY),
    (Step.VERIFIER, "one", UTILITY),
    (Step.LIMIT, "one", UTILITY),
]


@pytest.mark.parametrize(("step", "variant", "kind"), VERDICTS, ids=[f"{row[0].value} {row[1]}" for row in VERDICTS])
@pytest.mark.parametrize("outcome", [Outcome.FAIL, Outcome.UNDECIDED])
def test_only_a_comparison_in_the_first_variant_decides_for_the_form(
    step: Step, variant: str | None, kind: ErrorClass, outcome: Outcome
) -> None:
    """Other steps have another reason, such as a known mutant. The run metrics describe no other variant."""
    finding = Finding(outcome=outcome, step=step, variant=variant)
    assert error_class(finding, TextMetrics(calls=CallAgreement.NONE), ALIKE, first_variant="one") is kind


def test_stored_output_is_not_the_right_effect() -> None:
    """A command that prints what it stored has the words of the reference in the published variants only."""
    task = small_task("files-1", ["ls"])
    shown = {"one": "a b\n", FRESH: "a b\n"}
    whole = case([{"one": "a b\n", FRESH: "c d\n"}], shown, task, command=b"echo a b")
    finding, run = find_judge("consensus").judge(whole), run_metrics_of(whole.within(["one"]))
    assert (finding.outcome, finding.variant, run.same_effect) == (Outcome.FAIL, FRESH, True)
    assert error_class(finding, compare_texts(b"echo a b", task.references), run, first_variant="one") is UTILITY


def test_a_script_has_no_class_by_its_calls() -> None:
    """A task with a driver asks for a script. A script with a syntax error is still no command."""
    task = small_task("files-1", ["ls -l"], driver=b"/srv/a", answer="/srv/a")
    assert class_of(task, "ls -a", "a\n", "b\n", is_script=True) is EFFECT
    assert class_of(task, "ls |", "a\n", SYNTAX, is_script=True) is NO_COMMAND
    assert class_of(task, "ls -a", "a\n", " a\n", is_script=True) is FORM
    assert class_of(task, "ls -a", "a\n", unknown("ls"), is_script=True) is EFFECT


def test_a_judge_of_texts_gives_classes_of_texts() -> None:
    """Without a run, an answer that no parser reads is no command."""
    failed = Finding(outcome=Outcome.FAIL, step=Step.SCORE)
    for command, kind in (("ls |", NO_COMMAND), ("ls -a", FLAGS), ("du", UTILITY), ("ls  -l", TEXT)):
        assert error_class(failed, compare_texts(command.encode(), [b"ls -l"]), None) is kind


def test_metrics_without_a_comparison_give_the_other_classes() -> None:
    """The metrics of a command that nothing ran do not tell the first program and the effect."""
    early = RunMetrics(valid=True, runnable=False, exit_zero=False, clean_stderr=False)
    failed = Finding(outcome=Outcome.FAIL, step=Step.OUTPUT)
    assert error_class(failed, TextMetrics(calls=CallAgreement.FLAGS), early) is ARGUMENTS


def shows(call: RequestedExecution) -> Shows:
    if call.command == "lost":
        return unknown("lost")
    return "no\n" if call.command == "wrong" else "yes\n"


def test_results_and_standings_have_the_classes(tmp_path: Path) -> None:
    """Each result has its class. The counts of a row, the passes and the infra-errors add up to the tasks asked."""
    tasks = [small_task(f"files-{number}") for number in range(1, 6)]
    answers = {"files-1": ["right"], "files-2": ["wrong", "lost"], "files-3": ["lost"], "files-4": [" "]}
    (board,) = fake_boards(small_checkout(tmp_path, tasks, {"one": answers}), shows)
    found = {(row.task, row.rank): row.error for row in board.results}
    assert found == {
        ("files-1", 1): None,
        ("files-2", 1): UTILITY,
        ("files-2", 2): NO_COMMAND,
        ("files-3", 1): NO_COMMAND,
        ("files-4", 1): NO_COMMAND,
        ("files-5", 1): NO_COMMAND,
    }
    (row,) = board.standings
    assert {kind: count for kind, count in row.figures.errors.items() if count} == {NO_COMMAND: 3, UTILITY: 1}
    assert row.passed + row.infra_errors + sum(row.figures.errors.values()) == row.asked

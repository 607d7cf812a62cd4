"""The report of a mutation test lists survivors by task, stale marks with their line, and the parts of the score."""

from __future__ import annotations

from evaluator.cli.suite_mutation import mutation_lines
from evaluator.records import (
    Equivalence,
    JudgedMutant,
    MutationReport,
    OperatorTally,
    Outcome,
    StaleEquivalence,
    TaskTally,
    WorldTally,
)


def mutant(command: bytes, outcome: Outcome = Outcome.PASS, reason: str = "") -> JudgedMutant:
    return JudgedMutant(
        task="files-1", reference=2, operator="drop-flag", command=command, outcome=outcome, reason=reason
    )


STALE = StaleEquivalence(
    mark=Equivalence(format=1, task="files-0", task_digest="0" * 64, command_digest="1" * 64, because="the same"),
    line=7,
    reason="the suite has no such task",
)
REPORT = MutationReport(
    suite="core",
    tasks=1,
    mutants=10,
    failed=6,
    survived=1,
    undecided=1,
    equivalent=2,
    refused=3,
    infra=0,
    score=6 / 8,
    marked_share=0.2,
    operators=(OperatorTally(operator="drop-flag", mutants=10, failed=6, survived=1, undecided=1, equivalent=2),),
    survivors=(mutant(b"ls\nrm \x1b[31mx"), mutant(b"ls -a", Outcome.UNDECIDED, "shows more")),
    stale=(STALE,),
)


def test_survivors_stand_under_their_task_with_operator_reference_and_what_was_said() -> None:
    lines = list(mutation_lines(REPORT))
    assert lines[:2] == ["files-1:", "  drop-flag of reference 2: passes"]
    assert "  drop-flag of reference 2: undecided: shows more" in lines
    assert lines.count("files-1:") == 1


def test_a_mutant_s_lines_stay_lines_and_its_control_characters_are_shown() -> None:
    lines = list(mutation_lines(REPORT))
    assert lines[2] == "      ls"
    assert "\x1b" not in "".join(lines)


def test_a_stale_mark_is_told_at_its_line_with_what_to_do() -> None:
    told = "equivalent.jsonl:7: files-0: the suite has no such task: remove the mark"
    assert told in list(mutation_lines(REPORT))


def test_weak_tasks_and_worlds_are_told_with_their_score() -> None:
    counts = {"mutants": 10, "failed": 6, "survived": 1, "undecided": 1, "equivalent": 2}
    weak = REPORT.model_copy(
        update={"worlds": (WorldTally(world="museum", **counts),), "weak": (TaskTally(task="files-1", **counts),)}
    )
    lines = list(mutation_lines(weak))
    assert [line.split()[-1] for line in lines if line.startswith(("museum", "files-1 "))] == ["75.0%", "75.0%"]
    assert any(line.startswith("below 90%") for line in lines)
    sampled = list(mutation_lines(REPORT.model_copy(update={"sample": 4})))
    assert any(line.startswith("10 mutants in 1 tasks, at most 4 of each: ") for line in sampled)


def test_the_score_is_told_with_its_parts_and_too_many_marks_are() -> None:
    lines = list(mutation_lines(REPORT))
    assert "mutation score: 75.0% = 6 / (10 - 2)" in lines
    assert "not counted: 3 that bash refuses, 0 that our machinery failed on" in lines
    assert lines[-1] == "too many are marked equivalent: expected at most 10% of the mutants"
    assert not REPORT.is_clean

"""The benchmark of `bashboard submit collect` runs the real command on files in every form of replies."""

from __future__ import annotations

from pathlib import Path

import pytest

from evaluator.errors import InfraError
from evaluator.pipeline.benchmarks.reply_benchmark import REPLY_FORMS, bench_collect, reply_lines
from evaluator.progress import NullProgress
from evaluator.reply_forms import Unanswered
from evaluator.submissions.reply_lines import collect_predictions
from evaluator.testing.checkouts import small_checkout, small_task

TASKS = [f"task-{number}" for number in range(4)]


@pytest.mark.parametrize("form", REPLY_FORMS)
def test_every_form_has_answers_after_requests_that_were_cut_off(form: str) -> None:
    lines = "".join(reply_lines(form, TASKS, 12)).encode().splitlines(keepends=True)
    failed = collect_predictions(Path("f"), b"".join(lines[:8]), TASKS)
    assert failed.lines == {}
    assert set(failed.unanswered.values()) == {Unanswered.CUT_OFF, Unanswered.REASONING}
    found = collect_predictions(Path("f"), b"".join(lines), TASKS)
    assert sorted(found.lines) == TASKS
    assert all(line.count("_tokens") == (0 if form == "plain" else 2) for line in found.lines.values())


@pytest.mark.slow
def test_a_row_has_the_cost_of_one_file(tmp_path: Path) -> None:
    project = small_checkout(tmp_path, [small_task(task) for task in TASKS], {})
    costs = bench_collect(project, NullProgress(), suite="tiny", forms=["plain", "gemini"], sizes=[3, 9])
    assert [(cost.form, cost.lines, cost.answered) for cost in costs] == [
        *(("plain", 3, 3), ("plain", 9, 4), ("gemini", 3, 3), ("gemini", 9, 4)),
    ]
    assert all(cost.cpu_s > 0 and cost.peak_mb > 0 for cost in costs)


@pytest.mark.slow
def test_replies_without_an_answer_are_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    project = small_checkout(tmp_path, [small_task("task-0")], {})
    monkeypatch.setitem(REPLY_FORMS, "plain", lambda task, _text, _cut: {"task": task, "output": ""})
    with pytest.raises(InfraError, match="did not find 1 answer of plain"):
        bench_collect(project, NullProgress(), suite="tiny", forms=["plain"], sizes=[1])

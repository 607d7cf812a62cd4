"""`bashboard score SLUG` prints the rank on the whole board, or no rank if another submission lacks verdicts."""

from __future__ import annotations

import json
from typing import Any

import pytest

from evaluator.pipeline.boards.board_set import BoardSet
from evaluator.pipeline.boards.gather import gather_boards
from evaluator.pipeline.project import Project
from evaluator.testing.checkouts import write_submission
from tests.cli.command_runs import Bashboard, run_here


def test_a_single_submission_has_its_rank_on_the_whole_board(bashboard: Bashboard) -> None:
    whole = {row["submission"]: row for row in json.loads(bashboard("standings", "--json").stdout)}
    for slug in ("lazy", "always-true"):
        assert json.loads(bashboard("score", slug, "--json").stdout) == [whole[slug]]
        shown = bashboard("score", slug).stdout
        assert "1 of 3 shown, ranked among all" in shown
        assert [line.split()[2] for line in shown.splitlines()[2:] if line.split()[2] in whole] == [slug]
    assert whole["lazy"]["rank_high"] > 1


def test_there_is_no_rank_if_another_submission_lacks_verdicts(judged: Project) -> None:
    write_submission(judged.root, "neighbour", {"files-1": ["another"], "files-2": ["command"]})
    found = run_here(judged.root, "score", "lazy")
    assert found.returncode == 0
    assert "1 of 4 shown; no rank is known, because 1 other lacks verdicts on this machine" in found.stdout
    (row,) = json.loads(run_here(judged.root, "score", "lazy", "--json").stdout)
    assert (row["passed"], row["ranked"], row["rank_low"], row["tie_group"]) == (1, True, None, None)


def test_an_edited_answer_of_another_submission_hides_the_ranks_too(judged: Project) -> None:
    write_submission(judged.root, "good", {"files-1": ["echo a"], "files-2": ["another"]})
    found = run_here(judged.root, "score", "lazy", "always-true")
    assert (found.returncode, found.stderr) == (0, "")
    assert "2 of 3 shown; no rank is known" in found.stdout


def test_the_whole_board_says_nothing_of_a_part(bashboard: Bashboard) -> None:
    assert " shown" not in bashboard("score").stdout
    assert " shown" not in bashboard("score", "good", "lazy", "always-true").stdout


def test_a_board_with_all_its_submissions_is_made_once(judged: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only rows that another submission may outrank need the other submissions."""
    made: list[object] = []

    def counted(*values: Any, **named: Any) -> BoardSet:
        made.append(named["suites"])
        return gather_boards(*values, **named)

    monkeypatch.setattr("evaluator.pipeline.boards.rank_among_all.gather_boards", counted)
    assert run_here(judged.root, "score", "good", "lazy", "always-true").returncode == 0
    assert made == []
    assert run_here(judged.root, "score", "good", "lazy").returncode == 0
    assert len(made) == 1

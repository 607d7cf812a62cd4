"""`bashboard corpus ladder`: the scores of the retrieval baseline's variations on held-out pairs."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

import pytest
from typer.testing import Result

from evaluator.cli import app
from evaluator.corpus.corpus_filter import filter_corpus
from evaluator.corpus.corpus_rules import NL2BASH, PLAIN
from evaluator.corpus.pair_lines import CorpusPair, corpus_pair, read_folder, written_lines
from evaluator.pipeline.maintenance.retrieval_ladder import Ladder, retrieval_ladder, split_for_ladder
from evaluator.progress import NullProgress
from tests.command_runner import CommandRunner

DATA = Path(os.environ.get("BASHBOARD_ORACLES", Path(__file__).parents[3] / "shared" / "data")) / "nl2bash"
ROOT = Path(__file__).parents[2]
STEPS = ["raw", "cleaned", "more data", "literals", "confidence"]

TRAINING = [
    corpus_pair("count the lines of the file a.txt", "wc -l a.txt"),
    corpus_pair("show the first 5 lines of b.txt", "head -n 5 b.txt"),
    corpus_pair("list all files with details", "ls -la"),
    corpus_pair("remove the folder c", "rm -r c"),
]
HELD_OUT = [
    corpus_pair("count the lines of the file z.md", "wc -l z.md"),
    corpus_pair("Count the lines of the file z.md.", "cat z.md | wc -l"),
    corpus_pair("tell me a joke", "fortune"),
]


class CountingProgress(NullProgress):
    """Counts the announced and the completed steps of each stage."""

    def __init__(self) -> None:
        self.stages: list[list[int]] = []

    def stage(self, name: str, total: int) -> None:
        self.stages.append([total, 0])

    def advance(self) -> None:
        self.stages[-1][1] += 1


def climbed(further: list[CorpusPair], most: int = 100) -> Ladder:
    return retrieval_ladder(TRAINING, HELD_OUT, further, PLAIN, most, NullProgress())


def corpus(*arguments: str | Path) -> Result:
    return CommandRunner().invoke(app, ["corpus", *map(str, arguments)])


def test_an_instruction_is_asked_once_with_all_its_commands() -> None:
    found = climbed([])
    assert (found.training, found.held_out, found.instructions, found.asked) == (4, 3, 2, 2)
    assert [step.name for step in found.steps] == STEPS
    assert [step.published for step in found.steps] == [0.361, None, None, None, 0.472]
    assert found.steps[0].score == pytest.approx((1 - 1) / 2)


def test_further_pairs_raise_the_third_step_unless_they_share_a_text_with_a_held_out_pair() -> None:
    joke = corpus_pair("please tell me a joke", "fortune -s")
    with_joke = climbed([joke])
    assert (with_joke.further, with_joke.steps[2].pairs) == (1, 5)
    assert with_joke.steps[1].score == climbed([]).steps[1].score < with_joke.steps[2].score
    shared = [corpus_pair("tell me  A joke", "echo ha"), corpus_pair("say something funny", "fortune")]
    assert climbed(shared).further == 0


def test_the_largest_number_of_questions_is_kept_and_the_same_ones_are_asked_each_time() -> None:
    assert climbed([], most=1).asked == 1
    assert climbed([], most=1) == climbed([], most=1)


def test_each_stage_completes_as_many_steps_as_it_announced() -> None:
    progress = CountingProgress()
    retrieval_ladder(TRAINING, HELD_OUT, [], PLAIN, 100, progress)
    assert progress.stages == [[4, 4], [2, 2]] * 4 + [[4, 4], [6, 6]]


@pytest.mark.slow
def test_the_ladder_of_the_projects_own_pairs_is_printed() -> None:
    ended = corpus("ladder")
    rows = [line.split() for line in ended.stdout.splitlines()]
    assert ended.exit_code == 0
    assert rows[0][-3:] == ["held-out", "instructions", "answered"]
    assert [line[:12].strip() for line in ended.stdout.splitlines()[2:7]] == STEPS
    assert rows[2][-1] == "0.361"
    assert rows[6][-1] == "0.472"
    assert [rows[number][-2 if number in (2, 6) else -1] for number in range(2, 7)] == documented_scores()
    pairs = [int(rows[number][-3 if number in (2, 6) else -2]) for number in range(2, 7)]
    assert pairs[0] == pairs[1] < pairs[2] / 2 < pairs[2] == pairs[3] == pairs[4]


def documented_scores() -> list[str]:
    """The scores on the project's own pairs alone that `site/scoring.md` states."""
    text = " ".join((ROOT / "site" / "scoring.md").read_text("utf-8").split())
    match = re.search(r"On these [\d,]+ pairs alone, .*? the steps score ([−\d.]+(?:(?:, | and )[−\d.]+){4})", text)
    assert match, "site/scoring.md does not state the scores of the five steps on the project's own pairs"
    return [score.rstrip(".").replace("−", "-") for score in re.split(r", | and ", match[1])]


def test_the_site_states_the_number_of_the_projects_pairs() -> None:
    count = len((ROOT / "fixtures" / "train" / "pairs.jsonl").read_text("utf-8").splitlines())
    text = " ".join((ROOT / "site" / "scoring.md").read_text("utf-8").split())
    assert f"The further pairs are the {count:,} of this project. On these {count:,} pairs alone" in text


@pytest.mark.slow
def test_a_folder_of_a_split_keeps_its_parts(tmp_path: Path) -> None:
    for name, pairs in (("train", TRAINING), ("dev", HELD_OUT[:1]), ("test", HELD_OUT[1:])):
        (tmp_path / f"{name}.jsonl").write_text("".join(written_lines(pairs)))
    more = tmp_path / "more.jsonl"
    more.write_text("".join(written_lines([corpus_pair("please tell me a joke", "fortune -s")])))
    found: dict[str, Any] = json.loads(corpus("ladder", "--pairs", tmp_path, "--more", more, "--json").stdout)
    assert (found["training"], found["held_out"], found["further"]) == (4, 3, 1)
    default = json.loads(corpus("ladder", "--pairs", tmp_path, "--json").stdout)
    assert default["further"] > 500


@pytest.mark.parametrize(
    ("training", "held_out", "message"),
    [
        ([], HELD_OUT, "no training pair has an instruction with a word"),
        ([corpus_pair("?", "ls")], HELD_OUT, "no training pair has an instruction with a word"),
        (TRAINING, [], "no held-out pair has an instruction with a word"),
        (
            [corpus_pair("list files", "ls | | wc")],
            HELD_OUT,
            "no training pair of the step `cleaned` has an instruction",
        ),
    ],
)
def test_a_part_without_words_is_refused(
    tmp_path: Path, training: list[CorpusPair], held_out: list[CorpusPair], message: str
) -> None:
    for name, pairs in (("train", training), ("dev", []), ("test", held_out)):
        (tmp_path / f"{name}.jsonl").write_text("".join(written_lines(pairs)))
    ended = corpus("ladder", "--pairs", tmp_path)
    assert (ended.exit_code, message in ended.stderr) == (2, True), ended.stderr


@pytest.mark.skipif(not DATA.exists(), reason="NL2Bash is not here: set BASHBOARD_ORACLES to a folder with it")
def test_the_ladder_of_nl2bash_begins_like_the_published_one_and_rises_with_each_step_but_more_data() -> None:
    kept = filter_corpus(read_folder(DATA), NL2BASH).kept
    own = Path(__file__).parents[2] / "fixtures" / "train" / "pairs.jsonl"
    further = [corpus_pair(**json.loads(line)) for line in own.read_text().splitlines()]
    found = retrieval_ladder(*split_for_ladder(kept, NL2BASH, 1), further, NL2BASH, 300, NullProgress())
    raw, cleaned, more_data, literals, confidence = (step.score for step in found.steps)
    assert raw < cleaned < literals < confidence
    assert more_data == pytest.approx(cleaned, abs=0.01)  # our pairs are unlike those of NL2Bash
    assert raw == pytest.approx(0.361, abs=0.06)
    assert confidence - raw > 0.05

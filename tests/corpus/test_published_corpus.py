"""The published figures of NL2Bash, computed from the published corpus if it is available.

The figures are from Lin et al. 2018, "NL2Bash: A Corpus and Semantic Parser for Natural Language Interface to the Linux
Operating System", tables 4 and 5, and from the README of its repository.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from evaluator.corpus.corpus_filter import FilteredCorpus, filter_corpus
from evaluator.corpus.corpus_rules import NL2BASH
from evaluator.corpus.corpus_split import split_corpus
from evaluator.corpus.corpus_statistics import corpus_statistics
from evaluator.corpus.pair_lines import read_folder

DATA = Path(os.environ.get("BASHBOARD_ORACLES", Path(__file__).parents[3] / "shared" / "data")) / "nl2bash"
pytestmark = pytest.mark.skipif(
    not DATA.exists(), reason="NL2Bash is not here: set BASHBOARD_ORACLES to a folder with it"
)

PUBLISHED = {
    "pairs": 9305,
    "instructions": 8559,
    "words_per_instruction": 11.7,
    "commands": 7587,
    "tokens": 6234,
    "tokens_per_command": 7.7,
    "commands_per_token": 11.5,
    "utilities": 102,
    "flags": 206,
    "reserved_tokens": 15,
    "commands_per_utility": 155.0,
    "commands_per_flag": 101.7,
    "commands_per_instruction": 1.09,
    "instructions_per_command": 1.23,
}
WITHOUT_SPELLING = {"words": 7790, "instructions_per_word": 14.0}
"""Here the authors' correction of spelling errors counts, which this project does not have."""


@pytest.fixture(scope="module")
def filtered() -> FilteredCorpus:
    pairs = read_folder(DATA)
    assert len(pairs) == 12_607
    return filter_corpus(pairs, NL2BASH)


def test_the_figures_of_the_filtered_corpus_are_within_one_percent_of_the_published_ones(
    filtered: FilteredCorpus,
) -> None:
    found = {
        name: value["mean"] if isinstance(value, dict) else value
        for name, value in corpus_statistics(filtered.kept, NL2BASH).as_dict().items()
    }
    assert {name: found[name] for name in PUBLISHED} == pytest.approx(PUBLISHED, rel=0.01)
    assert {name: found[name] for name in WITHOUT_SPELLING} == pytest.approx(WITHOUT_SPELLING, rel=0.025)


@pytest.mark.parametrize("path", ["evaluator/corpus/corpus_rules.py", "CONTRIBUTING.md", "site/scoring.md"])
def test_texts_name_the_number_of_pairs_that_the_rules_keep(filtered: FilteredCorpus, path: str) -> None:
    text = (Path(__file__).parents[2] / path).read_text()
    assert set(re.findall(r"9,30\d", text)) - {f"{PUBLISHED['pairs']:,}"} == {f"{len(filtered.kept):,}"}


def test_no_text_of_the_corpus_is_in_two_parts(filtered: FilteredCorpus) -> None:
    found = split_corpus(filtered.kept, NL2BASH)
    commands = [{pair.command for pair in part} for part in found[:3]]
    instructions = [{pair.nl for pair in part} for part in found[:3]]
    for texts in (commands, instructions):
        assert not texts[0] & texts[1]
        assert not (texts[0] | texts[1]) & texts[2]
    assert len(found.train) / (len(found.dev) + len(found.test)) == pytest.approx(5, rel=0.01)
    assert len(found.dev) == pytest.approx(100, abs=5)

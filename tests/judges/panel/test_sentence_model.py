"""Embeddings that this machine computes: the published numbers of the model, and a machine without it."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from evaluator.errors import MissingError
from evaluator.judges.panel.estimate import estimate
from evaluator.judges.panel.panel import Panel
from evaluator.judges.panel.reply_cache import ReplyCache
from evaluator.judges.panel.sentence_model import is_installed, sentence_embedding
from evaluator.judges.panel.settings import LOCAL_EMBEDDINGS, PanelSettings
from evaluator.model_server.budget import Budget
from evaluator.model_server.embedding_text import cosine, encode
from evaluator.progress import NullProgress
from evaluator.records import Finding, Outcome
from tests.judges.panel.panel_harness import undecided

installed = pytest.mark.skipif(not is_installed(), reason="not on this machine: make embed")
SETTINGS = PanelSettings(embeddings=LOCAL_EMBEDDINGS)


def decide(folder: Path, *, computes: bool, candidate: str = "c\n") -> Finding:
    cache = ReplyCache(folder / "panel.jsonl")
    panel = Panel(SETTINGS, cache, Budget(), NullProgress(), computes=computes)
    try:
        (finding,) = panel.decide([undecided("exec-embed", candidate, references=["a list of files\n", "b\n"])])
    finally:
        cache.close()
    return finding


@installed
def test_the_cosines_are_those_of_the_models_makers() -> None:
    """The documentation of the library sentence-transformers has these cosines for this model."""
    texts = ("The weather is lovely today.", "It's so sunny outside!", "He drove to the stadium.")
    vectors = [encode(sentence_embedding(text)) for text in texts]
    cosines = [round(cosine(one, other), 4) for one, other in combinations(vectors, 2)]
    assert cosines == pytest.approx([0.6660, 0.1046, 0.1411], abs=0.0002)


@installed
def test_a_text_beyond_the_models_length_is_cut() -> None:
    long = "list all files " * 500
    assert sentence_embedding(long) == sentence_embedding(long + "and remove them")
    assert len(sentence_embedding("")) == 384


@installed
def test_the_panel_computes_once_and_decides_again_from_the_cache(tmp_path: Path) -> None:
    first = decide(tmp_path, computes=True, candidate="a list of the files\n")
    assert first.outcome is Outcome.PASS
    kept = (tmp_path / "panel.jsonl").read_bytes()
    assert kept.count(b"\n") == 3
    assert decide(tmp_path, computes=False, candidate="a list of the files\n") == first
    assert (tmp_path / "panel.jsonl").read_bytes() == kept


@pytest.mark.skipif(is_installed(), reason="this machine has the model")
def test_a_machine_without_the_model_is_told_the_command(tmp_path: Path) -> None:
    with pytest.raises(MissingError, match="run: make embed"):
        decide(tmp_path, computes=True)


def test_a_replay_computes_nothing(tmp_path: Path) -> None:
    finding = decide(tmp_path, computes=False)
    assert finding.outcome is Outcome.UNDECIDED
    assert finding.reason.endswith("embeddings were not computed")


def test_a_model_on_this_machine_costs_no_call(tmp_path: Path) -> None:
    assert estimate(SETTINGS, ReplyCache(tmp_path / "panel.jsonl"), [undecided("embed")]) == (0, 0)


@pytest.mark.parametrize(
    "fields",
    [
        {"embeddings": {"name": "another", "local": True}},
        {"embeddings": {"name": "all-MiniLM-L6-v2", "local": True, "base_url": "http://host/v1"}},
        {"embeddings": "vectors"},
        {"models": ["one"]},
    ],
)
def test_settings_without_a_server_are_only_for_this_machine(fields: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        PanelSettings(**fields)

"""A panel that uses the test's own server and a persistent reply cache."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from evaluator.judges.panel.panel import Panel, Undecided
from evaluator.judges.panel.reply_cache import ReplyCache
from evaluator.judges.panel.settings import PanelSettings
from evaluator.model_server.budget import Budget
from evaluator.progress import NullProgress
from evaluator.records import Finding, Outcome, Step
from evaluator.testing.evidence import case

KEY = "a-key-that-nobody-may-see"
OPEN = Finding(outcome=Outcome.UNDECIDED, step=Step.OUTPUT, reason="references do not align")


def undecided(judge: str = "consensus", candidate: Any = "c\n", finding: Finding = OPEN, **fields: Any) -> Undecided:
    """Return an undecided item: two references in one variant, and a candidate with another output."""
    own, evidence = fields.pop("own", ()), fields.pop("evidence", "e" * 64)
    references = fields.pop("references", ["a\n", "b\n"])
    return Undecided(judge, case(references, candidate, **fields), finding, evidence, own)


class PanelHarness:
    """Runs panels over one reply cache. Each `decide` is a new run with a new panel."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "panel.jsonl"
        self.budget = Budget()
        self.panel: Panel

    def decide(
        self,
        url: str,
        items: Sequence[Undecided],
        *,
        key: str | None = KEY,
        budget: Budget | None = None,
        **settings: Any,
    ) -> list[Finding]:
        """Return the findings of one run. `panel` and `budget` are those of the last run."""
        values = {"models": ("one",), "votes": 1, "pause_s": 0.01, "embeddings": "vectors", **settings}
        reply_cache = ReplyCache(self.path)
        self.budget = budget or Budget()
        self.panel = Panel(PanelSettings(base_url=url, **values), reply_cache, self.budget, NullProgress(), key=key)
        try:
            return self.panel.decide(items)
        finally:
            reply_cache.close()

    @property
    def lines(self) -> list[bytes]:
        """Return the lines of the reply cache's file."""
        return self.path.read_bytes().splitlines() if self.path.exists() else []

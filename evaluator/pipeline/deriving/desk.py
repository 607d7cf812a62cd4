"""What is planned, judged and checked with: the store and the panel of a checkout, open for one command."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import NamedTuple

from evaluator.judges.panel.budget import Budget
from evaluator.judges.panel.panel import Panel
from evaluator.judges.panel.settings import KEY_VARIABLE
from evaluator.pipeline.grading.llm_panel import REPLAY, PanelUse, open_panel
from evaluator.pipeline.project import Project
from evaluator.pipeline.publishing.derive import Panels
from evaluator.progress import Progress, Silence
from evaluator.store import Store


class Desk(NamedTuple):
    """The project's store, and its panel where it has one."""

    store: Store
    panels: Panels | None


@contextlib.contextmanager
def open_desk(project: Project, progress: Progress, use: PanelUse = REPLAY) -> Iterator[Desk]:
    """What is planned, judged and checked with; the panel buys where `use` has a key."""
    with contextlib.closing(Store(project.store_path)) as store, _open_panels(project, progress, use) as panels:
        yield Desk(store, panels)


@contextlib.contextmanager
def _open_panels(project: Project, progress: Progress, use: PanelUse = REPLAY) -> Iterator[Panels | None]:
    """The project's panel as publishing uses it, None where it has none; it buys where `use` has a key."""
    with open_panel(project, progress, use) as panel:
        if panel is None:
            yield None
            return
        replay = Panel(panel.settings, panel.ledger, Budget(), Silence())
        yield Panels(replay, panel if use.environment.get(KEY_VARIABLE) else None)

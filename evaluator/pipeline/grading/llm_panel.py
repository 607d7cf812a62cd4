"""Ask the panel, a group of models, about undecided answers, and store the panel's decisions.

Grading itself asks no model, so its verdicts are the same with and without a panel. A verdict of the panel has another
cache key, which also depends on the models that vote. Only decided verdicts are stored, so an undecided verdict never
replaces a decided one. The modules that call models are imported only if there is a panel.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from evaluator.errors import MissingError, UsageError
from evaluator.judges import EvidenceNeed
from evaluator.judges.panel.model_judges import BY_MODEL
from evaluator.judges.panel.reply_cache import ReplyCache
from evaluator.judges.panel.settings import (
    EMBEDDINGS_KEY_VARIABLE,
    KEY_VARIABLE,
    LOCAL_EMBEDDINGS,
    PanelSettings,
)
from evaluator.model_server.budget import Budget
from evaluator.pipeline.grading.cache_keys import GradingItem, key_of
from evaluator.pipeline.grading.grader import Grader, PanelPlan
from evaluator.pipeline.project import Project
from evaluator.progress import Progress
from evaluator.records import Finding, Outcome, Result, Step, digest_of
from evaluator.wording import pluralize

if TYPE_CHECKING:
    from evaluator.judges.panel.panel import Panel, Undecided
    from evaluator.judges.panel.reply_cache import Reply

LEDGER: Final = "panel.jsonl"
"""The file name of the reply cache, next to the store."""

KEYS: Final = (KEY_VARIABLE, EMBEDDINGS_KEY_VARIABLE)
"""The environment variables that hold secret keys."""

NO_MODEL: Final = """[tool.bashboard.panel] of pyproject.toml names no model; write there, for example:
[tool.bashboard.panel]
base_url = "http://127.0.0.1:8080/v1"
models = ["the-model-it-serves"]
The judges `embed` and `exec-embed` need no server after: make embed"""
"""The error for a project without a panel, with an example of its settings."""


_BY_MODEL: Final = frozenset(judge.name for judge in BY_MODEL)
_BY_CHAT: Final = frozenset({"llm", "exec-llm"})


class PanelUse(NamedTuple):
    """The settings of the panel for one run of the program.

    If `wanted` is True, the panel must be asked. If it is False, no panel is used. If it is None, the panel asks models
    if `environment` holds an API key, and otherwise decides by cached replies. `max_calls` and `max_usd` limit the
    number of model calls and their cost. None means no limit. If `local` is true, embeddings may be computed on this
    machine, by the sentence model if the settings name no other model. `prompts` are clones with
    published prompts, which replace the questions of their judges.
    """

    environment: Mapping[str, str]
    wanted: bool | None = None
    max_calls: int | None = None
    max_usd: float | None = None
    local: bool = False
    prompts: Sequence[Path] = ()


REPLAY: Final = PanelUse({})
"""Decides by cached replies alone, without asking a model."""


@contextlib.contextmanager
def open_panel(
    project: Project, progress: Progress, use: PanelUse = REPLAY, judge: str | None = None
) -> Iterator[Panel | None]:
    """Yield the project's panel, or None if the project has no panel or `use` disables the panel.

    Raises UsageError if `use` or `judge` requires a panel and no panel is configured. Raises MissingError if `use`
    requires a panel and the environment holds no key.
    """
    settings = _settings(project, use, judge or project.settings.judge)
    if settings is None or use.wanted is False:
        yield None
        return
    from evaluator.judges.panel.panel import Panel
    from evaluator.judges.panel.published_prompts import read_prompts

    _check_prices(settings, use, judge or project.settings.judge)
    key, embeddings_key = _key(use), use.environment.get(EMBEDDINGS_KEY_VARIABLE)
    reply_cache = ReplyCache(project.store_path.with_name(LEDGER))
    budget = Budget(use.max_calls, use.max_usd)
    try:
        yield Panel(
            settings,
            reply_cache,
            budget,
            progress,
            key=key,
            embeddings_key=embeddings_key,
            computes=use.local,
            prompts=read_prompts(use.prompts) if use.prompts else None,
        )
    finally:
        reply_cache.close()


def _settings(project: Project, use: PanelUse, judge: str) -> PanelSettings | None:
    """Return the panel's settings, or None if they name no model. Raises UsageError if `judge` needs a model."""
    settings = project.settings.panel
    if use.local and (settings is None or settings.embeddings is None):
        from evaluator.judges.panel.sentence_model import is_installed

        if is_installed():
            settings = (settings or PanelSettings()).model_copy(update={"embeddings": LOCAL_EMBEDDINGS})
    is_empty = settings is None or not (settings.models or settings.embeddings)
    if (is_empty and (use.wanted or judge in _BY_MODEL)) or (judge in _BY_CHAT and not (settings and settings.models)):
        raise UsageError(NO_MODEL)
    return None if is_empty else settings


def _key(use: PanelUse) -> str | None:
    key = use.environment.get(KEY_VARIABLE) or None
    if use.wanted and key is None:
        raise MissingError(
            f"{KEY_VARIABLE} is not set, so the panel cannot be asked; if the server needs no key, run: "
            f"export {KEY_VARIABLE}=none"
        )
    return key


def _check_prices(settings: PanelSettings, use: PanelUse, judge: str) -> None:
    from evaluator.judges.panel.similarity import EMBEDDING

    models = settings.models
    if judge in EMBEDDING:
        models = (settings.embeddings.model,) if settings.embeddings else ()
    unpriced = [model.name for model in models if not model.is_priced]
    if use.max_usd is not None and unpriced:
        raise UsageError(
            f"--max-usd needs the prices of {', '.join(unpriced)}: give input_usd and output_usd per million tokens "
            "in [tool.bashboard.panel] of pyproject.toml (0 for a server of your own)"
        )


def panel_summary(panel: Panel | None) -> str | None:
    """Return one line about model calls and unreadable cached replies, or None if there is nothing to report."""
    if panel is None:
        return None
    notes = []
    if panel.stopped:
        notes.append(f"the panel stopped: {panel.stopped}; {panel.budget}, all replies are kept")
    elif panel.budget.calls:
        notes.append(f"the panel: {panel.budget}")
    if broken := panel.reply_cache.unreadable:
        notes.append(f"skipped {pluralize(broken, 'unreadable line')} of {panel.reply_cache.path}")
    return "; ".join(notes) or None


def describe_panel(panel: Panel | None, results: Iterable[Result]) -> dict[str, str]:
    """Return the entry that describes the panel on a board, or an empty dictionary if there is no panel."""
    if panel is None:
        return {}
    findings = [result.finding for result in results]
    undecided = sum(finding.outcome is Outcome.UNDECIDED for finding in findings)
    decided = sum(finding.step is Step.PANEL and finding.outcome is not Outcome.UNDECIDED for finding in findings)
    models = ", ".join(model.name for model in panel.settings.models) or "no model"
    votes = pluralize(panel.settings.votes, "vote")
    return {
        "Panel": f"{models}; {votes}; decided {decided} of {decided + undecided} answers left undecided by execution"
    }


class PanelItem(NamedTuple):
    """One answer for the panel: the submission's name and the grading item."""

    submission: str
    subject: GradingItem


def ask_panel(
    panel: Panel | None,
    grader: Grader,
    items: Iterable[PanelItem],
    findings: Mapping[GradingItem, Finding],
    own: Mapping[str, Sequence[str]],
) -> dict[PanelItem, Finding]:
    """Return the panel's findings on the undecided answers. Models are asked in the order of `items`.

    `findings` are the judge's findings. A decided answer is final and is not shown to the panel. The judge must have
    graded all `items`. `own` maps each submission to the models that the submission declares as its own.
    """
    undecided = [item for item in dict.fromkeys(items) if findings[item.subject].outcome is Outcome.UNDECIDED]
    if panel is None or not undecided:
        return {}
    parts = {item: _parts(panel, grader, item, own) for item in undecided}
    keys = {item: key_of(parts[item]) for item in undecided}
    known = {key: verdict.finding for key, verdict in grader.store.verdicts(keys.values()).items()}
    pending: dict[str, PanelItem] = {}  # answers with equal keys share one verdict
    for item, key in keys.items():
        if key not in known:
            pending.setdefault(key, item)
    if pending and grader.judge.basis is not EvidenceNeed.TEXT:
        grader.ensure_cases(item.subject for item in pending.values())
    questions = [_undecided(grader, item, findings[item.subject], own) for item in pending.values()]
    fresh = dict(zip(pending, panel.decide(questions), strict=True))
    verdicts = [
        grader.judged_verdict(grader.keys.plan_item(item.subject), fresh[key], parts[item])
        for key, item in pending.items()
        if fresh[key].outcome is not Outcome.UNDECIDED
    ]
    grader.store.add_verdicts(verdicts)
    return {item: (known | fresh)[key] for item, key in keys.items()}


def plan_panel(
    panel: Panel | None, grader: Grader, items: Iterable[PanelItem], own: Mapping[str, Sequence[str]]
) -> PanelPlan | None:
    """Count the undecided answers for the panel, and estimate the cost to ask it. Ask no model, and execute nothing."""
    if panel is None:
        return None
    from evaluator.judges.panel.estimate import estimate

    found = undecided_items(panel, grader, items, own)
    pending = [item.question for item in found.items if not item.is_decided]
    cost = estimate(panel.settings, panel.reply_cache, pending)
    return PanelPlan(len(pending), cost.calls, cost.usd)


class UndecidedItem(NamedTuple):
    """An answer that the judge left undecided. `is_decided` tells whether the store has a verdict of the panel."""

    question: Undecided
    is_decided: bool


class UndecidedItems(NamedTuple):
    """The answers that the judge left undecided, and the number of answers that are not judged yet."""

    items: tuple[UndecidedItem, ...]
    unjudged: int


def undecided_items(
    panel: Panel, grader: Grader, items: Iterable[PanelItem], own: Mapping[str, Sequence[str]]
) -> UndecidedItems:
    """Return the answers that the judge left undecided. Ask no model, and execute nothing.

    An answer without complete evidence counts as not judged.
    """
    distinct = list(dict.fromkeys(items))
    findings = grader.known(item.subject for item in distinct)
    undecided = [
        item for item in distinct if item.subject in findings and findings[item.subject].outcome is Outcome.UNDECIDED
    ]
    keys = {item: key_of(_parts(panel, grader, item, own)) for item in undecided}
    decided = grader.store.verdicts(keys.values())
    complete = set(grader.load_cached({item.subject for item in undecided}))
    judged = tuple(
        UndecidedItem(_undecided(grader, item, findings[item.subject], own), keys[item] in decided)
        for item in undecided
        if item.subject in complete
    )
    answered = [item for item in distinct if item.subject.command is not None]
    incomplete = sum(item.subject not in complete for item in undecided)
    unjudged = incomplete + sum(item.subject not in findings for item in answered)
    return UndecidedItems(judged, unjudged)


def replies_of(
    panel: Panel,
    grader: Grader,
    items: Iterable[PanelItem],
    findings: Mapping[GradingItem, Finding],
    own: Mapping[str, Sequence[str]],
) -> dict[PanelItem, tuple[Reply, ...]]:
    """Return the models' cached replies about each undecided answer. Leave out answers without replies."""
    from evaluator.judges.panel.estimate import replies_to

    replies = {}
    for item in dict.fromkeys(items):
        finding = findings[item.subject]
        if finding.outcome is Outcome.UNDECIDED:
            question = _undecided(grader, item, finding, own)
            if cached := replies_to(panel.settings, panel.reply_cache, [question]):
                replies[item] = cached
    return replies


def _parts(panel: Panel, grader: Grader, item: PanelItem, own: Mapping[str, Sequence[str]]) -> dict[str, str]:
    """Return the parts of a panel verdict's cache key: the judge's parts, the voting models, and the task's text."""
    planned = grader.keys.plan_item(item.subject)
    voters = panel.digest(grader.judge.name, own[item.submission])
    return {**planned.parts, "panel": voters, "asked": digest_of(planned.task.nl.encode())}


def _undecided(grader: Grader, item: PanelItem, finding: Finding, own: Mapping[str, Sequence[str]]) -> Undecided:
    from evaluator.judges.panel.panel import Undecided

    parts = grader.keys.plan_item(item.subject).parts
    evidence = digest_of(parts["command"].encode(), parts["references"].encode())
    return Undecided(grader.judge.name, grader.case(item.subject), finding, evidence, tuple(own[item.submission]))


class PanelPair(NamedTuple):
    """Two panels with the same settings. `asking` may ask models, and is None if no model may be asked.

    `replay` uses only cached replies, so equal replies give equal verdicts. The verdicts of `replay` are published.
    """

    replay: Panel
    asking: Panel | None = None

    @property
    def unasked(self) -> PanelPair:
        """Return a pair with the same `replay` panel, and without the `asking` panel."""
        return PanelPair(self.replay)

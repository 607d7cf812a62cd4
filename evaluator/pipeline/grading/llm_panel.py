"""The panel's part of grading: it shows undecided answers to the panel and stores the panel's decisions.

Grading itself asks no model, so its verdicts are the same with and without a panel. The panel's verdicts have keys of
their own, which also depend on the voters. Only decided verdicts are stored, so an undecided verdict never replaces a
decided one. The modules that call models are imported only if there is a panel.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

from evaluator.errors import MissingError, UsageError
from evaluator.judges import EvidenceNeed
from evaluator.judges.panel.budget import Budget
from evaluator.judges.panel.model_judges import BY_MODEL
from evaluator.judges.panel.panel import Panel
from evaluator.judges.panel.reply_cache import Reply, ReplyCache
from evaluator.judges.panel.settings import EMBEDDINGS_KEY_VARIABLE, KEY_VARIABLE, PanelSettings
from evaluator.pipeline.grading.cache_keys import GradingItem, key_of
from evaluator.pipeline.grading.grader import Grader, PanelPlan
from evaluator.pipeline.project import Project
from evaluator.progress import Progress
from evaluator.records import (
    Finding,
    Outcome,
    Result,
    Step,
    SubmissionManifest,
    digest_of,
)
from evaluator.wording import pluralize

if TYPE_CHECKING:
    from evaluator.judges.panel.panel import Panel, Undecided
    from evaluator.judges.panel.reply_cache import Reply


LEDGER: Final = "panel.jsonl"
"""The file name of the reply cache, next to the store."""

KEYS: Final = (KEY_VARIABLE, EMBEDDINGS_KEY_VARIABLE)
"""The environment variables that hold secret keys."""

_WANTED: Final = """[tool.bashboard.panel] of pyproject.toml names no model; write there, for example:
[tool.bashboard.panel]
base_url = "http://127.0.0.1:8080/v1"
models = ["the-model-it-serves"]"""


class PanelUse(NamedTuple):
    """How one run uses the panel.

    If `wanted` is True, the panel must be asked. If it is False, the panel is left out. If it is None, the panel is
    asked if `environment` holds a key, and otherwise decides by cached replies. `max_calls` and `max_usd` limit the
    spending. None sets no limit.
    """

    environment: Mapping[str, str]
    wanted: bool | None = None
    max_calls: int | None = None
    max_usd: float | None = None


REPLAY: Final = PanelUse({})
"""Decides by cached replies alone, without asking a model."""


@contextlib.contextmanager
def open_panel(
    project: Project, progress: Progress, use: PanelUse = REPLAY, judge: str | None = None
) -> Iterator[Panel | None]:
    """Open the project's panel, or None if the project has none or `use` leaves it out.

    Raises UsageError if the panel is required by `use` or `judge` and not configured, and MissingError if `use`
    requires it and there is no key.
    """
    settings = project.settings.panel
    if settings is None or not (settings.models or settings.embeddings):
        if use.wanted or (judge or project.settings.judge) in {each.name for each in BY_MODEL}:
            raise UsageError(_WANTED)
        settings = None
    if settings is None or use.wanted is False:
        yield None
        return
    from evaluator.judges.panel.panel import Panel

    _check_prices(settings, use, judge or project.settings.judge)
    key, embeddings_key = _key(use), use.environment.get(EMBEDDINGS_KEY_VARIABLE)
    reply_cache = ReplyCache(project.store_path.with_name(LEDGER))
    budget = Budget(use.max_calls, use.max_usd)
    try:
        yield Panel(settings, reply_cache, budget, progress, key=key, embeddings_key=embeddings_key)
    finally:
        reply_cache.close()


def _key(use: PanelUse) -> str | None:
    key = use.environment.get(KEY_VARIABLE) or None
    if use.wanted and key is None:
        raise MissingError(
            f"{KEY_VARIABLE} is not set, so the panel cannot be asked; a server that needs no key takes any, type: "
            f"export {KEY_VARIABLE}=none"
        )
    return key


def _check_prices(settings: PanelSettings, use: PanelUse, judge: str) -> None:
    from evaluator.judges.panel.similarity import EMBEDDING

    asked = settings.models
    if judge in EMBEDDING:
        asked = (settings.embeddings.model,) if settings.embeddings else ()
    unpriced = [model.name for model in asked if not model.is_priced]
    if use.max_usd is not None and unpriced:
        raise UsageError(
            f"--max-usd needs the prices of {', '.join(unpriced)}: give input_usd and output_usd per million tokens "
            "in [tool.bashboard.panel] of pyproject.toml (0 for a server of your own)"
        )


def panel_summary(panel: Panel | None) -> str | None:
    """Return one line about the calls and unreadable cached replies, or None if there is nothing to report."""
    if panel is None:
        return None
    told = []
    if panel.stopped:
        told.append(f"the panel stopped: {panel.stopped}; {panel.budget}, all kept")
    elif panel.budget.calls:
        told.append(f"the panel: {panel.budget}")
    if broken := panel.reply_cache.unreadable:
        lines = f"{pluralize(broken, 'line')} of {panel.reply_cache.path}"
        told.append(f"passed over {lines} that no reply can be read from")
    return "; ".join(told) or None


def describe_panel(panel: Panel | None, results: Iterable[Result]) -> dict[str, str]:
    """Return the panel's entry in the description of a board, or nothing if there is no panel."""
    if panel is None:
        return {}
    findings = [result.finding for result in results]
    left = sum(finding.outcome is Outcome.UNDECIDED for finding in findings)
    decided = sum(finding.step is Step.PANEL and finding.outcome is not Outcome.UNDECIDED for finding in findings)
    models = ", ".join(model.name for model in panel.settings.models) or "no model"
    votes = pluralize(panel.settings.votes, "vote")
    return {"Panel": f"{models}; {votes}; decided {decided} of {decided + left} answers left undecided by execution"}


class PanelItem(NamedTuple):
    """One answer: the submission and the grading item."""

    submission: str
    subject: GradingItem


def ask_panel(
    panel: Panel | None,
    grader: Grader,
    places: Iterable[PanelItem],
    findings: Mapping[GradingItem, Finding],
    own: Mapping[str, Sequence[str]],
) -> dict[PanelItem, Finding]:
    """Return the panel's findings on the undecided answers. Models are asked in the order of `places`.

    `own` names the models that each submission declares as its own. A decided finding is final and is not shown to the
    panel.
    """
    undecided = [each for each in dict.fromkeys(places) if findings[each.subject].outcome is Outcome.UNDECIDED]
    if panel is None or not undecided:
        return {}
    parts = {each: _parts(panel, grader, each.subject, own[each.submission]) for each in undecided}
    keys = {each: key_of(parts[each]) for each in undecided}
    known = {key: verdict.finding for key, verdict in grader.store.verdicts(keys.values()).items()}
    asked: dict[str, PanelItem] = {}
    for each in undecided:
        if keys[each] not in known:
            asked.setdefault(keys[each], each)
    if asked and grader.judge.basis is not EvidenceNeed.TEXT:
        grader.ensure_evidence(each.subject for each in asked.values())
    items = [_undecided(grader, each, findings[each.subject], own[each.submission]) for each in asked.values()]
    fresh = dict(zip(asked, panel.decide(items), strict=True))
    decided = [key for key, finding in fresh.items() if finding.outcome is not Outcome.UNDECIDED]
    grader.store.add_verdicts(
        [
            grader.judged_verdict(grader.keys.plan_item(asked[key].subject), fresh[key], parts[asked[key]])
            for key in decided
        ]
    )
    return {each: (known | fresh)[key] for each, key in keys.items()}


def plan_panel(
    panel: Panel | None, grader: Grader, places: Iterable[PanelItem], own: Mapping[str, Sequence[str]]
) -> PanelPlan | None:
    """Return how many undecided answers the panel would be asked about. No model is asked and nothing is executed."""
    if panel is None:
        return None
    from evaluator.judges.panel.estimate import estimate

    asked = list(dict.fromkeys(places))
    findings = grader.known(each.subject for each in asked)
    left = [each for each in asked if each.subject in findings and findings[each.subject].outcome is Outcome.UNDECIDED]
    keys = {each: key_of(_parts(panel, grader, each.subject, own[each.submission])) for each in left}
    decided = grader.store.verdicts(keys.values())
    preloaded = set(grader.load_cached({each.subject for each in left}))
    chosen = [each for each in left if keys[each] not in decided and each.subject in preloaded]
    items = [_undecided(grader, each, findings[each.subject], own[each.submission]) for each in chosen]
    found = estimate(panel.settings, panel.reply_cache, items)
    return PanelPlan(len(items), found.calls, found.usd)


def replies_of(
    panel: Panel,
    grader: Grader,
    places: Iterable[PanelItem],
    findings: Mapping[GradingItem, Finding],
    own: Mapping[str, Sequence[str]],
) -> dict[PanelItem, tuple[Reply, ...]]:
    """Return the cached replies about the undecided answers, without the answers that have none."""
    from evaluator.judges.panel.estimate import replies_to

    found = {}
    for each in dict.fromkeys(places):
        finding = findings[each.subject]
        if finding.outcome is Outcome.UNDECIDED:
            item = _undecided(grader, each, finding, own[each.submission])
            if replies := replies_to(panel.settings, panel.reply_cache, [item]):
                found[each] = replies
    return found


def results_with_panel(
    panel: Panel | None, grader: Grader, results: list[Result], manifests: Mapping[str, SubmissionManifest]
) -> list[Result]:
    """Return the results in their order, with the panel's findings on the undecided.

    First candidates are asked about first.
    """
    if panel is None:
        return results
    undecided = {
        PanelItem(result.submission, GradingItem(result.task, result.command)): result
        for result in sorted(results, key=lambda result: result.rank)
        if result.finding.outcome is Outcome.UNDECIDED
    }
    findings = {item.subject: result.finding for item, result in undecided.items()}
    own = {slug: manifest.models for slug, manifest in manifests.items()}
    decided = ask_panel(panel, grader, undecided, findings, own)
    items = (PanelItem(result.submission, GradingItem(result.task, result.command)) for result in results)
    return [
        result.model_copy(update={"finding": decided[item]}) if item in decided else result
        for item, result in zip(items, results, strict=True)
    ]


def _parts(panel: Panel, grader: Grader, subject: GradingItem, own: Sequence[str]) -> dict[str, str]:
    """Return the parts of the panel's verdict key: those of the judge's key, the voters, and the words of the task."""
    asked = digest_of(grader.suite.task(subject.task).nl.encode())
    return {**grader.keys.plan_item(subject).parts, "panel": panel.digest(grader.judge.name, own), "asked": asked}


def _undecided(grader: Grader, place: PanelItem, finding: Finding, own: Sequence[str]) -> Undecided:
    from evaluator.judges.panel.panel import Undecided

    parts = grader.keys.plan_item(place.subject).parts
    evidence = digest_of(parts["command"].encode(), parts["references"].encode())
    return Undecided(grader.judge.name, grader.case(place.subject), finding, evidence, tuple(own))


class PanelPair(NamedTuple):
    """Two panels with the same settings. `asking` may request replies. It is None if no model may be asked.

    `replay` decides by cached replies. It alone decides the published verdicts, so the same replies give the same ones.
    """

    replay: Panel
    asking: Panel | None = None

    @property
    def unasked(self) -> PanelPair:
        """Return a pair that asks no model."""
        return PanelPair(self.replay)

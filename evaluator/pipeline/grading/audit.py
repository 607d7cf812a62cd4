"""Audit verdicts that execution alone decided: ask the panel about a sample, and list its disagreements.

An audit changes no verdict. The panel sees the same question as for an undecided case, without the verdict. Each reply
is in the cache of replies, so an audit with the same sample and panel can be repeated without a request.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from evaluator.errors import UsageError
from evaluator.judges import Judge
from evaluator.judges.panel.model_judges import BY_MODEL
from evaluator.pipeline.grading.cache_keys import GradingItem
from evaluator.pipeline.grading.grader import Grader
from evaluator.pipeline.grading.llm_panel import panel_summary
from evaluator.records import MAX_SEED, Audit, AuditStratum, Finding, Outcome, Step, SuiteManifest, digest_of

if TYPE_CHECKING:
    from evaluator.judges.panel.panel import Panel, Undecided

HIDDEN_VERDICT: Final = "this is an audit: the verdict of execution is not shown"
"""The reason that the panel reads in the place of the judge's reason."""

_NOT_AUDITED: Final = frozenset({Step.SYNTAX, Step.LIMIT, Step.PANEL, Step.ADJUDICATION, Step.INFRA})


class AuditableVerdict(NamedTuple):
    """A verdict of a judge on one submission's command, with the judge's finding."""

    submission: str
    item: GradingItem
    finding: Finding

    @property
    def command(self) -> bytes:
        """Return the command."""
        return self.item.command or b""


class AuditedVerdict(NamedTuple):
    """A verdict of the sample, with the panel's finding on the same command."""

    verdict: AuditableVerdict
    panel: Finding

    @property
    def disagrees(self) -> bool:
        """Return whether the panel decided, and decided otherwise than the judge."""
        return self.panel.outcome is not Outcome.UNDECIDED and self.panel.outcome is not self.verdict.finding.outcome


@dataclass(frozen=True, slots=True)
class AuditResult:
    """The result of an audit of one suite, with every verdict of the sample."""

    audit: Audit
    audited: tuple[AuditedVerdict, ...]

    @property
    def decided(self) -> int:
        """Return the number of verdicts that the panel decided on."""
        return self.audit.passes.decided + self.audit.fails.decided

    @property
    def disagreements(self) -> tuple[AuditedVerdict, ...]:
        """Return the verdicts that the panel disagrees with."""
        return tuple(audited for audited in self.audited if audited.disagrees)

    def as_json(self) -> dict[str, Any]:
        """Return the audit and its disagreements as JSON values."""
        return {
            **self.audit.model_dump(mode="json"),
            "rate": self.audit.rate,
            "disagreements": [
                {
                    "submission": verdict.submission,
                    "task": verdict.item.task,
                    "command": verdict.command.decode(errors="backslashreplace"),
                    "judge": verdict.finding.model_dump(mode="json"),
                    "panel": panel.model_dump(mode="json"),
                }
                for verdict, panel in self.disagreements
            ],
        }


def check_auditable(judge: Judge) -> None:
    """Raise UsageError if the panel has no question about the verdicts of this judge, or gives them itself."""
    from evaluator.judges.panel.prompt import asks

    if not asks(judge.name) or judge.name in {model_judge.name for model_judge in BY_MODEL}:
        raise UsageError(f"verdicts of the judge {judge.name} cannot be audited; expected the judge consensus")


def by_execution(finding: Finding) -> bool:
    """Return whether a comparison of evidence alone passed or failed a command. A ruling is not a comparison."""
    return finding.outcome in (Outcome.PASS, Outcome.FAIL) and finding.step not in _NOT_AUDITED


def draw_sample(verdicts: Iterable[AuditableVerdict], size: int, seed: str) -> list[AuditableVerdict]:
    """Return a sample of about as many passes as fails. If one outcome is too rare, take more of the other.

    Each command for a task is drawn once, with one of its submissions. The choice depends only on `seed` and on the
    verdicts themselves, not on their order.
    """

    def rank(verdict: AuditableVerdict, *more: str) -> str:
        return digest_of(*(part.encode() for part in (seed, verdict.item.task, *more)), verdict.command)

    distinct: dict[GradingItem, AuditableVerdict] = {}
    for verdict in sorted(verdicts, key=lambda verdict: rank(verdict, verdict.submission)):
        distinct.setdefault(verdict.item, verdict)
    ordered = sorted(distinct.values(), key=rank)
    passes = [verdict for verdict in ordered if verdict.finding.outcome is Outcome.PASS]
    fails = [verdict for verdict in ordered if verdict.finding.outcome is not Outcome.PASS]
    number = min(len(passes), max(size - size // 2, size - len(fails)))
    chosen = {*passes[:number], *fails[: size - number]}
    return [verdict for verdict in ordered if verdict in chosen]


def audit_question(grader: Grader, verdict: AuditableVerdict, own: Sequence[str]) -> Undecided:
    """Return the case of a verdict as a question to the panel. The evidence must be in the grader's memory.

    `own` lists the models that the submission declares as its own.
    """
    from evaluator.judges.panel.panel import Undecided

    parts = grader.keys.plan_item(verdict.item).parts
    evidence = digest_of(parts["command"].encode(), parts["references"].encode())
    hidden = Finding(outcome=Outcome.UNDECIDED, reason=HIDDEN_VERDICT)
    return Undecided(grader.judge.name, grader.case(verdict.item), hidden, evidence, tuple(own))


class AuditPlan(NamedTuple):
    """The number of verdicts to draw from each suite, the seed of the sample, and the day that the record states."""

    sample: int
    seed: str
    day: date

    @classmethod
    def of_today(cls, sample: int, seed: str | None = None) -> AuditPlan:
        """Return a plan for today's date in UTC. By default, the date is also the seed.

        Raises UsageError if the seed is empty or too long.
        """
        if seed is not None and not 1 <= len(seed) <= MAX_SEED:
            raise UsageError(f"--seed {seed!r:.100}: expected 1 to {MAX_SEED} characters")
        today = datetime.now(UTC).date()
        return cls(sample, seed or today.isoformat(), today)


def audit_result(
    suite: SuiteManifest,
    judge: Judge,
    panel: Panel,
    plan: AuditPlan,
    population: Sequence[AuditableVerdict],
    questions: Mapping[AuditableVerdict, Undecided],
) -> AuditResult:
    """Ask the panel the questions about the sampled verdicts, and return the result. `population` has all verdicts."""
    findings = panel.decide(list(questions.values()))
    audited = tuple(AuditedVerdict(verdict, finding) for verdict, finding in zip(questions, findings, strict=True))
    audit = Audit(
        format=1,
        day=plan.day,
        suite=suite.name,
        suite_version=suite.version,
        judge=judge.name,
        judge_version=judge.version,
        seed=plan.seed,
        models=tuple(model.name for model in panel.settings.models),
        votes=panel.settings.votes,
        passes=_stratum(population, [each for each in audited if _is_pass(each.verdict)], is_pass=True),
        fails=_stratum(population, [each for each in audited if not _is_pass(each.verdict)], is_pass=False),
    )
    return AuditResult(audit, audited)


def _stratum(
    population: Sequence[AuditableVerdict], audited: Sequence[AuditedVerdict], *, is_pass: bool
) -> AuditStratum:
    return AuditStratum(
        verdicts=len({verdict.item for verdict in population if _is_pass(verdict) == is_pass}),
        sampled=len(audited),
        decided=sum(each.panel.outcome is not Outcome.UNDECIDED for each in audited),
        disagreed=sum(each.disagrees for each in audited),
    )


def _is_pass(verdict: AuditableVerdict) -> bool:
    return verdict.finding.outcome is Outcome.PASS


class AuditReport(NamedTuple):
    """The results of an audit of several suites. A suite about which the panel decided nothing has no result.

    `panel` is a summary of the requests. `failed` is true if the panel stopped because of an error.
    """

    results: tuple[AuditResult, ...]
    panel: str
    failed: bool

    def as_json(self) -> dict[str, Any]:
        """Return the report as JSON values."""
        return {"audits": [result.as_json() for result in self.results], "panel": self.panel}


def audit_report(results: Iterable[AuditResult], panel: Panel) -> AuditReport:
    """Return the report of an audit that this panel has finished."""
    note = panel_summary(panel) or "the panel: all replies were in the cache"
    return AuditReport(tuple(result for result in results if result.decided), note, panel.failed)


def audit_words(audit: Audit) -> str:
    """Return the result of an audit as one line of text."""
    strata = (("passes", audit.passes), ("fails", audit.fails))
    parts = [f"{stratum.disagreed} of {stratum.decided} {name} (of {stratum.verdicts})" for name, stratum in strata]
    rate = "" if audit.rate is None else f"; estimated rate of disagreement {audit.rate:.3f}"
    judge = f"{audit.judge} {audit.judge_version}"
    return f"{audit.suite} {audit.suite_version}, {judge}: the panel disagrees with {' and '.join(parts)}{rate}"

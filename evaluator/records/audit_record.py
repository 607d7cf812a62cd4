"""Define the record of an audit: how often a panel of models disagrees with verdicts that execution alone decided."""

from __future__ import annotations

from datetime import date
from typing import Annotated, Final, Literal, Self

from pydantic import Field, NonNegativeInt, PositiveInt, StringConstraints, model_validator

from evaluator.records.record import Record, Slug, VersionText
from evaluator.records.submissions import ShortText

MAX_SEED: Final = 64
"""Maximum length of a seed, in characters."""

Seed = Annotated[str, StringConstraints(min_length=1, max_length=MAX_SEED)]
"""The text that selects the sample of an audit."""


class AuditSettings(Record):
    """The settings of the audits in the publish workflow, from the table `[tool.bashboard.audit]` of pyproject.toml.

    Once a day, the workflow draws `sample` verdicts of each suite. `max_usd` and `max_calls` limit the cost of the
    audit of all suites, and at least one of them must be set.
    """

    sample: Annotated[int, Field(ge=1, le=10_000)] = 20
    max_usd: Annotated[float, Field(ge=0)] | None = None
    max_calls: Annotated[int, Field(ge=0)] | None = None

    @model_validator(mode="after")
    def _check_budget(self) -> Self:
        if self.max_usd is None and self.max_calls is None:
            raise ValueError("expected a budget: set max_usd, max_calls or both")
        return self


class AuditStratum(Record):
    """The verdicts of an audit with one outcome, pass or fail.

    `verdicts` is the number of such verdicts, and `sampled` the number in the sample. The panel decided on `decided` of
    the sampled verdicts, and disagreed with `disagreed` of these.
    """

    verdicts: NonNegativeInt
    sampled: NonNegativeInt
    decided: NonNegativeInt
    disagreed: NonNegativeInt

    @property
    def rate(self) -> float | None:
        """Return the share of disagreements among the decided verdicts, or None if there are none."""
        return self.disagreed / self.decided if self.decided else None


class Audit(Record):
    """One line of `site/assets/audits.jsonl`: the result of an audit of one suite's verdicts.

    `seed` selected the sample. `models` and `votes` are the panel's settings.
    """

    format: Literal[1]
    day: date
    suite: Slug
    suite_version: VersionText
    judge: ShortText
    judge_version: PositiveInt
    seed: Seed
    models: tuple[ShortText, ...]
    votes: PositiveInt
    passes: AuditStratum
    fails: AuditStratum

    @property
    def rate(self) -> float | None:
        """Return the estimated share of disagreements among all verdicts, or None if the panel decided too few.

        The rates of passes and fails are weighted by the numbers of their verdicts, because the sample contains about
        as many passes as fails.
        """
        strata = [stratum for stratum in (self.passes, self.fails) if stratum.verdicts]
        total = sum(stratum.verdicts for stratum in strata)
        rates = [stratum.rate for stratum in strata]
        known = [rate for rate in rates if rate is not None]
        if not strata or len(known) < len(strata):
            return None
        return sum(rate * stratum.verdicts for rate, stratum in zip(known, strata, strict=True)) / total

"""A submission against a person's time: how much it passes within once, twice and four times that."""

from __future__ import annotations

from evaluator.leaderboard.markup import Column, head_cell, number_cell, percent, row, table
from evaluator.records import HorizonSlice, Standing

_MEANING = {"all": "all tasks", "empirical": "of measured time", "estimated": "of estimated time"}


def horizon_part(standing: Standing) -> str:
    """A table by how people's times are known; a sentence where the submission reports no latency."""
    slices = standing.figures.horizon
    if not slices:
        return ""
    heading = '<h2 id="human-time">Against a person\'s time</h2>\n'
    untimed = standing.judged_by is not None
    if all(each.within is None for each in slices):
        return f"{heading}<p>This submission reports no latency, so nothing can be said of its time.</p>\n"
    factors = sorted({factor for each in slices for factor in each.within or {}})
    columns = [
        Column("slice", "Tasks"),
        Column("asked", "Asked", "number"),
        Column("timed", "With latency", "number"),
        *(Column(f"within-{factor}", f"Within {factor}×", "number", "% of asked") for factor in factors),
        Column("excess", "Median excess", "number", "s, of those passed"),
    ]
    caption = (
        "Tasks passed within once, twice and four times the time that a person takes. A task without a latency is not "
        "within. Excess is the time above a person's: below 0 the system is the quicker one. Latencies are "
        "the submission's own and not checked."
    )
    if untimed:
        caption += " Published verdicts hold no measured times, so a command's own time is not counted."
    return heading + table("horizon", caption, columns, (_row(each, factors) for each in slices))


def _row(part: HorizonSlice, factors: list[int]) -> str:
    shares = [(part.within or {}).get(factor) for factor in factors]
    excess = "" if part.excess_s is None else f"{part.excess_s:+.1f}".replace("-", "−")
    return row(
        head_cell(_MEANING.get(part.slice, part.slice), part.slice),
        number_cell(str(part.asked), part.asked),
        number_cell(str(part.timed), part.timed),
        *(number_cell("not known") if share is None else number_cell(percent(share), share) for share in shares),
        number_cell(excess, part.excess_s) if part.excess_s is not None else number_cell("not known"),
    )

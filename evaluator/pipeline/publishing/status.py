"""One submission's published verdicts on one suite looked at: what they lack, and what giving it takes.

A command is *new* that has no line, or whose line has another key though the file's header is today's (a ruling or a
mark changed). What was judged by another judge, environment or suite version is *stale*. A line that was edited by hand
keeps its key: so a file that is not byte for byte the one that was derived from the published evidence is derived
again, and every line that differs is named.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from evaluator.errors import Problem
from evaluator.escaping import printable
from evaluator.pipeline.deriving.comparing import Published, edited_lines, published_of
from evaluator.pipeline.grading.cache_keys import Subject
from evaluator.pipeline.grading.grader import PanelPlan
from evaluator.pipeline.project import Project
from evaluator.pipeline.publishing.derive import Derived, Dossier, Held, Panels
from evaluator.pipeline.publishing.evidence_sources import Holdings
from evaluator.records import Outcome


@dataclass(frozen=True, slots=True)
class Work:
    """What a submission's verdicts on a suite lack. Tasks stand in `new` and `changed` once for each command.

    `executions` are at least so many, where something is due; `panel` is what asking about what is at hand would take.
    `unchecked` tells that the file could not be compared with its evidence, as that is not at hand.
    """

    submission: str
    suite: str
    asked: int
    new: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    gone: int = 0
    edited: tuple[Problem, ...] = ()
    causes: tuple[str, ...] = ()
    fault: str = ""
    executions: int = 0
    panel: PanelPlan | None = None
    unchecked: bool = False

    @property
    def is_stale(self) -> bool:
        """Whether its verdicts stand by something that is not today's."""
        return bool(self.causes)

    @property
    def is_new(self) -> bool:
        """Whether publishing has something to do. Lines that are gone alone wait with what is stale."""
        gone = self.gone and not self.causes
        return bool(self.new or self.changed or self.edited or self.fault or gone)

    @property
    def words(self) -> list[str]:
        """What it lacks, in words."""
        counted = {
            "new": self.new,
            "changed by a ruling, a mark or the task": self.changed,
            "edited by hand": self.edited,
        }
        told = [f"{len(each)} {name}" for name, each in counted.items() if each]
        told += [f"{self.gone} not given any more"] if self.gone else []
        told += [f"the file does not read: {self.fault}"] if self.fault else []
        return told + list(self.causes)

    def as_json(self) -> dict[str, Any]:
        """As JSON values."""
        return {
            "submission": self.submission,
            "suite": self.suite,
            "asked": self.asked,
            "new": list(self.new),
            "changed": list(self.changed),
            "gone": self.gone,
            "edited": [{"line": each.line, "message": each.message} for each in self.edited],
            "stale": list(self.causes),
            "fault": self.fault,
            "executions": self.executions,
            "panel": self.panel._asdict() if self.panel else None,
            "unchecked": self.unchecked,
        }


@dataclass(frozen=True, slots=True)
class Look:
    """What was seen of one submission: what is published, and what to do.

    `asked` are the subjects that verdicts are to be given on. `held` and what is `derived` of it without asking anybody
    are None where they were not needed, or could not be had.
    """

    published: Published
    held: Held | None
    asked: tuple[Subject, ...]
    work: Work
    derived: Derived | None = None


def look(
    project: Project, dossier: Dossier, holdings: Holdings, panels: Panels | None = None, *, stale: bool = False
) -> Look:
    """See what a submission's verdicts lack; evidence is read only where something is due or the file was touched."""
    published = published_of(project, dossier)
    causes = (*published.causes, *_panel_causes(published, dossier, panels))
    asked = _asked(published, dossier, causes, stale=stale)
    is_open = stale and panels is not None and not causes and _has_undecided(published)
    checked = not stale and not causes
    if not asked and not is_open and not (checked and _is_to_be_checked(published, dossier, holdings)):
        return Look(published, None, (), _work(dossier, published, causes))
    held = holdings.hold(dossier)
    absent = dossier.first_runs(asked) - held.evidence.keys()
    if absent or dossier.ground.missing_references:
        work = _work(dossier, published, causes, executions=len(absent), unchecked=not asked)
        return Look(published, held, asked, work)
    derived = dossier.derive(
        held, panels.unasked if panels else None, dossier.subjects if is_open else asked, plans=True
    )
    if is_open and (found := tuple(_open_causes(published, derived))):
        causes, asked = found, asked_all(dossier)
    edited = edited_lines(published, derived) if checked else []
    work = _work(dossier, published, causes, derived=derived, asked=asked, edited=edited)
    return Look(published, held, asked, work, derived)


def asked_all(dossier: Dossier) -> tuple[Subject, ...]:
    """Every subject of a submission."""
    return tuple(dossier.subjects)


def _asked(published: Published, dossier: Dossier, causes: Sequence[str], *, stale: bool) -> tuple[Subject, ...]:
    """What verdicts are to be given on: all of a file whose header changes with it, else what is new or changed."""
    if bool(causes) if stale else bool(published.fault or (published.causes and published.new)):
        return asked_all(dossier)
    return () if stale else (*published.new, *published.changed)


def _has_undecided(published: Published) -> bool:
    lines = published.file.verdicts if published.file else ()
    return any(each.finding.outcome is Outcome.UNDECIDED for each in lines)


def _open_causes(published: Published, derived: Derived) -> Iterator[str]:
    """What of the undecided the panel was not asked about, or would decide by replies that there are by now."""
    if derived.panel is not None and derived.panel.calls:
        yield f"panel: {derived.panel.undecided} undecided that it was not asked about"
    elif decided := len(edited_lines(published, derived)):
        yield f"panel: {decided} undecided that replies which there are by now decide"


def _is_to_be_checked(published: Published, dossier: Dossier, holdings: Holdings) -> bool:
    """Whether lines are gone from today's file, or it is not the one that was derived from the published evidence."""
    return bool(published.gone) or not _is_untouched(published, dossier, holdings)


def _is_untouched(published: Published, dossier: Dossier, holdings: Holdings) -> bool:
    """Whether the file is byte for byte the one that was derived from the published evidence."""
    header = holdings.published_from(dossier.ground.suite.manifest.name, dossier.submission.slug)
    return header is not None and published.sha256 is not None and header.verdicts == published.sha256


def _panel_causes(published: Published, dossier: Dossier, panels: Panels | None) -> Iterator[str]:
    """What of the panel that decided lines is not today's."""
    if published.file is None:
        return
    voters = {each.panel for each in published.file.verdicts if each.panel is not None}
    models = dossier.submission.manifest.models
    today = panels.replay.digest(dossier.ground.judge.name, models) if panels else None
    if voters - {today}:
        number = sum(each.panel not in (None, today) for each in published.file.verdicts)
        yield f"panel: {number} decided by other models, votes or words than today's"


def _work(
    dossier: Dossier,
    published: Published,
    causes: Sequence[str],
    *,
    derived: Derived | None = None,
    asked: Sequence[Subject] = (),
    edited: Sequence[Problem] = (),
    executions: int = 0,
    unchecked: bool = False,
) -> Work:
    lacking = {each.subject for each in derived.missing} & set(asked) if derived else set()
    return Work(
        submission=dossier.submission.slug,
        suite=dossier.ground.suite.manifest.name,
        asked=len(dossier.subjects),
        new=tuple(each.task for each in published.new),
        changed=tuple(each.task for each in published.changed),
        gone=published.gone,
        edited=tuple(edited),
        causes=tuple(causes),
        fault=printable(published.fault),
        executions=executions or len(lacking),
        panel=derived.panel if derived else None,
        unchecked=unchecked and published.file is not None,
    )

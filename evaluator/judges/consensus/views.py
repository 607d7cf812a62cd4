"""Convert evidence to a comparable form: facts (a key and its value), texts, and nondeterministic fields.

`ComparableRun` is one command in one variant. `VariantRuns` holds a candidate and its references in one variant. The
judge builds both only if the simple test `same_bytes` has not decided the case.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import chain
from typing import Final

from evaluator.judges.case import Case, Executed
from evaluator.judges.consensus.collateral import scratch_leftovers
from evaluator.judges.consensus.effects import EffectKey, Facts, Ignored, changing
from evaluator.judges.consensus.exit_status import STATUS
from evaluator.judges.consensus.file_effects import FILES, has_text, set_keys
from evaluator.judges.consensus.file_facets import FileFacet
from evaluator.judges.consensus.file_rights import chosen_keys
from evaluator.judges.consensus.nondeterministic import NOTHING, Positions, Text, text_of, volatile_words
from evaluator.judges.consensus.process_effects import PROCESSES
from evaluator.judges.consensus.rows import by_line
from evaluator.judges.consensus.shell_effects import SHELL
from evaluator.judges.consensus.words_of_form import fixes_form
from evaluator.judges.reasons import shown
from evaluator.records import Ending, Evidence, Kind, Observation, OutputMode, Step, Task, Trial

_SETTABLE: Final = frozenset({FileFacet.MODE, FileFacet.OWNER})

DIMENSIONS: Final = (FILES, SHELL, PROCESSES, STATUS)
"""All evidence that is compared by facts, in the order of judging."""


@dataclass(frozen=True, slots=True)
class ComparableRun:
    """The run of one command in one variant.

    `facts` holds the effects of the run for each step of the judge. `changing` holds the keys of nondeterministic
    facts: those that differ between two runs of the command.
    """

    evidence: Evidence
    facts: Mapping[Step, Facts]
    changing: Mapping[Step, frozenset[EffectKey]]
    stdout: Text
    stderr: Text
    files: Mapping[bytes, Text]
    repeated: bool

    def is_volatile(self, step: Step | None) -> bool:
        """Return whether the two runs of the command differ in the fields that the judge compares in `step`."""
        if step is Step.OUTPUT:
            return bool(self.stdout.masked)
        if step is Step.STDERR:
            return bool(self.stderr.masked)
        texts = step is Step.FILES and any(text.masked for text in self.files.values())
        return texts or (step is not None and bool(self.changing.get(step)))


def comparable_run(trial: Trial, task: Task) -> ComparableRun:
    """Return the facts and texts of a trial's first run. Leave out evidence that the task does not compare.

    The trial's second run, if there is one, shows which fields are nondeterministic.
    """
    first, second = trial.first, _usable_second_run(trial)
    observed = [dimension for dimension in DIMENSIONS if dimension.is_observed(task)]
    facts = {dimension.step: dimension.facts(first, task) for dimension in observed}
    if second is None:
        texts = {path: _file_text(data) for path, data in _listed(first).items()}
        return ComparableRun(first, facts, {}, text_of(first.stdout), text_of(first.stderr), texts, False)
    stderr, repeated, mode = NOTHING, _listed(second), file_mode(task)
    if Observation.STDERR in task.observe:
        stderr = volatile_words(first.stderr.data, second.stderr.data, OutputMode.LINES)
    return ComparableRun(
        evidence=first,
        facts=facts,
        changing={
            dimension.step: changing(facts[dimension.step], dimension.facts(second, task)) for dimension in observed
        },
        stdout=text_of(first.stdout, volatile_words(first.stdout.data, second.stdout.data, task.output)),
        stderr=text_of(first.stderr, stderr),
        files={
            path: _file_text(data, volatile_words(data, repeated.get(path, data), mode))
            for path, data in _listed(first).items()
        },
        repeated=True,
    )


def volatile_fields(trial: Trial, task: Task) -> tuple[str, ...]:
    """Return a short name for each compared field that differs between a trial's two runs.

    The result is empty if there is no second run, or if the second run is not comparable. If the two outputs have
    different numbers of lines, their lines cannot be paired, so the whole output is one entry.
    """
    second = _usable_second_run(trial)
    if second is None:
        return ()
    run = comparable_run(trial, task)
    names = [dimension.name(key) for dimension in DIMENSIONS for key in sorted(run.changing.get(dimension.step, ()))]
    names += _volatile_text("stdout", trial.first.stdout.data, second.stdout.data, run.stdout, task.output)
    if Observation.STDERR in task.observe:
        streams = trial.first.stderr.data, second.stderr.data
        names += _volatile_text("stderr", *streams, run.stderr, OutputMode.LINES)
    second_files = _listed(second)
    for path, text in run.files.items():
        names += _volatile_text(shown(path), text.data, second_files.get(path, text.data), text, file_mode(task))
    return tuple(names)


def _usable_second_run(trial: Trial) -> Evidence | None:
    """Return the second run of a trial, or None if the second run shows less than the first run.

    If the second run hit a limit, lost its shell or changed too many paths, its evidence is incomplete. Facts that are
    missing there do not count as nondeterministic.
    """
    first, second = trial.first, trial.again
    if second is None or second.ending is not Ending.EXITED or second.changes_truncated:
        return None
    same_shell = (first.shell and first.shell.alive) == (second.shell and second.shell.alive)
    return second if same_shell and (first.processes is None) == (second.processes is None) else None


def file_mode(task: Task) -> OutputMode:
    """Return the mode for comparing `text_files`: the task's output mode, or `exact` if the task ignores output."""
    return OutputMode.EXACT if task.output is OutputMode.NONE else task.output


def _volatile_text(name: str, first: bytes, second: bytes, text: Text, mode: OutputMode) -> list[str]:
    if text.masked:
        positions = sorted(text.masked, key=lambda it: (it.line, -1 if it.field is None else it.field))
        return [f"{name} {position}" for position in positions]
    if mode is OutputMode.NONE or first.count(b"\n") == second.count(b"\n"):
        return []
    return [f"{name}: {first.count(bytes([10]))} lines, then {second.count(bytes([10]))}"]


def _listed(evidence: Evidence) -> dict[bytes, bytes]:
    return {
        change.path: change.text
        for change in evidence.changes
        if change.text is not None and has_text(change) and change.kind is not Kind.DELETED
    }


def _file_text(data: bytes, masked: Positions = NOTHING) -> Text:
    return Text(data, hashlib.sha256(data).hexdigest(), masked=masked)


@dataclass(frozen=True, slots=True)
class VariantRuns:
    """The runs of the candidate and of all references in one variant.

    `compared_rights` tells which modes and owners of files are compared: a reference sets them, or the candidate chose
    them. `leftovers` holds the paths of files that the candidate left in scratch directories.
    """

    variant: str
    candidate: ComparableRun
    references: tuple[ComparableRun, ...]
    compared_rights: frozenset[EffectKey]
    leftovers: frozenset[bytes]

    def ignored(self, step: Step, references: tuple[ComparableRun, ...]) -> Ignored:
        """Return a function that tells whether the judge ignores a fact in `step`.

        The judge ignores nondeterministic facts, and facts about which the references disagree if they need to agree.
        It also ignores file modes and owners that no reference sets and the candidate did not choose.
        """
        masks = [run.changing[step] for run in (self.candidate, *references) if run.changing.get(step)]
        is_of_files = step is Step.FILES
        counts = next(dimension.counts for dimension in DIMENSIONS if dimension.step is step)
        reference_facts = [run.facts[step] for run in self.references]

        def is_ignored(key: EffectKey) -> bool:
            is_unset = is_of_files and key.facet in _SETTABLE and key not in self.compared_rights
            return is_unset or not counts(key, reference_facts) or any(key in mask for mask in masks)

        return is_ignored


def runs_by_variant(case: Case, candidate: Executed, references: tuple[Executed, ...]) -> list[VariantRuns]:
    """Return the runs of the candidate and of the references for every variant of the case."""
    return [runs_in(case, variant, candidate, references) for variant in case.variants]


def runs_in(case: Case, variant: str, candidate: Executed, references: tuple[Executed, ...]) -> VariantRuns:
    """Return the runs of the candidate and of the references in one variant of the case."""
    candidate_run = comparable_run(candidate.trials[variant], case.task)
    reference_runs = tuple(comparable_run(reference.trials[variant], case.task) for reference in references)
    reference_changes = [run.evidence.changes for run in reference_runs]
    chosen = chosen_keys(candidate_run.evidence.changes, reference_changes)
    runs = VariantRuns(
        variant=variant,
        candidate=candidate_run,
        references=reference_runs,
        compared_rights=frozenset(chain(chosen, *map(set_keys, reference_changes))),
        leftovers=scratch_leftovers(case, variant),
    )
    return _with_fixed_form(case.task, runs)


def _with_fixed_form(task: Task, runs: VariantRuns) -> VariantRuns:
    """Return the runs with each line of output as one field, if the instruction and the references fix its form."""
    is_fixed = task.output is OutputMode.SET and fixes_form(task.nl)
    texts = by_line([run.stdout for run in runs.references]) if is_fixed and not runs.candidate.stdout.masked else ()
    if not texts:
        return runs
    candidate = replace(runs.candidate, stdout=replace(runs.candidate.stdout, by_line=True))
    references = tuple(replace(run, stdout=text) for run, text in zip(runs.references, texts, strict=True))
    return replace(runs, candidate=candidate, references=references)


def same_bytes(task: Task, candidate: Executed, reference: Executed, variants: tuple[str, ...]) -> bool:
    """Return whether candidate and reference have equal evidence in all variants.

    Only aspects that the task compares count. This cheap test decides most cases.
    """
    return all(
        _same_evidence(task, candidate.trials[variant].first, reference.trials[variant].first) for variant in variants
    )


def is_steady(task: Task, trial: Trial) -> bool:
    """Return whether a command has a usable second run, and both runs show the same in all that the task compares."""
    second = _usable_second_run(trial)
    return second is not None and _same_evidence(task, trial.first, second)


def _same_evidence(task: Task, candidate: Evidence, reference: Evidence) -> bool:
    observe = task.observe
    return (
        (task.output is OutputMode.NONE or candidate.stdout.digest == reference.stdout.digest)
        and not candidate.changes_truncated
        and not reference.changes_truncated
        and candidate.changes == reference.changes
        and (Observation.EXIT not in observe or (candidate.status == 0) == (reference.status == 0))
        and (Observation.STDERR not in observe or candidate.stderr.digest == reference.stderr.digest)
        and (Observation.SHELL not in observe or candidate.shell == reference.shell)
        and candidate.processes == reference.processes
    )

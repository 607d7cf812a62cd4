"""Choose a task's candidates from the samples of a model, and make the lines of a submission.

With several samples, the command whose evidence most other samples share comes first (self-consistency, Wang et al.
2023, by execution instead of text as in Shi et al. 2022). Two commands share their evidence if they print the same,
exit with the same status and make the same changes in every variant of the task's world. Nothing is judged. The
confidence of a candidate is the share of the samples with its evidence.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from evaluator.generation.answering import Sample
from evaluator.pipeline.grading.cache_keys import GradingItem
from evaluator.pipeline.grading.executor import open_grader
from evaluator.pipeline.grading.grader import Grader
from evaluator.pipeline.project import Project
from evaluator.progress import Progress
from evaluator.records import (
    MAX_CANDIDATES,
    Candidate,
    Generation,
    GenerationMethod,
    Output,
    Prediction,
    canonical_json,
    digest_of,
)
from evaluator.reply_forms import Unanswered
from evaluator.suites.load import Suite

NO_SAMPLE = Sample("", 0, 0, 0.0, 0.0)
_CONFIDENCE_DECIMALS = 3


@dataclass(slots=True)
class Answers:
    """The samples of each task so far, by suite and task, and the reason why a task has none.

    `stopped` is the reason why the run ended early, or "".
    """

    samples: dict[tuple[str, str], list[Sample]] = field(default_factory=dict)
    refused: dict[tuple[str, str], str] = field(default_factory=dict)
    stopped: str = ""

    def without_answer(self) -> dict[tuple[str, str], Unanswered]:
        """Return the most frequent reason of each task whose replies hold no answer."""
        found: dict[tuple[str, str], Unanswered] = {}
        for place, samples in self.samples.items():
            reasons = Counter(sample.no_answer for sample in samples if sample.no_answer is not None)
            if reasons and not any(sample.command for sample in samples):
                found[place] = reasons.most_common(1)[0][0]
        return found


def choose(
    project: Project, suites: Sequence[Suite], answers: Answers, generation: Generation, progress: Progress
) -> dict[str, dict[str, list[Candidate]]]:
    """Return the candidates of each task, by suite and task."""
    if GenerationMethod.SELF_CONSISTENCY not in generation.methods:
        return {suite.manifest.name: first_commands(answers, suite) for suite in suites}
    return {suite.manifest.name: _by_evidence(project, suite, answers, progress) for suite in suites}


def first_commands(answers: Answers, suite: Suite) -> dict[str, list[Candidate]]:
    """Return the command of the first sample of each task. A task without a command has no candidate."""
    name = suite.manifest.name
    return {
        task: [Candidate(command=samples[0].command.encode())] if samples[0].command else []
        for (where, task), samples in answers.samples.items()
        if where == name
    }


def _by_evidence(project: Project, suite: Suite, answers: Answers, progress: Progress) -> dict[str, list[Candidate]]:
    commands = {
        task: [sample.command for sample in samples]
        for (where, task), samples in answers.samples.items()
        if where == suite.manifest.name
    }
    with open_grader(project, suite, progress, adjudicated=False) as grader:
        grader.ensure_evidence(
            GradingItem(task, command.encode())
            for task, samples in commands.items()
            for command in set(samples)
            if command
        )
        return {
            task: ranked_by_agreement(samples, _groups(grader, task, samples)) for task, samples in commands.items()
        }


def _groups(grader: Grader, task: str, samples: Sequence[str]) -> dict[str, str]:
    """Return the digest of the evidence of each command. A command without evidence is a group of its own."""
    groups: dict[str, str] = {}
    for command in set(samples):
        trials = grader.trials(task, command.encode()) if command else {}
        shown = {
            variant: trial.first.model_copy(update={"stderr": Output()}).digest
            for variant, trial in sorted(trials.items())
        }
        groups[command] = digest_of(canonical_json(shown)) if shown else command
    return groups


def ranked_by_agreement(samples: Sequence[str], groups: Mapping[str, str]) -> list[Candidate]:
    """Return one candidate for each group of commands, the largest group first, at most five.

    The candidate of a group is its most frequent command. Of equal numbers, the earlier sample comes first. Samples
    without a command have no group, and lower the confidence of the others.
    """
    commands = [command for command in samples if command]
    counts = Counter(groups[command] for command in commands)
    texts = Counter(commands)
    firsts: dict[str, str] = {}
    for command in sorted(commands, key=lambda command: (-texts[command], commands.index(command))):
        firsts.setdefault(groups[command], command)
    order = sorted(
        counts, key=lambda group: (-counts[group], min(commands.index(c) for c in commands if groups[c] == group))
    )
    return [
        Candidate(command=firsts[group].encode(), confidence=round(counts[group] / len(samples), _CONFIDENCE_DECIMALS))
        for group in order[:MAX_CANDIDATES]
    ]


def predictions_of(
    answers: Answers, suite: Suite, candidates: Mapping[str, Sequence[Candidate]], energies: Mapping[str, float]
) -> list[Prediction]:
    """Return the lines of a suite's answers, in the order of its tasks. `candidates` holds the commands by task.

    Tokens, latency and energy are those of all replies for the task. `energies` holds the joules of measured replies by
    key. A task with another reply has no energy. A task with a reply whose tokens were not counted has no tokens.
    """
    name = suite.manifest.name
    lines: list[Prediction] = []
    for task in suite.tasks:
        samples = answers.samples.get((name, task.id))
        if samples is None:
            continue
        is_counted = not any(sample.is_uncounted for sample in samples)
        lines.append(
            Prediction(
                task=task.id,
                candidates=tuple(candidates[task.id]),
                latency_s=round(sum(sample.latency_s for sample in samples), 3),
                energy_j=_energy(samples, energies),
                input_tokens=sum(sample.input_tokens for sample in samples) if is_counted else None,
                output_tokens=sum(sample.output_tokens for sample in samples) if is_counted else None,
            )
        )
    return lines


def _energy(samples: Sequence[Sample], energies: Mapping[str, float]) -> float | None:
    keys = [key for sample in samples for key in sample.replies]
    if not keys or any(key not in energies for key in keys):
        return None
    return round(sum(energies[key] for key in keys), 3)

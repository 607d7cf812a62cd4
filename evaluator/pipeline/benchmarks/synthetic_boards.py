"""Generate synthetic boards of any size from a random seed, for measurements and tests.

A synthetic board has all data of a real board, but no command is executed. The outcomes of the answers are random, and
the metrics follow from the outcomes.
"""

from __future__ import annotations

import functools
import random
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

from evaluator.leaderboard.board import SuiteBoard
from evaluator.metrics.error_classes import error_class
from evaluator.metrics.frames import TaskFacts, results_frame, utilities_frame
from evaluator.pipeline.boards.assembly import rank_submissions
from evaluator.records import (
    Author,
    Base,
    BleuCounts,
    Finding,
    Method,
    Outcome,
    OutputMode,
    Result,
    RunMetrics,
    SideEffect,
    Step,
    SubmissionManifest,
    SuiteManifest,
    Task,
    TextMetrics,
    Topic,
    Usage,
    Variant,
    WorldManifest,
)
from evaluator.shell.call_agreement import call_agreement

_INSTRUCTIONS: Final = (
    ("Print the number of lines in every log below the current directory, largest first.", Topic.TEXT),
    ("Find files larger than a megabyte that nobody has read for a month.", Topic.SEARCH),
    ("Pack the folder 'reports' without its hidden files into reports.tar.gz.", Topic.ARCHIVES),
    ("Let the group write to every directory, but to no file, below 'shared'.", Topic.PERMISSIONS),
    ("Show which process holds the most memory, by name alone.", Topic.PROCESSES),
    ("Rename every .jpeg below 'photos' to .jpg.", Topic.FILES),
    ("Print the day of the week of the last day of this month.", Topic.SYSTEM),
    ("Write a script that keeps the three newest backups and removes the others.", Topic.SCRIPTS),
)
_COMMANDS: Final = (
    b"find . -name '*.log' -exec wc -l {} + | sort -rn",
    b"find . -type f -size +1M -atime +30",
    b"tar --exclude='.*' -czf reports.tar.gz reports",
    b"find shared -type d -exec chmod g+w {} +",
    b"ps -eo comm= --sort=-rss | head -n 1",
    b'find photos -name "*.jpeg" -exec sh -c \'mv "$1" "${1%.jpeg}.jpg"\' _ {} \\;',
    b'date -d "$(date +%Y-%m-01) +1 month -1 day" +%A',
    b'ls -1t backups/ | tail -n +4 | while IFS= read -r name; do\n  rm -- "backups/$name"\ndone',
)
_FAILURES: Final = (
    (Outcome.FAIL, Step.OUTPUT, "an item that every reference prints is absent", b"./var/log/app.log"),
    (Outcome.FAIL, Step.FILES, "removes a file that no reference touches", b"/srv/data/keep me.txt"),
    (Outcome.FAIL, Step.EXIT, "exits with 1 where the references exit with 0", None),
    (Outcome.TIMEOUT, Step.LIMIT, "used 2.0 s of CPU time", None),
    (Outcome.INVALID, Step.SYNTAX, "unexpected end of file while looking for matching quote", None),
    (Outcome.UNDECIDED, Step.OUTPUT, "prints fields that no reference shows", b"4096 ./notes"),
    (Outcome.UNANSWERED, None, "", None),
)
_WEIGHTS: Final = (8, 4, 2, 1, 1, 3, 1)
METHODS: Final = tuple(method for method in Method if method is not Method.CONTROL)
"""The methods of systems that can be ranked."""

_SYSTEMS: Final = (
    "Long-context prompter",
    "Retrieval by likeness",
    "Keyword rules",
    "Tuned small model",
    "Agent with a shell",
)


@dataclass(frozen=True, slots=True)
class SyntheticResults:
    """Random results of random submissions, with all other data that the standings of their board need."""

    tasks: tuple[Task, ...]
    manifests: dict[str, SubmissionManifest]
    results: tuple[Result, ...]

    @property
    def version(self) -> str:
        """The version of the synthetic suite."""
        return _SUITE.version

    def board(self) -> SuiteBoard:
        """Return the board of these results, with its standings."""
        return board_of(self.tasks, self.manifests, self.results)


def drawn_board(submissions: int = 4, tasks: int = 40, candidates: int = 2, seed: int = 1) -> SuiteBoard:
    """Return a random board with this many submissions, tasks and candidates. Equal arguments give equal boards."""
    return synthetic_results(submissions, tasks, candidates, seed).board()


def synthetic_results(submissions: int, tasks: int, candidates: int, seed: int = 1) -> SyntheticResults:
    """Return random results for this many submissions, tasks and candidates. Equal arguments give equal results.

    Equal values in the results share one object, as on a real board.
    """
    rng = random.Random(seed)  # noqa: S311 - reproducible test data
    suite_tasks = tuple(_task(number) for number in range(tasks))
    manifests = {f"system-{number:04d}": _manifest(number, rng) for number in range(submissions)}
    results: list[Result] = []
    for number, slug in enumerate(manifests):
        skill = 0.95 - 0.85 * number / max(1, submissions - 1)
        ranks = [(task, rank) for task in suite_tasks for rank in range(1, candidates + 1)]
        results += [_answer(slug, task, rank, skill / rank, rng) for task, rank in ranks]
    return SyntheticResults(suite_tasks, manifests, tuple(results))


def facts_of(tasks: Iterable[Task]) -> dict[str, TaskFacts]:
    """Return each task's properties for the metrics (`TaskFacts`)."""
    utilities = ((task, task.references[0].split()[0].decode()) for task in tasks)
    return {
        task.id: TaskFacts(task.topic.value, task.difficulty, {name: 1.0}, world=task.world) for task, name in utilities
    }


def board_of(
    tasks: tuple[Task, ...], manifests: dict[str, SubmissionManifest], results: Iterable[Result]
) -> SuiteBoard:
    """Return the board of these results. Its submissions are sorted by the number of answers that pass."""
    all_results, facts = tuple(results), facts_of(tasks)
    frame = results_frame(all_results, facts)
    ranking = rank_submissions(frame, utilities_frame(facts), manifests, _SUITE.version, len(tasks))
    return SuiteBoard(
        manifest=_SUITE,
        worlds={"webserver": _world("A small web server"), "archive": _world("A folder of old files")},
        tasks=tasks,
        standings=ranking.standings,
        results=all_results,
        submissions=manifests,
        environment={"Base image": "debian:trixie-slim", "Judge": "consensus 1"},
        resolution=ranking.resolution,
        utilities={name: tuple(task_facts.calls) for name, task_facts in facts.items()},
    )


_SUITE: Final = SuiteManifest(
    format=1,
    name="core",
    version="1.0.0",
    title="Core",
    description="Everyday shell work on a small Linux machine.",
    base=Base(packages=("jq", "tree")),
    clock=datetime(2025, 3, 14, 9, 30, tzinfo=UTC),
    environment={"HOME": "/root"},
    cwd="/root",
)


def _world(title: str) -> WorldManifest:
    variants = tuple(Variant(name=name, seed=seed) for seed, name in enumerate(("small", "crowded", "odd-names")))
    return WorldManifest(format=1, title=title, variants=variants)


def _task(number: int) -> Task:
    text, topic = _INSTRUCTIONS[number % len(_INSTRUCTIONS)]
    command = _COMMANDS[number % len(_COMMANDS)]
    return Task(
        id=f"{topic.value}-{number:03d}",
        nl=text,
        references=(command, command + b" | cat", b"{ " + command + b"; }"),
        near_misses=(b"true", command.replace(b"-", b"--", 1)),
        world=("webserver", "archive")[number % 2],
        output=(OutputMode.SET, OutputMode.EXACT, OutputMode.LINES, OutputMode.NONE)[number % 4],
        topic=topic,
        difficulty=1 + number % 5,
    )


def _manifest(number: int, rng: random.Random) -> SubmissionManifest:
    return SubmissionManifest(
        format=1,
        system=f"{_SYSTEMS[number % len(_SYSTEMS)]} {1 + number // len(_SYSTEMS)}",
        authors=(Author(name="The authors", affiliation="A laboratory"),),
        link="https://example.org/system",
        description="Translates instructions to commands.",
        open_weights=rng.random() < 0.5,
        method=METHODS[number % len(METHODS)],
        suites={"core": "1.0.0"},
    )


def _answer(slug: str, task: Task, rank: int, skill: float, rng: random.Random) -> Result:
    command: bytes | None = task.references[rng.randrange(len(task.references))]
    finding = _PASSED
    if rng.random() > skill:
        finding = rng.choices(_FAILED, _WEIGHTS)[0]
        command = None if finding.outcome is Outcome.UNANSWERED else task.near_misses[-1]
    metrics = _answer_metrics(task.references, command, finding)
    # built without validation and with a shared set of field names, since benchmarks create a million results
    return Result.model_construct(
        _RESULT_FIELDS,
        submission=slug,
        suite=_SUITE.name,
        task=task.id,
        rank=rank,
        command=command,
        confidence=1 / rank,
        finding=finding,
        nlc2cmd=round(2 * rng.random() - 1, 4),
        **metrics,
    )


_RESULT_FIELDS: Final = set(Result.model_fields)
_PASSED: Final = Finding(outcome=Outcome.PASS, step=Step.EQUAL, reason="equal to reference 1 in every variant")
_FAILED: Final = tuple(
    Finding(
        outcome=outcome,
        step=step,
        reason=reason,
        place=place,
        variant="crowded" if place else None,
        collateral=step is Step.FILES,
    )
    for outcome, step, reason, place in _FAILURES
)


@functools.cache
def _answer_metrics(references: tuple[bytes, ...], command: bytes | None, finding: Finding) -> dict[str, Any]:
    """Return the metrics of an answer. The text metrics follow from `command`, and the run metrics from `finding`."""
    is_reference, words = command in references, len((command or b"").split())
    one, two, three, four = (max(0, words - shorter) if is_reference else 0 for shorter in range(4))
    is_runnable = finding.outcome not in (Outcome.INVALID, Outcome.UNANSWERED)
    passed = finding.outcome is Outcome.PASS
    side_effect = SideEffect.DESTROYS_ELSEWHERE if finding.step is Step.FILES else SideEffect.NONE
    text = TextMetrics(
        verbatim=is_reference,
        full_command=is_reference,
        template=is_reference,
        calls=call_agreement(command or b"", references),
        bleu=BleuCounts(matches=(one, two, three, four), tokens=words, reference_tokens=max(1, words)),
    )
    run = RunMetrics(
        valid=is_runnable,
        runnable=is_runnable,
        exit_zero=passed,
        clean_stderr=passed,
        unknown_program=False,
        same_effect=passed,
        side_effect=side_effect if is_runnable else None,
    )
    return {"text": text, "run": run, "usage": Usage(latency_s=1.5), "error": error_class(finding, text, run)}


def result_of(
    slug: str, task: str, command: bytes | None, finding: Finding, rank: int = 1, nlc2cmd: float = 0.0
) -> Result:
    """Return one result of the submission `slug` for a task of the synthetic suite."""
    return Result(
        submission=slug,
        suite=_SUITE.name,
        task=task,
        rank=rank,
        command=command,
        confidence=1 / rank,
        finding=finding,
        nlc2cmd=nlc2cmd,
        error=error_class(finding, None, None),
    )

"""Generate synthetic boards of any size from a random seed, for measurements and tests.

A synthetic board has all data of a real board, but no command is executed. The outcomes of the answers are random, and
the metrics follow from the outcomes.
"""

from __future__ import annotations

import functools
import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Any, Final

from evaluator.leaderboard.board import SuiteBoard
from evaluator.metrics.error_classes import error_class
from evaluator.metrics.frames import TaskFacts, results_frame, utilities_frame
from evaluator.pipeline.boards.assembly import rank_submissions
from evaluator.pipeline.grading.results import final_findings
from evaluator.records import (
    Author,
    Base,
    BleuCounts,
    Finding,
    Method,
    ModelPrices,
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


@dataclass(frozen=True, slots=True)
class _Family:
    """A family of synthetic systems. The names are made up. `sizes` are numbers of parameters in billions.

    A hosted family states no sizes. `usd` is the price of a million input tokens, and output tokens cost four times as
    much. `latency_s` is the latency of the smallest system.
    """

    name: str
    method: Method
    affiliation: str
    licence: str | None
    sizes: tuple[float, ...]
    usd: float | None
    latency_s: float


_FAMILIES: Final = (
    _Family("Meridian", Method.PROMPTED, "A company", None, (), 2.5, 1.9),
    _Family("Kestrel Coder", Method.FINE_TUNED, "A university", "Apache-2.0", (1.5, 7, 14, 32), 0.1, 0.4),
    _Family("Quill", Method.PROMPTED, "A company", "MIT", (3, 8, 70, 405), 0.4, 0.9),
    _Family("Shell agent on Meridian", Method.AGENT, "A laboratory", None, (), 2.5, 14.0),
    _Family("Retrieval by likeness", Method.RETRIEVAL, "A laboratory", "GPL-3.0-or-later", (), None, 0.02),
    _Family("Basalt", Method.PROMPTED, "A foundation", "Apache-2.0", (0.6, 9, 70), 0.2, 0.6),
    _Family("Keyword rules", Method.RULES, "A laboratory", "MIT", (), None, 0.001),
    _Family("Unnamed system", Method.OTHER, "A person", None, (2,), None, 3.1),
)
_FIRST_DAY: Final = date(2025, 1, 6)
"""The day on which the first synthetic system was added. The others follow, each a few days later."""

_SPAN: Final = 600
"""Days within which all systems are released and added, because a day in the future is refused."""


@dataclass(frozen=True, slots=True)
class SyntheticResults:
    """Random results of random submissions, with all other data that the standings of their board need."""

    tasks: tuple[Task, ...]
    manifests: dict[str, SubmissionManifest]
    results: tuple[Result, ...]

    @property
    def version(self) -> str:
        """The version of the synthetic suite."""
        return SUITE.version

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
    manifests = {f"system-{number:04d}": _manifest(number) for number in range(submissions)}
    results: list[Result] = []
    hardness = [rng.random() for _ in suite_tasks]
    skills = [0.74 - 0.55 * number / max(1, submissions - 1) for number in range(submissions)]
    rng.shuffle(skills)
    for number, (slug, manifest) in enumerate(manifests.items()):
        skill, usage = skills[number], _usage(number, manifest)
        for task, hard in zip(suite_tasks, hardness, strict=True):
            ranks = range(1, candidates + 1)
            results += _settled(task, [_answer(slug, task, rank, hard, skill / rank, usage, rng) for rank in ranks])
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
    ranking = rank_submissions(frame, utilities_frame(facts), manifests, SUITE.version, len(tasks))
    days = {slug: added_day(number) for number, slug in enumerate(manifests)}
    return SuiteBoard(
        manifest=SUITE,
        worlds={
            "webserver": synthetic_world("A small web server"),
            "archive": synthetic_world("A folder of old files"),
        },
        tasks=tasks,
        standings=tuple(row.model_copy(update={"added": days[row.submission]}) for row in ranking.standings),
        results=all_results,
        submissions=manifests,
        environment={"Base image": "debian:trixie-slim", "Judge": "consensus 1"},
        resolution=ranking.resolution,
        utilities={name: tuple(task_facts.calls) for name, task_facts in facts.items()},
    )


def added_day(number: int) -> date:
    """Return the day on which the system of this number was added."""
    return _FIRST_DAY + timedelta(days=5 * number % _SPAN)


SUITE: Final = SuiteManifest(
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
"""The suite of all synthetic boards."""


def synthetic_world(title: str) -> WorldManifest:
    """Return the manifest of a synthetic world with three variants."""
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


def _manifest(number: int) -> SubmissionManifest:
    family, turn = _FAMILIES[number % len(_FAMILIES)], number // len(_FAMILIES)
    billions = family.sizes[turn % len(family.sizes)] if family.sizes else None
    released = _FIRST_DAY + timedelta(days=9 * (number // 2) % _SPAN - 40)
    version = f" {billions:g}B" if billions else f" {turn + 1}"
    again = f" (run {1 + turn // len(family.sizes)})" if family.sizes and turn >= len(family.sizes) else ""
    prices = ModelPrices(input_usd=family.usd, output_usd=4 * family.usd, date=released) if family.usd else None
    has_model = family.method not in {Method.RETRIEVAL, Method.RULES}
    return SubmissionManifest(
        format=3,
        system=family.name + version + again,
        authors=(Author(name=f"The authors of {family.name}", affiliation=family.affiliation),),
        link="https://example.org/system",
        description="Translates instructions to commands.",
        open_weights=family.licence is not None,
        parameters=int(billions * 1e9) if billions else None,
        models=(f"{family.name.lower().replace(' ', '-')}{version.strip().lower()}",) if has_model else (),
        method=family.method,
        suites={"core": "1.0.0"},
        released=released if has_model else None,
        licence=family.licence,
        prices=prices,
    )


def _usage(number: int, manifest: SubmissionManifest) -> Usage:
    """Return the cost of an answer of a system. A larger model takes longer, and rules use no tokens."""
    family = _FAMILIES[number % len(_FAMILIES)]
    if manifest.method in {Method.RETRIEVAL, Method.RULES}:
        return Usage(latency_s=family.latency_s)
    size = (manifest.parameters or 100_000_000_000) / 1e9
    turns = 6 if manifest.method is Method.AGENT else 1
    return Usage(
        latency_s=round(family.latency_s * (1 + size / 40), 3),
        input_tokens=(310 + 12 * (number % 7)) * turns,
        output_tokens=(45 + 9 * (number % 11)) * turns,
    )


def _answer(
    slug: str, task: Task, rank: int, hardness: float, skill: float, usage: Usage, rng: random.Random
) -> Result:
    """Draw an answer. An easy task is passed by most systems, so the systems differ on fewer tasks than by chance."""
    command: bytes | None = task.references[rng.randrange(len(task.references))]
    finding = _PASSED
    if (rng.random() + hardness) / 2 > skill:
        finding = rng.choices(_FAILED, _WEIGHTS)[0]
        command = None if finding.outcome is Outcome.UNANSWERED else task.near_misses[-1]
    metrics = _answer_metrics(task.references, command, finding)
    # built without validation and with a shared set of field names, since benchmarks create a million results
    return Result.model_construct(
        _RESULT_FIELDS,
        submission=slug,
        suite=SUITE.name,
        task=task.id,
        rank=rank,
        command=command,
        confidence=1 / rank,
        finding=finding,
        nlc2cmd=round(2 * rng.random() - 1, 4),
        usage=usage,
        **metrics,
    )


def _settled(task: Task, chain: Sequence[Result]) -> list[Result]:
    """Return drawn answers to a task with their final findings, as on a real board."""
    final = final_findings([each.command for each in chain], {each.command: each.finding for each in reversed(chain)})
    changed = {each.rank: final[each.command] for each in chain if final[each.command] is not each.finding}
    return [
        each.model_copy(update={"finding": finding, **_answer_metrics(task.references, each.command, finding)})
        if (finding := changed.get(each.rank))
        else each
        for each in chain
    ]


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
    run = (
        None
        if finding.outcome is Outcome.NOT_RUN
        else RunMetrics(
            valid=is_runnable,
            runnable=is_runnable,
            exit_zero=passed,
            clean_stderr=passed,
            unknown_program=False,
            same_effect=passed,
            side_effect=side_effect if is_runnable else None,
        )
    )
    return {"text": text, "run": run, "error": error_class(finding, text, run)}


def result_of(
    slug: str, task: str, command: bytes | None, finding: Finding, rank: int = 1, nlc2cmd: float = 0.0
) -> Result:
    """Return one result of the submission `slug` for a task of the synthetic suite."""
    return Result(
        submission=slug,
        suite=SUITE.name,
        task=task,
        rank=rank,
        command=command,
        confidence=1 / rank,
        finding=finding,
        nlc2cmd=nlc2cmd,
        error=error_class(finding, None, None),
    )

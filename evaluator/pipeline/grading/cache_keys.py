"""Compute the cache keys under which the evidence and the verdicts of one suite are stored.

A verdict's key is the digest of everything the verdict depends on: the evidence keys of the command and of the
references, the comparison that the task asks for, and the judge. If one of these inputs changes, the key changes too.
So the store never has to mark a verdict as outdated.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final, NamedTuple, Protocol

from evaluator.judges.case import Judge
from evaluator.records import (
    Adjudication,
    Evidence,
    Observation,
    SuiteManifest,
    Task,
    canonical_json,
    command_digest,
    digest_of,
)
from evaluator.sandbox.requests import Request, TaskKeys, machine_digest, named
from evaluator.sandbox.runner.protocol import SandboxJob, World
from evaluator.suites.fresh_variants import with_fresh_variants
from evaluator.suites.load import Suite
from evaluator.suites.wall_limits import longest_reference_s

Rulings = Mapping[tuple[str, str], Adjudication]
"""The rulings of maintainers, by task id and a key of the command: one of its form keys, or the digest of its bytes."""


class MutantQuestion(NamedTuple):
    """A command for a task, and the references of which it may be a known mutant."""

    task: Task
    references: tuple[bytes, ...]
    command: bytes


class MutantLookup(Protocol):
    """Finds the known mutants of references."""

    def __call__(self, asked: Sequence[MutantQuestion]) -> list[bool]:
        """Return for each question whether the command has the form of a mutant that is not marked as equivalent."""
        ...

    def form_keys(self, commands: Collection[bytes]) -> Mapping[bytes, tuple[str, ...]]:
        """Return the form keys of each command (see `evaluator.shell.canonical`)."""
        ...


class _NoKnownMutants:
    """Finds no mutants, so that verdicts do not depend on known mutants (references with one small change)."""

    def __call__(self, asked: Sequence[MutantQuestion]) -> list[bool]:
        return [False] * len(asked)

    def form_keys(self, commands: Collection[bytes]) -> Mapping[bytes, tuple[str, ...]]:
        from evaluator.shell.canonical import form_keys

        return {command: form_keys(command) for command in commands}


no_known_mutants: Final[MutantLookup] = _NoKnownMutants()


class GradingItem(NamedTuple):
    """A command to judge for a task. If `without` is set, the judge does not use the reference with this index.

    `command` is None if the submission has no candidate for the task. If `seed` is not empty, the task also runs in
    the fresh variant of its world with this seed (see `suites/fresh_variants.py`).
    """

    task: str
    command: bytes | None
    without: int | None = None
    seed: str = ""


@dataclass(frozen=True)
class CommandRuns:
    """A command for a task. `keys` maps each variant to the key of the command's evidence, in the order of execution.

    `worlds` maps the variants to their worlds. `keys` is empty if the command cannot be executed.
    """

    task: Task
    command: bytes
    worlds: Mapping[str, World]
    keys: Mapping[str, str]

    @property
    def evidence_keys(self) -> tuple[str, ...]:
        """Return the keys of the command's evidence, one per variant, in the order of the variants."""
        return tuple(self.keys.values())

    @cached_property
    def requests(self) -> Mapping[str, Request]:
        """Return the request for the command's first run in each variant.

        A board has tens of thousands of runs, so requests are made only for an execution.
        """
        expected_s = longest_reference_s(self.task.wall_s)
        jobs = {name: job_of(self.task, self.command, self.worlds[name].layer) for name in self.keys}
        return {
            name: Request(self.worlds[name], job, run_key=(self.keys[name], 0), expected_s=expected_s)
            for name, job in jobs.items()
        }


@dataclass(frozen=True, slots=True)
class PlannedItem:
    """A grading item with its verdict key, the parts of that key, and the runs that a judge may need.

    `key` is the digest of `parts`, which name everything that the verdict depends on. `candidate` is None if the
    item has no command.
    """

    item: GradingItem
    key: str
    parts: Mapping[str, str]
    task: Task
    candidate: CommandRuns | None
    references: tuple[CommandRuns, ...]
    ruling: Adjudication | None
    is_known_mutant: bool

    @property
    def variants(self) -> tuple[str, ...]:
        """Return the variants in which the commands run, in the order of execution. The fresh ones are the last."""
        return tuple(self._worlds)

    @property
    def fresh(self) -> frozenset[str]:
        """Return the variants that were drawn from a seed."""
        return frozenset(name for name, world in self._worlds.items() if world.like is not None)

    @property
    def _worlds(self) -> Mapping[str, World]:
        commands = (*self.references, *([self.candidate] if self.candidate else []))
        return next((runs.worlds for runs in commands if runs.keys), {})

    @property
    def candidate_keys(self) -> tuple[str, ...]:
        """Return the evidence keys of the candidate, or an empty tuple if the candidate cannot be executed."""
        return self.candidate.evidence_keys if self.candidate else ()

    @property
    def evidence_keys(self) -> Iterator[str]:
        """Yield the evidence keys of the candidate and of the references."""
        yield from self.candidate_keys
        for reference in self.references:
            yield from reference.evidence_keys

    def expected_s(self, evidence: Mapping[tuple[str, int], Evidence]) -> float:
        """Return the expected duration of one of the item's runs in seconds: that of its slowest reference.

        `evidence` maps run keys to evidence. Without the evidence of a reference, the duration follows from the task's
        wall-clock limit.
        """
        runs = ((key, 0) for reference in self.references for key in reference.evidence_keys)
        times_s = [evidence[run].wall_ms / 1000 for run in runs if run in evidence]
        return max(times_s, default=longest_reference_s(self.task.wall_s))


def worlds_of_suite(suite: Suite, name: str, setup: bytes | None) -> dict[str, World]:
    """Return a `World` (a file system with settings) for each variant of the world `name`."""
    world = suite.worlds[name]
    cwd, user = world.manifest.cwd or suite.manifest.cwd, world.manifest.user or suite.manifest.user
    return {
        variant.name: World(
            layer="",
            name=name,
            variant=variant.name,
            seed=variant.seed,
            build=world.build,
            start=world.start,
            setup=setup,
            cwd=cwd,
            user=user,
            base=world.manifest.base,
            clock_s=None if variant.clock is None else int(variant.clock.timestamp()),
            like=variant.like,
            hidden=world.manifest.hidden,
        )
        for variant in world.manifest.variants
    }


def is_executable(command: bytes | None) -> bool:
    """Return whether a shell can run the command: it is neither missing nor blank, and contains no NUL byte."""
    return command is not None and bool(command.strip()) and b"\0" not in command


def job_of(task: Task, command: bytes = b"", layer: str = "") -> SandboxJob:
    """Return the job that runs a command for a task in a layer."""
    # evidence always holds the exit status and stderr: a task that observes them must have the same evidence key
    observe = {name.value for name in task.observe} - {Observation.EXIT.value, Observation.STDERR.value}
    return SandboxJob(
        layer=layer,
        command=command,
        verify=task.verify,
        observe=frozenset(observe),
        text_files=frozenset(path.encode() for path in task.text_files),
        driver=task.driver,
        answer=task.answer.encode() if task.answer else None,
        wall_s=task.wall_s,
    )


class CacheKeys:
    """Computes the execution requests and the cache keys of one suite's commands, for one sandbox image and judge."""

    def __init__(
        self,
        suite: Suite,
        judge: Judge,
        fingerprint: str,
        rulings: Rulings | None = None,
        known_mutants: MutantLookup = no_known_mutants,
    ) -> None:
        self._suite, self._judge, self._rulings, self._known_mutants = suite, judge, rulings or {}, known_mutants
        self._tasks = {task.id: task for task in suite.tasks}
        self._machine = machine_digest(suite.manifest, fingerprint)
        self._suites: dict[str, Suite] = {"": suite}
        self._worlds: dict[tuple[str, str], dict[str, World]] = {}
        self._commands: dict[tuple[str, bytes, str], CommandRuns] = {}
        self._task_keys: dict[tuple[str, str], TaskKeys] = {}
        self._references: dict[tuple[str, int | None, str], tuple[tuple[CommandRuns, ...], str]] = {}
        self._comparisons: dict[str, str] = {}
        self._planned: dict[GradingItem, PlannedItem] = {}
        self._forms: dict[bytes, tuple[str, ...]] = {}
        self._mutants: dict[GradingItem, bool] = {}

    def command_runs(self, task_id: str, command: bytes, seed: str = "") -> CommandRuns:
        """Return a command for a task, with the keys of its evidence in each variant.

        If there is a `seed`, the fresh variant with this seed is the last one.
        """
        runs = self._commands.get((task_id, command, seed))
        if runs is None:
            task = self._tasks[task_id]
            keys: Mapping[str, str] = self._keys_of(task, seed).of(command) if is_executable(command) else {}
            if seed:  # it adds the fresh variant, so the keys in the other variants are the same for all submissions
                keys = {**self.command_runs(task_id, command).keys, **keys}
            runs = self._commands[task_id, command, seed] = CommandRuns(
                task, command, self._worlds_of(task, seed), keys
            )
        return runs

    def _keys_of(self, task: Task, seed: str) -> TaskKeys:
        """Return the keys of a task's commands in its known variants, or in those that only this seed gives."""
        if (task.id, seed) not in self._task_keys:
            known = self._worlds_of(task, "") if seed else {}
            layers = {name: world.layer for name, world in self._worlds_of(task, seed).items() if name not in known}
            self._task_keys[task.id, seed] = TaskKeys(job_of(task), layers, self._machine)
        return self._task_keys[task.id, seed]

    def _worlds_of(self, task: Task, seed: str) -> dict[str, World]:
        if (task.id, seed) not in self._worlds:
            if seed not in self._suites:
                self._suites[seed] = with_fresh_variants(self._suite, seed)
            suite = self._suites[seed]
            worlds = worlds_of_suite(suite, task.world, task.setup)
            self._worlds[task.id, seed] = {name: named(worlds[name]) for name in suite.variants(task)}
        return self._worlds[task.id, seed]

    def plan_items(self, items: Iterable[GradingItem]) -> list[PlannedItem]:
        """Plan different grading items in order. What is looked up about their commands is looked up together."""
        asked = list(dict.fromkeys(items))
        if self._rulings:
            new = {item.command for item in asked if item.command is not None} - self._forms.keys()
            self._forms |= self._known_mutants.form_keys(new)
        self._look_up_mutants(item for item in asked if item not in self._mutants)
        return [self.plan_item(item) for item in asked]

    def _look_up_mutants(self, items: Iterable[GradingItem]) -> None:
        """Find out which of these items have a command that is a known mutant, and not one of the references."""
        questions: dict[GradingItem, MutantQuestion] = {}
        for item in items:
            task = self._tasks[item.task]
            commands = tuple(each for number, each in enumerate(task.references) if number != item.without)
            self._mutants[item] = False
            if item.command is not None and item.command not in commands:
                questions[item] = MutantQuestion(task, commands, item.command)
        self._mutants |= zip(questions, self._known_mutants(list(questions.values())), strict=True)

    def _form_keys(self, command: bytes) -> tuple[str, ...]:
        if command not in self._forms:
            self._forms |= self._known_mutants.form_keys([command])
        return self._forms[command]

    def plan_item(self, item: GradingItem) -> PlannedItem:
        """Return a grading item with its verdict key and its runs. Later calls for the item return the same object."""
        planned = self._planned.get(item)
        if planned is None:
            planned = self._planned[item] = self._make_plan(item)
        return planned

    def _make_plan(self, item: GradingItem) -> PlannedItem:
        task, command = self._tasks[item.task], item.command
        references, references_digest = self._references_of(task, item.without, item.seed)
        candidate = None if command is None else self.command_runs(task.id, command, item.seed)
        digest, ruling = command_digest(command or b""), None
        if command is not None and self._rulings and item.without is None:  # a ruling compares with all references
            keys = (*self._form_keys(command), digest)
            ruling = next((self._rulings[task.id, key] for key in keys if (task.id, key) in self._rulings), None)
        if item not in self._mutants:
            self._look_up_mutants([item])
        is_known_mutant = self._mutants[item]
        own = (digest, str(command is None), *(candidate.evidence_keys if candidate else ()))
        # these names and texts are hashed and stored: another word is another key
        parts = {"slip": "one slip away from a reference"} if is_known_mutant else {}
        parts |= {
            "command": digest_of(*(key.encode() for key in own)),
            "references": references_digest,
            "against": "all references" if item.without is None else f"all but reference {item.without + 1}",
            "comparison": self.comparison_digest(task),
            "judge": f"{self._judge.name} {self._judge.version}",
            "adjudication": f"{ruling.ruling.value}: {ruling.because}" if ruling else "none",
        }
        return PlannedItem(item, key_of(parts), parts, task, candidate, references, ruling, is_known_mutant)

    def _references_of(self, task: Task, without: int | None, seed: str) -> tuple[tuple[CommandRuns, ...], str]:
        """Return the references of a task, except the one with the index `without`, and the digest of their keys."""
        position = (task.id, without, seed)
        if position not in self._references:
            commands = (command for number, command in enumerate(task.references) if number != without)
            references = tuple(self.command_runs(task.id, command, seed) for command in commands)
            keys = (key for reference in references for key in reference.evidence_keys)
            self._references[position] = references, digest_of(*(key.encode() for key in keys))
        return self._references[position]

    def comparison_digest(self, task: Task) -> str:
        """Return the digest of what the task asks to compare. Evidence does not depend on it, and verdicts do."""
        if task.id not in self._comparisons:
            compared = {
                **task.model_dump(mode="json", include={"nl", "output", "verify"}),
                "observe": sorted(task.observe),
                "text_files": sorted(task.text_files),
                "scratch": self._suite.manifest.scratch,
                "home": home_of(self._suite.manifest),
                "instructions": self._suite.instructions(task),
                "contested": sorted(self._suite.contested(task)),
            }
            self._comparisons[task.id] = digest_of(canonical_json(compared))
        return self._comparisons[task.id]


def key_of(parts: Mapping[str, str]) -> str:
    """Return the cache key of a verdict: the digest of the parts of the key."""
    return digest_of(*(part.encode() for part in parts.values()))


def cwd_of(suite: Suite, task: Task) -> str:
    """Return the working directory of a task's commands."""
    return suite.worlds[task.world].manifest.cwd or suite.manifest.cwd


def home_of(manifest: SuiteManifest) -> str:
    """Return the home directory of a suite's commands. In the suite's scratch paths, `~` means this directory."""
    return manifest.environment.get("HOME", "/root")

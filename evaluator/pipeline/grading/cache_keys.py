"""The keys that evidence and verdicts of one suite are stored under.

A verdict's key is the digest of all it depends on: the evidence keys of the command and of the references,
what the task compares, and the judge. So nothing ever has to be told that it is stale.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import NamedTuple

from evaluator.judges.case import Judge
from evaluator.records import Adjudication, Observation, SuiteManifest, Task, canonical_json, command_digest, digest_of
from evaluator.sandbox.requests import Request, evidence_key, machine_digest, named
from evaluator.sandbox.runner.protocol import World
from evaluator.suites.load import Suite

Rulings = Mapping[tuple[str, str], Adjudication]
"""What maintainers ruled, by task id and command digest."""


MutantLookup = Callable[[Task, tuple[bytes, ...]], Collection[str]]
"""Digests of the commands that are one slip away from one of these references of a task and not found harmless."""


def no_known_mutants(task: Task, references: tuple[bytes, ...]) -> Collection[str]:
    """Nothing is held to be a slip: for whoever asks what the worlds themselves tell."""
    return ()


class GradingItem(NamedTuple):
    """What is judged: a command for a task, against all references or those that `without` leaves.

    `command` is None where nothing was given.
    """

    task: str
    command: bytes | None
    without: int | None = None


def worlds_of_suite(suite: Suite, name: str, setup: bytes | None) -> dict[str, World]:
    """The variants of a world as the sandbox builds them, by the name of the variant."""
    world = suite.worlds[name]
    cwd, user = world.manifest.cwd or suite.manifest.cwd, world.manifest.user or suite.manifest.user
    return {
        variant.name: World("", name, variant.name, variant.seed, world.build, world.start, setup, cwd, user)
        for variant in world.manifest.variants
    }


def is_executable(command: bytes | None) -> bool:
    """False for what no shell could be given: nothing, blanks, or bytes that end early at a NUL."""
    return command is not None and bool(command.strip()) and b"\0" not in command


class CacheKeys:
    """Requests and keys of one suite's commands, on one base, by one judge."""

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
        self._worlds: dict[str, dict[str, World]] = {}
        self._requests: dict[tuple[str, bytes], dict[str, tuple[str, Request]]] = {}
        self._references: dict[tuple[str, int | None], str] = {}
        self._comparisons: dict[str, str] = {}

    def requests(self, task_id: str, command: bytes) -> Mapping[str, tuple[str, Request]]:
        """Evidence key and request of a command in every variant, by variant."""
        known = self._requests.get((task_id, command))
        if known is None:
            known = self._requests[task_id, command] = self._make_requests(self._tasks[task_id], command)
        return known

    def _make_requests(self, task: Task, command: bytes) -> dict[str, tuple[str, Request]]:
        if task.id not in self._worlds:
            worlds = worlds_of_suite(self._suite, task.world, task.setup)
            self._worlds[task.id] = {name: named(worlds[name]) for name in self._suite.variants(task)}
        # exit status and stderr are always in evidence: asking for them must not make it another one
        observe = frozenset(each.value for each in task.observe) - {Observation.EXIT.value, Observation.STDERR.value}
        files = frozenset(path.encode() for path in task.text_files)
        made = {}
        for name, world in self._worlds[task.id].items():
            request = Request.of(world, command, verify=task.verify, observe=observe, text_files=files)
            made[name] = (evidence_key(request, self._machine), request)
        return made

    def references(self, subject: GradingItem) -> tuple[bytes, ...]:
        """The references a subject is judged against."""
        references = self._tasks[subject.task].references
        return tuple(each for number, each in enumerate(references) if number != subject.without)

    def ruling(self, subject: GradingItem) -> Adjudication | None:
        """What is ruled of a subject. Who is judged by some of the references was asked something else."""
        if not self._rulings or subject.command is None or subject.without is not None:
            return None
        return self._rulings.get((subject.task, command_digest(subject.command)))

    def is_known_mutant(self, subject: GradingItem) -> bool:
        """Whether a subject's command is a reference's with one slip in it, and no reference itself."""
        if subject.command is None or subject.command in (references := self.references(subject)):
            return False
        return command_digest(subject.command) in self._known_mutants(self._tasks[subject.task], references)

    def _keys(self, task: str, command: bytes | None) -> list[str]:
        if command is None or not is_executable(command):
            return []
        return [key for key, _ in self.requests(task, command).values()]

    def parts(self, subject: GradingItem) -> dict[str, str]:
        """What a verdict on `subject` depends on, by name; the verdict's key is the digest of all of it."""
        own = [
            command_digest(subject.command or b""),
            str(subject.command is None),
            *self._keys(subject.task, subject.command),
        ]
        ruling = self.ruling(subject)
        slip = {"slip": "one slip away from a reference"} if self.is_known_mutant(subject) else {}
        return slip | {
            "command": digest_of(*(key.encode() for key in own)),
            "references": self._references_digest(subject),
            "against": "all references" if subject.without is None else f"all but reference {subject.without + 1}",
            "comparison": self._comparison_digest(subject.task),
            "judge": f"{self._judge.name} {self._judge.version}",
            "adjudication": f"{ruling.ruling.value}: {ruling.because}" if ruling else "none",
        }

    def _references_digest(self, subject: GradingItem) -> str:
        place = (subject.task, subject.without)
        if place not in self._references:
            keys = (key for each in self.references(subject) for key in self._keys(subject.task, each))
            self._references[place] = digest_of(*(key.encode() for key in keys))
        return self._references[place]

    def _comparison_digest(self, task_id: str) -> str:
        if task_id not in self._comparisons:
            task = self._tasks[task_id]
            compared = {
                **task.model_dump(mode="json", include={"nl", "output", "verify"}),
                "observe": sorted(task.observe),
                "text_files": sorted(task.text_files),
                "scratch": self._suite.manifest.scratch,
                "home": home_of(self._suite.manifest),
            }
            self._comparisons[task_id] = digest_of(canonical_json(compared))
        return self._comparisons[task_id]

    def key(self, subject: GradingItem) -> str:
        """The key of a verdict on `subject`."""
        return key_of(self.parts(subject))


def key_of(parts: Mapping[str, str]) -> str:
    """The key that a verdict's parts make."""
    return digest_of(*(part.encode() for part in parts.values()))


def cwd_of(suite: Suite, task: Task) -> str:
    """The folder that a task's commands start in."""
    return suite.worlds[task.world].manifest.cwd or suite.manifest.cwd


def home_of(manifest: SuiteManifest) -> str:
    """The folder that `~` means in a suite's scratch paths."""
    return manifest.environment.get("HOME", "/root")

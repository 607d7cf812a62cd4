"""The directories a job's world is stacked from: the base, its devices, a world's variant, a task's set-up.

Each layer above the base is the upper directory that a build left, so a world is made by the same means as
a job runs. A view is the stack mounted without an upper directory: it answers what stood at a path before.
"""

from __future__ import annotations

import hashlib
import os
import random
import shutil
import stat
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from evaluator.sandbox.runner import kernel
from evaluator.sandbox.runner.job import BrokenError, Ended, Jail, JailEntry
from evaluator.sandbox.runner.protocol import RunnerSettings, World

BASE = "/base"
RUN = Path("/run/bashboard")
RANDOM_BYTES = 1 << 20
BUILD_CPU_S = 30.0

_DEVICES = {"null": (1, 3), "zero": (1, 5), "full": (1, 7), "tty": (5, 0)}
_LINKS = {
    "fd": "/proc/self/fd",
    "stdin": "/proc/self/fd/0",
    "stdout": "/proc/self/fd/1",
    "stderr": "/proc/self/fd/2",
}


@dataclass(frozen=True, slots=True)
class Stack:
    """A world ready to run in: lower directories top first, its view, and who runs where in it."""

    lower: tuple[str, ...]
    view: str
    uid: int
    gids: tuple[int, ...]
    cwd: str
    start: bytes | None

    def entry(self, scratch: str, *above: str) -> JailEntry:
        """How the jail is to enter this stack, with further layers above it."""
        lower = ":".join((*above, *self.lower))
        return JailEntry(lower, scratch, self.uid, self.gids, self.cwd, self.start)


def make_scratch(directory: Path) -> Path:
    """The three directories that an overlay is made with; `upper` takes the place of `/`."""
    os.makedirs(directory)
    for name, mode in (("upper", 0o755), ("work", 0o700), ("root", 0o700)):
        os.mkdir(f"{directory}/{name}", mode)
    return directory


class Layers:
    """Builds layers on demand and keeps them for the life of the container."""

    def __init__(self, settings: RunnerSettings, jail: Jail) -> None:
        self._settings, self._jail = settings, jail
        self._stacks: dict[str, Stack] = {}
        self._worlds: dict[str, World] = {}
        self._built: dict[str, str] = {}
        self._devices = self._make_devices()

    def announce(self, world: World) -> None:
        """Take note of a world; it is built when a job first asks for it."""
        self._worlds[world.layer] = world

    def stack(self, layer: str) -> Stack:
        """The stack of an announced layer. Raises BrokenError with the script's own words where a build fails."""
        if layer not in self._stacks:
            self._stacks[layer] = self._make_stack(self._worlds[layer])
        return self._stacks[layer]

    def _make_stack(self, world: World) -> Stack:
        lower: tuple[str, ...] = (self._devices, BASE)
        variables = {"VARIANT": world.variant, "SEED": str(world.seed)}
        lower = (self._build(lower, world.build, variables, f"{world.name}/{world.variant} build.sh"), *lower)
        if world.setup is not None:
            label = f"{world.name}/{world.variant} setup"
            lower = (self._build(lower, world.setup, variables, label, world.cwd), *lower)
        view = f"/proc/self/fd/{kernel.detached_overlay(':'.join(lower))}/."  # the dot: links are not followed
        uid, gids = _identity(view, world.user)
        return Stack(lower, view, uid, gids, world.cwd, world.start)

    def _build(
        self, lower: tuple[str, ...], script: bytes, variables: Mapping[str, str], label: str, cwd: str = "/"
    ) -> str:
        """The layer that a script makes on top of others; the same script in the same place makes it once."""
        name = _layer_name(lower, script, label, cwd, *variables.values())
        if name not in self._built:
            self._built[name] = self._run_build(name, lower, script, variables, label, cwd)
        return self._built[name]

    def _run_build(
        self, name: str, lower: tuple[str, ...], script: bytes, variables: Mapping[str, str], label: str, cwd: str
    ) -> str:
        scratch = make_scratch(RUN / "layers" / name)
        entry = JailEntry(":".join(lower), str(scratch), cwd=cwd)
        environment = {**self._settings.environment, **variables}
        try:
            ended = self._jail.run(entry, script, environment, cpu_s=BUILD_CPU_S)
            if ended.ending != "exited" or ended.status != 0:
                raise BrokenError(f"{label} {_failure(ended)}")
        except BrokenError:
            shutil.rmtree(scratch)
            raise
        upper = str(scratch / "upper")
        _age(upper, self._settings.clock_s)
        return upper

    def _make_devices(self) -> str:
        """A layer with the devices a program expects; a job may then replace them for itself alone."""
        layer = RUN / "layers" / "devices"
        dev = layer / "dev"
        dev.mkdir(parents=True)
        for name, numbers in _DEVICES.items():
            os.mknod(dev / name, stat.S_IFCHR | 0o666, os.makedev(*numbers))
            (dev / name).chmod(0o666)
        for name, target in _LINKS.items():
            (dev / name).symlink_to(target)
        for name in ("random", "urandom"):
            (dev / name).write_bytes(random.Random(0).randbytes(RANDOM_BYTES))  # noqa: S311 - pinned on purpose
        (dev / "shm").mkdir()
        (dev / "shm").chmod(0o1777)
        _age(str(layer), self._settings.clock_s - 86_400)
        return str(layer)


def _layer_name(lower: tuple[str, ...], script: bytes, *facts: str) -> str:
    """A folder's name that is the same on every worker, because a job can read it in its mounts."""
    parts = (*map(str.encode, (*lower, *facts)), script)
    return hashlib.sha256(b"".join(hashlib.sha256(part).digest() for part in parts)).hexdigest()[:16]


def _failure(ended: Ended) -> str:
    said = ended.stderr.kept.decode("utf-8", "replace").strip()[-500:]
    return f"ended with {ended.ending if ended.status is None else f'status {ended.status}'}: {said}"


def _age(directory: str, clock_s: int) -> None:
    """Set every time later than the clock to it, children before their directory: looking at one dates it anew."""
    for entry in os.scandir(directory):
        if entry.is_dir(follow_symlinks=False):
            _age(entry.path, clock_s)
        _age_one(entry.path, clock_s)
    _age_one(directory, clock_s)


def _age_one(path: str, clock_s: int) -> None:
    entry = os.lstat(path)
    limit = clock_s * 10**9
    if max(entry.st_atime_ns, entry.st_mtime_ns) > limit:
        times = min(entry.st_atime_ns, limit), min(entry.st_mtime_ns, limit)
        os.utime(path, ns=times, follow_symlinks=False)


def _identity(view: str, user: str) -> tuple[int, tuple[int, ...]]:
    """Numbers of a world's user and its groups, from the world's own files. Raises BrokenError if unknown."""
    if user == "root":
        return 0, (0,)
    accounts, groups = _table(view, "passwd"), _table(view, "group")
    numbers = next(((int(line[2]), int(line[3])) for line in accounts if line[0] == user), None)
    if numbers is None:
        raise BrokenError(f"the world has no user {user!r}: add it in build.sh")
    return numbers[0], (numbers[1], *(int(line[2]) for line in groups if user in line[3].split(",")))


def _table(view: str, name: str) -> list[list[str]]:
    return [line.split(":") for line in Path(view, "etc", name).read_text(errors="replace").splitlines()]

"""The layers of a world, which is the set of files that a job starts with.

The layers are, from the bottom: the base image's files, devices, the files of one variant of the world, and the files
of the task's set-up. A stack is these layers on top of each other, mounted as an overlay. Each layer above the devices
contains the changes of a build script, which ran in the jail like a job. A view is a read-only mount of the stack. It
shows each path as it was before the job.
"""

from __future__ import annotations

import hashlib
import os
import random
import shutil
import stat
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from evaluator.sandbox.runner import kernel
from evaluator.sandbox.runner.inode_numbers import BASE_DISK, LAYERS_DISK, InodeNumbers
from evaluator.sandbox.runner.job import BrokenError, Jail, JailEntry
from evaluator.sandbox.runner.protocol import RunnerSettings, World

BASE = "/base"
FURTHER_BASES = Path("/bases")
"""The folder with the image's further base images, each in a folder with its name."""

PINNING = "/usr/lib/libpin.so"
RUN = Path("/run/bashboard")
RANDOM_BYTES = 1 << 20
BUILD_CPU_S = 30.0
HIDDEN_POSITION = 9
"""The position of the layer that hides paths, above all other layers of a world."""

FROZEN_NS = 900 * 10**9
"""FROZEN of `image/pin.c`: the suite's clock stands still during a build, so that no build depends on its duration."""

TICK_S = 0.02
"""The TICK of `image/pin.c`: the most by which the kernel's times of files are late."""

_DEVICES = {"null": (1, 3), "zero": (1, 5), "full": (1, 7), "tty": (5, 0)}
_LINKS = {
    "fd": "/proc/self/fd",
    "stdin": "/proc/self/fd/0",
    "stdout": "/proc/self/fd/1",
    "stderr": "/proc/self/fd/2",
}


@dataclass(frozen=True, slots=True)
class Stack:
    """A built world: its layers' directories (top first), view, user, groups, working directory and start script.

    `environment` holds the variables of the world's commands. `clock_s` is the time at which a command starts.
    """

    lower: tuple[str, ...]
    view: str
    uid: int
    gids: tuple[int, ...]
    cwd: str
    start: bytes | None
    environment: Mapping[str, str]
    clock_s: int

    def entry(self, scratch: str, *above: str) -> JailEntry:
        """Return the jail's inputs to enter this stack, with the layers `above` on top of the stack."""
        lower = ":".join((*above, *self.lower))
        return JailEntry(lower, scratch, self.uid, self.gids, self.cwd, self.start)


def make_scratch(directory: Path, clock_s: int) -> Path:
    """Make and return `directory`, with the three folders that an overlay needs: upper, work and root.

    The folder `upper` gets the suite's time `clock_s`, because a job sees this folder's time in `/`. If the folder had
    its real time, which is before the start of the job, the job would see the real time.
    """
    os.mkdir(directory)
    for name, mode in (("upper", 0o755), ("work", 0o700), ("root", 0o700)):
        os.mkdir(f"{directory}/{name}", mode)
    os.utime(f"{directory}/upper", (clock_s, clock_s))
    return directory


@dataclass(frozen=True, slots=True)
class _Build:
    """A script that makes a layer, with its variables, its clock, the name in its messages, and its directory."""

    script: bytes
    variables: Mapping[str, str]
    clock_s: int
    label: str
    cwd: str = "/"

    def layer_name(self, lower: tuple[str, ...]) -> str:
        """Return the name of the folder for the layer on top of `lower`, which is the same on every worker.

        Otherwise, a job that lists its mounts would see a different name on each worker.
        """
        inputs = (*lower, self.label, self.cwd, str(self.clock_s), *self.variables.values())
        parts = (*map(str.encode, inputs), self.script)
        return hashlib.sha256(b"".join(hashlib.sha256(part).digest() for part in parts)).hexdigest()[:16]


class Layers:
    """The worlds and their layers in this container. A layer is built at its first use and then kept."""

    def __init__(self, settings: RunnerSettings, jail: Jail, numbers: InodeNumbers) -> None:
        self._settings, self._jail, self._numbers = settings, jail, numbers
        self._stacks: dict[str, Stack] = {}
        self._worlds: dict[str, World] = {}
        self._layers: dict[str, str] = {}
        self._last_build_s = 0.0
        self._bases: set[str] = set()
        self._devices = self._make_devices()

    @property
    def built(self) -> int:
        """Return the number of stacks (complete worlds) that were built so far."""
        return len(self._stacks)

    def wait_until_old(self) -> None:
        """Wait until the files of all layers are old enough for a job.

        A job takes the times of files that are at most `TICK_S` older than the job for times during the job.
        """
        time.sleep(max(0.0, self._last_build_s + TICK_S - time.monotonic()))

    def register(self, world: World) -> None:
        """Register a world. The runner builds the world when the first job needs it."""
        self._worlds[world.layer] = world

    def stack(self, layer: str) -> Stack:
        """Return the stack (the built world) of a registered world with the name `layer`. Build it first if necessary.

        Raises BrokenError if a build script fails. The message contains the script's output.
        """
        if layer not in self._stacks:
            self._stacks[layer] = self._make_stack(self._worlds[layer])
        return self._stacks[layer]

    def _make_stack(self, world: World) -> Stack:
        name = f"{world.name}/{world.variant}"
        base = _base_directory(world.base)
        if base not in self._bases:
            self._bases.add(base)
            self._numbers.add(base, BASE_DISK, 1)
        lower: tuple[str, ...] = (self._devices, base)
        environment = {**self._settings.environment, **_preload(base)}
        variables = {**_preload(base), "VARIANT": world.like or world.variant, "SEED": str(world.seed)}
        clock_s = self._settings.clock_s if world.clock_s is None else world.clock_s
        build = _Build(world.build, variables, clock_s, f"{name} build.sh")
        lower = (self._build(lower, build), *lower)
        if world.setup is not None:
            build = _Build(world.setup, variables, clock_s, f"{name} setup", world.cwd)
            lower = (self._build(lower, build), *lower)
        if world.hidden:
            lower = (self._hide(base, world.hidden), *lower)
        view = f"/proc/self/fd/{kernel.detached_overlay(':'.join(lower))}/."  # O_NOFOLLOW refuses it without the dot
        uid, gids = _identity(view, world.user)
        return Stack(lower, view, uid, gids, world.cwd, world.start, environment, clock_s)

    def _build(self, lower: tuple[str, ...], build: _Build) -> str:
        """Return the directory of the layer that a build makes on top of `lower`. The first call builds it."""
        name = build.layer_name(lower)
        if name in self._layers:
            return self._layers[name]
        scratch = make_scratch(RUN / "layers" / name, build.clock_s)
        entry = JailEntry(":".join(lower), str(scratch), cwd=build.cwd, age_ns=-FROZEN_NS)
        environment = {**self._settings.environment, **build.variables}
        self._numbers.select(lower, build.clock_s)
        started_ns = time.time_ns()
        try:
            result = self._jail.run(entry, build.script, environment, cpu_s=BUILD_CPU_S)
            if result.ending != "exited" or result.status != 0:
                ending = result.ending if result.status is None else f"status {result.status}"
                stderr = result.stderr.data.decode("utf-8", "replace").strip()[-500:]
                raise BrokenError(f"{build.label} ended with {ending}: {stderr}")
        except BrokenError:
            shutil.rmtree(scratch)
            raise
        upper = str(scratch / "upper")
        self._numbers.add(upper, LAYERS_DISK, len(lower) + 1)  # this reads the folders, which changes their times
        _set_times(upper, _BuildTime(build.clock_s, started_ns, time.time_ns()))
        self._layers[name] = upper
        self._last_build_s = time.monotonic()
        return upper

    def _hide(self, base: str, paths: tuple[str, ...]) -> str:
        """Return the directory of the layer that hides paths of a base. The first call makes it.

        On an overlay, a character device with the number 0/0 hides the path of a lower layer.
        """
        name = hashlib.sha256("\0".join((base, *sorted(paths))).encode()).hexdigest()
        layer = RUN / "layers" / f"hidden-{name}"
        if layer.is_dir():
            return str(layer)
        for path in paths:
            place = layer / path.lstrip("/")
            place.parent.mkdir(parents=True, exist_ok=True)
            os.mknod(place, stat.S_IFCHR, os.makedev(0, 0))
        _copy_attributes(layer, base)
        self._numbers.add(str(layer), LAYERS_DISK, HIDDEN_POSITION)
        return str(layer)

    def _make_devices(self) -> str:
        """Make the layer with the devices that programs expect, and return its directory.

        A job can change only its own copy of the devices.
        """
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
        self._numbers.add(str(layer), LAYERS_DISK, 2)
        now_ns = time.time_ns()
        _set_times(str(layer), _BuildTime(self._settings.clock_s - 86_400, now_ns, now_ns))
        return str(layer)


def _copy_attributes(layer: Path, base: str) -> None:
    """Give each folder of a layer the mode, owner and times of the base image's folder, because it stands before it."""
    for folder, _, _ in os.walk(layer, topdown=False):
        below = Path(base) / Path(folder).relative_to(layer)
        if below.is_dir():
            shutil.copystat(below, folder)
            os.chown(folder, below.stat().st_uid, below.stat().st_gid)


def _base_directory(name: str | None) -> str:
    """Return the directory of a world's base image. If the image lacks the base, it is the suite's base image."""
    further = FURTHER_BASES / (name or "")
    return str(further) if name and further.is_dir() else BASE


def _preload(base: str) -> dict[str, str]:
    """Return the variable that makes programs of a base load the pinning library, if no file of the base does that.

    The loader of musl reads no `ld.so.preload`. So a command sees this variable on Alpine.
    """
    return {"LD_PRELOAD": PINNING} if any(Path(base).glob("lib/ld-musl-*")) else {}


@dataclass(frozen=True, slots=True)
class _BuildTime:
    """The clock of a build, in seconds, and the real time during which the build ran."""

    clock_s: int
    started_ns: int
    ended_ns: int

    def of(self, time_ns: int) -> int:
        """Return the time of a file on the build's clock.

        A time during the build is the clock's, because the clock stood still. Times that a script set itself stay, but
        no file is newer than the clock.
        """
        tick = int(TICK_S * 10**9)
        is_of_build = self.started_ns - tick <= time_ns <= self.ended_ns + tick
        return self.clock_s * 10**9 if is_of_build else min(time_ns, self.clock_s * 10**9)


def _set_times(directory: str, build: _BuildTime) -> None:
    """Set the times of all files in a directory to the clock of their build.

    The function changes the times of entries before those of their directory, because reading a directory changes the
    directory's access time.
    """
    for entry in os.scandir(directory):
        if entry.is_dir(follow_symlinks=False):
            _set_times(entry.path, build)
        else:
            _set_time(entry.path, build)
    _set_time(directory, build)


def _set_time(path: str, build: _BuildTime) -> None:
    entry = os.lstat(path)
    times = build.of(entry.st_atime_ns), build.of(entry.st_mtime_ns)
    if times != (entry.st_atime_ns, entry.st_mtime_ns):
        os.utime(path, ns=times, follow_symlinks=False)


def _identity(view: str, user: str) -> tuple[int, tuple[int, ...]]:
    """Return the uid and gids of a user, from the world's passwd and group files.

    Raises BrokenError if the world has no such user.
    """
    if user == "root":
        return 0, (0,)
    accounts, groups = _table(view, "passwd"), _table(view, "group")
    numbers = next(((int(line[2]), int(line[3])) for line in accounts if line[0] == user), None)
    if numbers is None:
        raise BrokenError(f"the world has no user {user!r}: add it in build.sh")
    return numbers[0], (numbers[1], *(int(line[2]) for line in groups if user in line[3].split(",")))


def _table(view: str, name: str) -> list[list[str]]:
    return [line.split(":") for line in Path(view, "etc", name).read_text(errors="replace").splitlines()]

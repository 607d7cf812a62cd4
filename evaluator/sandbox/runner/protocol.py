"""The messages between the host and the runner in a container. Each message is a line with one JSON object.

Bytes are encoded as in the records of evidence: as text if possible, otherwise in base64.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

WALL_FACTOR = 10
"""The ratio of the wall-clock limit to the CPU limit, for a job without its own wall-clock limit."""


_LONG = 1 << 14


def json_of(value: bytes) -> Any:
    """Return the JSON form of bytes: a string if the bytes are UTF-8, otherwise `{"base64": ...}`.

    A long text with many control characters is encoded in base64 too, because JSON needs six bytes for each of them.
    """
    try:
        text = value.decode()
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(value).decode()}
    if len(value) > _LONG and len(json.dumps(text, ensure_ascii=False)) > 1.4 * len(value):
        return {"base64": base64.b64encode(value).decode()}
    return text


def bytes_of(value: Any) -> bytes:
    """Return the bytes of a value that `json_of` returned."""
    return value.encode() if isinstance(value, str) else base64.b64decode(value["base64"])


def _optional_json(value: bytes | None) -> Any:
    return None if value is None else json_of(value)


def _optional_bytes(value: Any) -> bytes | None:
    return None if value is None else bytes_of(value)


ASLEEP: Final = "asleep"
"""The one field of a line that the runner sends during a job: whether all processes of the job sleep."""


@dataclass(frozen=True, slots=True)
class RunnerSettings:
    """The settings that all jobs of a suite share. The host sends the settings once, as the first line."""

    clock_s: int
    cpu_s: float
    disk_mb: int
    inodes: int
    output_bytes: int
    environment: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class World:
    """One variant of a world: the scripts that make the files a job starts with, the working directory and the user.

    The host sends a world before the first job in this world. Jobs refer to the world by `layer`. `base` names one of
    the image's further base images. Without `base`, or if the image lacks it, the world uses the suite's base image.

    `clock_s` is the time at which commands start, in seconds since 1970. None stands for the suite's clock. The build
    script gets `like` as its variable VARIANT, or `variant` if `like` is None. `hidden` lists paths that the build
    script sees and jobs do not.
    """

    layer: str
    name: str
    variant: str
    seed: int
    build: bytes
    start: bytes | None
    setup: bytes | None
    cwd: str
    user: str
    base: str | None = None
    clock_s: int | None = None
    like: str | None = None
    hidden: tuple[str, ...] = ()

    def to_line(self) -> dict[str, Any]:
        """Return this world as a line of JSON."""
        scripts = {name: _optional_json(getattr(self, name)) for name in ("start", "setup")}
        names = ("layer", "name", "variant", "seed", "cwd", "user", "base", "clock_s", "like", "hidden")
        plain = {name: getattr(self, name) for name in names}
        return {"op": "world", "build": json_of(self.build), **scripts, **plain}

    @staticmethod
    def from_line(line: Mapping[str, Any]) -> World:
        """Return the world in a line that `to_line` returned."""
        return World(
            layer=line["layer"],
            name=line["name"],
            variant=line["variant"],
            seed=line["seed"],
            build=bytes_of(line["build"]),
            start=_optional_bytes(line.get("start")),
            setup=_optional_bytes(line.get("setup")),
            cwd=line["cwd"],
            user=line["user"],
            base=line.get("base"),
            clock_s=line.get("clock_s"),
            like=line.get("like"),
            hidden=tuple(line.get("hidden", ())),
        )


@dataclass(frozen=True, slots=True)
class SandboxJob:
    """A job for the runner: one command to execute in one world.

    If there is a `driver`, the runner writes the command as a script to the path `answer`, and executes the driver.
    `wall_s` is the wall-clock limit in seconds of the command and of the verifier, each. Without it, the limit follows
    from the CPU limit of the suite.
    """

    layer: str
    command: bytes
    verify: bytes | None
    observe: frozenset[str]
    text_files: frozenset[bytes]
    driver: bytes | None = None
    answer: bytes | None = None
    wall_s: float | None = None

    def to_line(self) -> dict[str, Any]:
        """Return this job as a line of JSON."""
        return {
            "op": "run",
            "layer": self.layer,
            "command": json_of(self.command),
            "verify": _optional_json(self.verify),
            "observe": sorted(self.observe),
            "text_files": sorted(path.decode() for path in self.text_files),
            "driver": _optional_json(self.driver),
            "answer": _optional_json(self.answer),
            "wall_s": self.wall_s,
        }

    @staticmethod
    def from_line(line: Mapping[str, Any]) -> SandboxJob:
        """Return the job in a line that `to_line` returned."""
        return SandboxJob(
            layer=line["layer"],
            command=bytes_of(line["command"]),
            verify=_optional_bytes(line.get("verify")),
            observe=frozenset(line.get("observe", ())),
            text_files=frozenset(path.encode() for path in line.get("text_files", ())),
            driver=_optional_bytes(line.get("driver")),
            answer=_optional_bytes(line.get("answer")),
            wall_s=line.get("wall_s"),
        )

"""What goes over the line between host and runner: one JSON object a line, bytes as the records write them."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


def json_of(value: bytes) -> Any:
    """Bytes as JSON: a string where they are UTF-8, else `{"base64": ...}`."""
    try:
        return value.decode()
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(value).decode()}


def bytes_of(value: Any) -> bytes:
    """The bytes that `json_of` wrote."""
    return value.encode() if isinstance(value, str) else base64.b64decode(value["base64"])


def _optional(value: Any) -> bytes | None:
    return None if value is None else bytes_of(value)


WALL_FACTOR = 10
"""Wall-clock limit over CPU limit."""


def _optional_json(value: bytes | None) -> Any:
    return None if value is None else json_of(value)


@dataclass(frozen=True, slots=True)
class RunnerSettings:
    """What holds for every job of a suite; sent once, as the first line."""

    clock_s: int
    cpu_s: float
    disk_mb: int
    inodes: int
    output_bytes: int
    environment: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class World:
    """One variant of a world, sent before its first job; `layer` names it in jobs."""

    layer: str
    name: str
    variant: str
    seed: int
    build: bytes
    start: bytes | None
    setup: bytes | None
    cwd: str
    user: str

    def to_line(self) -> dict[str, Any]:
        """The line that introduces this world."""
        scripts = {name: _optional_json(getattr(self, name)) for name in ("start", "setup")}
        plain = {name: getattr(self, name) for name in ("layer", "name", "variant", "seed", "cwd", "user")}
        return {"op": "world", "build": json_of(self.build), **scripts, **plain}

    @staticmethod
    def from_line(line: Mapping[str, Any]) -> World:
        """Read the line that introduces a world."""
        return World(
            layer=line["layer"],
            name=line["name"],
            variant=line["variant"],
            seed=line["seed"],
            build=bytes_of(line["build"]),
            start=_optional(line.get("start")),
            setup=_optional(line.get("setup")),
            cwd=line["cwd"],
            user=line["user"],
        )


@dataclass(frozen=True, slots=True)
class SandboxJob:
    """One command to execute in one world."""

    layer: str
    command: bytes
    verify: bytes | None
    observe: frozenset[str]
    text_files: frozenset[bytes]

    def to_line(self) -> dict[str, Any]:
        """This job's line."""
        return {
            "op": "run",
            "layer": self.layer,
            "command": json_of(self.command),
            "verify": _optional_json(self.verify),
            "observe": sorted(self.observe),
            "text_files": sorted(path.decode() for path in self.text_files),
        }

    @staticmethod
    def from_line(line: Mapping[str, Any]) -> SandboxJob:
        """Read a job's line."""
        return SandboxJob(
            layer=line["layer"],
            command=bytes_of(line["command"]),
            verify=_optional(line.get("verify")),
            observe=frozenset(line.get("observe", ())),
            text_files=frozenset(path.encode() for path in line.get("text_files", ())),
        )

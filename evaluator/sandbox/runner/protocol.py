"""The messages between host and runner: one JSON object a line, with bytes encoded as in the records."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

WALL_FACTOR = 10
"""The ratio of the wall-clock limit to the CPU limit."""


def json_of(value: bytes) -> Any:
    """Return bytes as JSON: a string if they are UTF-8, otherwise `{"base64": ...}`."""
    try:
        return value.decode()
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(value).decode()}


def bytes_of(value: Any) -> bytes:
    """Return the bytes that `json_of` encoded."""
    return value.encode() if isinstance(value, str) else base64.b64decode(value["base64"])


def _optional_json(value: bytes | None) -> Any:
    return None if value is None else json_of(value)


def _optional_bytes(value: Any) -> bytes | None:
    return None if value is None else bytes_of(value)


@dataclass(frozen=True, slots=True)
class RunnerSettings:
    """The settings of all jobs of a suite, sent once as the first line."""

    clock_s: int
    cpu_s: float
    disk_mb: int
    inodes: int
    output_bytes: int
    environment: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class World:
    """One variant of a world, sent before its first job. Jobs refer to it by `layer`."""

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
        """Return the line that introduces this world."""
        scripts = {name: _optional_json(getattr(self, name)) for name in ("start", "setup")}
        plain = {name: getattr(self, name) for name in ("layer", "name", "variant", "seed", "cwd", "user")}
        return {"op": "world", "build": json_of(self.build), **scripts, **plain}

    @staticmethod
    def from_line(line: Mapping[str, Any]) -> World:
        """Return the world of a line that `to_line` wrote."""
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
        """Return this job's line."""
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
        """Return the job of a line that `to_line` wrote."""
        return SandboxJob(
            layer=line["layer"],
            command=bytes_of(line["command"]),
            verify=_optional_bytes(line.get("verify")),
            observe=frozenset(line.get("observe", ())),
            text_files=frozenset(path.encode() for path in line.get("text_files", ())),
        )

"""This module defines the exceptions of Bashboard and their exit codes.

    BashboardError                 the base class; exit code 2 unless a subclass sets another
    ├── UsageError                 the arguments name something that does not exist, or contradict each other (2)
    ├── FormatError                a file breaks its format; carries all problems                             (1)
    ├── MissingError               this machine lacks something: an engine, an image, a tool                  (3)
    │   └── PermissionMissingError a token lacks a required permission
    └── InfraError                 our machinery failed, so an answer gets no score and the work is retried   (3)
        ├── EngineError            the container engine did not answer or refused
        │   └── SilentEngineError  the engine accepts requests and does not answer
        ├── GitHubError            GitHub did not answer, or answered unexpectedly
        │   └── MovedError         a branch moved since the work began
        ├── ImageError             the sandbox image could not be built
        └── SandboxError           the runner in the container failed or refuses to work

A failure of a *candidate command* is never an exception. It is part of the evidence for a verdict.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import NamedTuple


class Severity(StrEnum):
    """The severity of a problem. A file with an error is rejected. A warning reports a possible mistake."""

    ERROR = "error"
    WARNING = "warning"


class Problem(NamedTuple):
    """One problem in one file. `line` counts from 1, and is 0 if the problem concerns the whole file."""

    path: Path
    line: int
    message: str
    severity: Severity = Severity.ERROR

    def __str__(self) -> str:
        """Return `path:line: message`. Editors and pull-request diffs can read this format."""
        location = f"{self.path}:{self.line}" if self.line else f"{self.path}"
        label = "warning: " if self.severity is Severity.WARNING else ""
        return f"{location}: {label}{self.message}"


class BashboardError(Exception):
    """The base class of this project's errors. The command line prints an error as one line and returns `exit_code`."""

    exit_code = 2


class UsageError(BashboardError):
    """The arguments of a command name something that does not exist, or contradict each other."""


class FormatError(BashboardError):
    """A file violates its format. `problems` holds all problems of the file."""

    exit_code = 1

    def __init__(self, problems: Sequence[Problem]) -> None:
        self.problems = tuple(problems)
        super().__init__("\n".join(str(problem) for problem in self.problems))


class MissingError(BashboardError):
    """This machine lacks an engine, an image or a tool. The message ends with a command that solves the problem."""

    exit_code = 3


class PermissionMissingError(MissingError):
    """A GitHub token lacks a permission. The message names the permission in the syntax of workflow files."""


class InfraError(BashboardError):
    """This project's machinery failed, so an answer gets no score. The work is retried, or ends as an infra-error."""

    exit_code = 3


class EngineError(InfraError):
    """The container engine did not answer, or refused a request."""


class SilentEngineError(EngineError):
    """The container engine accepts requests and does not answer them."""


class GitHubError(InfraError):
    """GitHub gave no answer after several attempts, or an unexpected answer."""


class MovedError(GitHubError):
    """A branch received a push after the work began. The caller repeats the work from the branch's new commit."""


class ImageError(InfraError):
    """The sandbox image could not be built."""


class SandboxError(InfraError):
    """The runner inside a container sent an invalid answer, stopped, or failed its self-check."""

"""Everything that can go wrong on our side of the fence.

    BashboardError                 exit code 2 unless a subclass says otherwise
    ├── UsageError                 the caller named something that does not exist or contradicts itself   (2)
    ├── FormatError                a file is not what its format says; carries every problem found        (1)
    ├── MissingError               something this machine lacks: an engine, an image, a tool              (3)
    │   └── PermissionMissingError a token lacks a permission that the work needs
    └── InfraError                 our machinery failed while doing the work; retried, never a score      (3)
        ├── EngineError            the container engine did not answer or refused
        │   └── SilentEngineError  it takes requests and answers none
        ├── GitHubError            GitHub did not answer, or not as it should
        │   └── MovedError         a branch is no longer where the work began
        ├── ImageError             the sandbox image could not be built
        └── SandboxError           the runner in the container failed or refuses to work

What a *candidate command* does is never an exception: it is evidence, and a verdict follows from it.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import NamedTuple


class Severity(StrEnum):
    """An error refuses the file; a warning tells what its author may not have meant."""

    ERROR = "error"
    WARNING = "warning"


class Problem(NamedTuple):
    """One thing wrong with one file; `line` is 1-based, 0 where the whole file is meant."""

    path: Path
    line: int
    message: str
    severity: Severity = Severity.ERROR

    def __str__(self) -> str:
        """`path:line: message`, the form editors and the pull-request diff understand."""
        place = f"{self.path}:{self.line}" if self.line else f"{self.path}"
        mark = "warning: " if self.severity is Severity.WARNING else ""
        return f"{place}: {mark}{self.message}"


class BashboardError(Exception):
    """Base of all our errors; the command line prints it in one line and exits with `exit_code`."""

    exit_code = 2


class UsageError(BashboardError):
    """The caller asked for something that does not exist or cannot be meant."""


class FormatError(BashboardError):
    """A file breaks its format. `problems` holds all of them, in file order."""

    exit_code = 1

    def __init__(self, problems: Sequence[Problem]) -> None:
        self.problems = tuple(problems)
        super().__init__("\n".join(str(problem) for problem in self.problems))


class MissingError(BashboardError):
    """This machine lacks something; the message ends with the line to type."""

    exit_code = 3


class PermissionMissingError(MissingError):
    """GitHub refuses a token; the message names the permission that is missing, as a workflow writes it."""


class InfraError(BashboardError):
    """Our machinery failed. Never a score: the work is retried or reported as infra-error."""

    exit_code = 3


class EngineError(InfraError):
    """The container engine did not answer, or refused what it was asked."""


class SilentEngineError(EngineError):
    """The container engine accepts requests and does not answer them: it hangs."""


class GitHubError(InfraError):
    """GitHub did not answer although it was asked again, or answered what it should not."""


class MovedError(GitHubError):
    """Somebody else pushed to a branch since the work began; it is done again from where the branch is now."""


class ImageError(InfraError):
    """The sandbox image could not be built."""


class SandboxError(InfraError):
    """The runner inside the container broke the protocol, died, or failed its self-check."""

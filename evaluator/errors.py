"""The exceptions of Bashboard, with their exit codes.

    BashboardError                 the base class; exit code 2 unless a subclass sets another
    ├── UsageError                 the arguments name something that does not exist, or contradict each other (2)
    ├── FormatError                a file breaks its format; carries all problems                             (1)
    ├── MissingError               this machine lacks something: an engine, an image, a tool                  (3)
    │   └── PermissionMissingError a token lacks a required permission
    └── InfraError                 our machinery failed; retried, never a score                               (3)
        ├── EngineError            the container engine did not answer or refused
        │   └── SilentEngineError  it accepts requests and does not answer them
        ├── GitHubError            GitHub did not answer, or answered unexpectedly
        │   └── MovedError         a branch moved since the work began
        ├── ImageError             the sandbox image could not be built
        └── SandboxError           the runner in the container failed or refuses to work

A failure of a *candidate command* is never an exception. It is evidence that a verdict is based on.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import NamedTuple


class Severity(StrEnum):
    """The severity of a problem. An error rejects the file. A warning points at a possible mistake."""

    ERROR = "error"
    WARNING = "warning"


class Problem(NamedTuple):
    """One problem in one file. `line` is 1-based, or 0 for the whole file."""

    path: Path
    line: int
    message: str
    severity: Severity = Severity.ERROR

    def __str__(self) -> str:
        """Return `path:line: message`, the form that editors and the pull-request diff understand."""
        location = f"{self.path}:{self.line}" if self.line else f"{self.path}"
        label = "warning: " if self.severity is Severity.WARNING else ""
        return f"{location}: {label}{self.message}"


class BashboardError(Exception):
    """The base class of all our errors. The command line prints it in one line and exits with `exit_code`."""

    exit_code = 2


class UsageError(BashboardError):
    """The arguments name something that does not exist, or contradict each other."""


class FormatError(BashboardError):
    """A file breaks its format. `problems` holds all of them, in file order."""

    exit_code = 1

    def __init__(self, problems: Sequence[Problem]) -> None:
        self.problems = tuple(problems)
        super().__init__("\n".join(str(problem) for problem in self.problems))


class MissingError(BashboardError):
    """This machine lacks something. The message ends with the command to run."""

    exit_code = 3


class PermissionMissingError(MissingError):
    """A GitHub token lacks a permission. The message names the permission as a workflow file writes it."""


class InfraError(BashboardError):
    """Our machinery failed. This never becomes a score: the work is retried or reported as an infra-error."""

    exit_code = 3


class EngineError(InfraError):
    """The container engine did not answer, or refused a request."""


class SilentEngineError(EngineError):
    """The container engine hangs: it accepts requests and does not answer them."""


class GitHubError(InfraError):
    """GitHub did not answer after several attempts, or answered unexpectedly."""


class MovedError(GitHubError):
    """A branch received a push since the work began. The work is repeated from the branch's new commit."""


class ImageError(InfraError):
    """The sandbox image could not be built."""


class SandboxError(InfraError):
    """The runner inside the container broke the protocol, died, or failed its self-check."""

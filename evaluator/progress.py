"""The interface through which a long computation reports its progress."""

from __future__ import annotations

from typing import Protocol


class Progress(Protocol):
    """A receiver of progress messages. A computation reports its stages in order: one ends when the next begins."""

    def say(self, text: str) -> None:
        """Announce a step of unknown length."""
        ...

    def stage(self, name: str, total: int) -> None:
        """Begin a stage of `total` equal steps."""
        ...

    def advance(self) -> None:
        """Count one completed step of the current stage."""
        ...

    def note(self, text: str) -> None:
        """Show an intermediate result of the current stage, such as the cost so far. It replaces the previous note."""
        ...


class NullProgress:
    """A receiver that ignores all progress messages."""

    def say(self, text: str) -> None:
        """Ignore the announced step."""

    def stage(self, name: str, total: int) -> None:
        """Ignore the beginning of a stage."""

    def advance(self) -> None:
        """Ignore the completed step of a stage."""

    def note(self, text: str) -> None:
        """Ignore the intermediate result."""

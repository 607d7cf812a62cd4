"""How long work tells how far it is, without knowing who listens."""

from __future__ import annotations

from typing import Protocol


class Progress(Protocol):
    """Told of stages in order; a stage ends when the next begins."""

    def say(self, text: str) -> None:
        """Something that takes a while begins; its length is not known."""
        ...

    def stage(self, name: str, total: int) -> None:
        """A stage of `total` equal steps begins."""
        ...

    def advance(self) -> None:
        """One step of the present stage is done."""
        ...

    def note(self, text: str) -> None:
        """What the present stage has come to so far, such as its cost; a later note takes its place."""
        ...


class NullProgress:
    """Nobody listens."""

    def say(self, text: str) -> None:
        """Say nothing."""

    def stage(self, name: str, total: int) -> None:
        """Show nothing."""

    def advance(self) -> None:
        """Count nothing."""

    def note(self, text: str) -> None:
        """Tell nothing."""

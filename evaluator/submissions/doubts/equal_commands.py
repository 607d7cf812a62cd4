"""Decide which candidates are one command, so that a list of five does not count one command five times."""

from __future__ import annotations


def comparable_form(command: bytes) -> bytes:
    """Return a form that is equal for commands that differ only in how they are written."""
    return command.strip()

"""Which repository on GitHub a command is about, and by whose leave: a job's environment says both."""

from __future__ import annotations

from collections.abc import Mapping

from evaluator.github.connection import Connection, connect_from


def repository_of(environ: Mapping[str, str]) -> Connection:
    """The repository of GITHUB_REPOSITORY, by GITHUB_TOKEN. Raises MissingError for what is not set."""
    return connect_from(environ)

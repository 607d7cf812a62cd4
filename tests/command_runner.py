"""A runner that calls the command line in this process and builds the commands only once.

Typer's runner builds every command again at each call, which takes longer than most commands take.
"""

from __future__ import annotations

import functools
from typing import Any

import pytest
from typer.main import get_command
from typer.testing import CliRunner, Result

built_command = functools.cache(get_command)
"""Return the commands of a Typer application. Every call for the same application returns the same object."""


class CommandRunner(CliRunner):
    """Typer's runner with one tree of commands for all calls. A call does not change the tree."""

    def invoke(self, *arguments: Any, **options: Any) -> Result:
        """Run the command, as `CliRunner.invoke` does."""
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("typer.testing._get_command", built_command)
            return super().invoke(*arguments, **options)

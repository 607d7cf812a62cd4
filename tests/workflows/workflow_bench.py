"""A test's board on the GitHub double, and functions that write workflow files for this board."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tests.doubles.github import GitHubServer, HostedRepo
from tests.doubles.workflows import Actions, RunResult, pushed

CHECKOUT = "actions/checkout@3d3c42e5aac5ba805825da76410c181273ba90b1"
UPLOAD = "actions/upload-artifact@bbbca2ddaa5d8feaa63e36b76fdaad77386f024f"
DOWNLOAD = "actions/download-artifact@3e5f45b2cfb9172054b4087a40e8e0b5a5461e7c"
CACHE = "actions/cache@27d5ce7f107fe9357f9df03efb73ab90386fccae"
PYTHON = "actions/setup-python@5fda3b95a4ea91299a34e894583c3862153e4b97"


@dataclass(frozen=True)
class WorkflowHarness:
    """A repository on the GitHub double, with its owner and the runner of its workflows."""

    github: GitHubServer
    board: HostedRepo
    actions: Actions

    def push(self, files: Mapping[str, Any], **workflows: str) -> dict[str, RunResult]:
        """Push files and named workflow files to main, and return the results of the started runs by workflow name."""
        before = self.board.git.find("refs/heads/main")
        paths = {f".github/workflows/{name}.yml": text.encode() for name, text in workflows.items()}
        self.board.git.commit("main", {**files, **paths})
        return self.actions.trigger(pushed(self.board, before, self.board.owner))

    def run(self, jobs: str, files: Mapping[str, Any] | None = None) -> RunResult:
        """Run jobs for a push to main, and return the result."""
        return self.push(files or {}, tried=workflow(jobs))["tried"]

    def step(self, *steps: str) -> RunResult:
        """Run a job named `only` with these steps, and return the result."""
        return self.run(job("only", *steps))


def workflow(jobs: str, on: str = "push", more: str = "") -> str:
    """Return the text of a workflow file with the name `tried`."""
    head = f"name: tried\non: {on}\npermissions: {{contents: read}}\ndefaults: {{run: {{shell: bash}}}}\n{more}"
    return head + "jobs:\n" + textwrap.indent(textwrap.dedent(jobs), "  ")


def job(name: str, *steps: str, more: str = "") -> str:
    """Return a job with steps. Each step is the text after its dash."""
    listed = "".join(
        f"    - {textwrap.indent(textwrap.dedent(step).strip(), '      ').strip()}\n"
        for step in steps or ("run: 'true'",)
    )
    return f"{name}:\n  runs-on: ubuntu-24.04\n{textwrap.indent(textwrap.dedent(more), '  ')}  steps:\n{listed}"

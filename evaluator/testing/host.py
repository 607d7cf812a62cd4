"""A machine for tests. It executes nothing, and records the commands that `evaluator.sandbox.host` would run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from evaluator.sandbox.host import CompletedCommand


class ScriptedHost:
    """A machine for tests, with prepared results of commands.

    `results` maps the beginning of a command line to its results. If several keys match, the first is used. `calls`
    holds every command line in order.
    """

    def __init__(
        self,
        results: Mapping[str, CompletedCommand | Sequence[CompletedCommand]] | None = None,
        *,
        programs: Sequence[str] = (),
        is_root: bool = True,
        distribution: Sequence[str] = ("debian",),
    ) -> None:
        self.results = {
            key: [value] if isinstance(value, CompletedCommand) else list(value)
            for key, value in (results or {}).items()
        }
        self.programs = frozenset(programs)
        self.is_root = is_root
        self.distribution = frozenset(distribution)
        self.calls: list[str] = []

    def has(self, program: str) -> bool:
        """Return whether the simulated machine has a program. The attribute `programs` lists its programs."""
        return program in self.programs

    def run(self, *argv: str, timeout_s: float = 900) -> CompletedCommand:
        """Return a command's next result. The last result is repeated. Without results, the output is empty."""
        line = " ".join(argv)
        self.calls.append(line)
        for start, results in self.results.items():
            if line.startswith(start):
                return results.pop(0) if len(results) > 1 else results[0]
        return CompletedCommand(0, "")

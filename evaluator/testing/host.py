"""A machine that installs nothing: what `evaluator.sandbox.host` would have done, told to a test."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from evaluator.sandbox.host import CompletedCommand


class ScriptedHost:
    """A machine played from a table: the first answer whose key begins the command line is given.

    `calls` holds every command line in order, so that a test can tell what would have been done.
    """

    def __init__(
        self,
        answers: Mapping[str, CompletedCommand | Sequence[CompletedCommand]] | None = None,
        *,
        programs: Sequence[str] = (),
        is_root: bool = True,
        distribution: Sequence[str] = ("debian",),
    ) -> None:
        self.answers = {
            key: [value] if isinstance(value, CompletedCommand) else list(value)
            for key, value in (answers or {}).items()
        }
        self.programs = frozenset(programs)
        self.is_root = is_root
        self.distribution = frozenset(distribution)
        self.calls: list[str] = []

    def has(self, program: str) -> bool:
        """Whether the table's machine has it."""
        return program in self.programs

    def run(self, *argv: str, timeout_s: float = 900) -> CompletedCommand:
        """Give the next answer, the last one for ever; a program that is not in the table succeeds in silence."""
        line = " ".join(argv)
        self.calls.append(line)
        for start, answers in self.answers.items():
            if line.startswith(start):
                return answers.pop(0) if len(answers) > 1 else answers[0]
        return CompletedCommand(0, "")

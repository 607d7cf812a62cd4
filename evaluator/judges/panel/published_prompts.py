"""Read the prompts of a paper from its authors' clones, and ask their questions in place of ours.

Westenfelder et al. 2025 publish the prompt for two commands in the repository NL2SH, and the prompt for two commands
with their output in the repository InterCode-ALFA. Both are string expressions of Python programs. This module parses
these programs and never runs them. No prompt is copied into this project.

A published prompt quotes nothing: the text of a command stands beside the instructions to the model. So a command can
give orders to the model. Such prompts therefore serve to measure judges on known pairs, never to judge submissions.
"""

from __future__ import annotations

import ast
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, NamedTuple

from evaluator.errors import UsageError
from evaluator.judges.case import Case, Executed
from evaluator.judges.panel.parse_reply import ReplyForm
from evaluator.judges.panel.prompt import Question, questions
from evaluator.records import Finding, canonical_json, digest_of

_SOURCES: Final[Mapping[str, str]] = {
    "llm": "code/feh_comparison.ipynb",
    "exec-llm": "src/icalfa/envs/bash/bash_env.py",
}
"""For each judge, the file of its prompt in the clone of a repository."""

_FIELDS: Final[Mapping[str, str]] = {
    "prompt": "task",
    "ground_truth_command": "reference",
    "gold_command": "reference",
    "model_command": "candidate",
    "gold_command_output": "reference output",
    "model_command_output": "candidate output",
}
"""The names of variables in the published programs, and the value that each of them has."""


class _Value(NamedTuple):
    """A place in a prompt for a value. `most` is the maximum number of characters, or None."""

    name: str
    most: int | None


@dataclass(frozen=True, slots=True)
class JudgePrompt:
    """A prompt: the system message, and the parts of the user's message."""

    system: str
    parts: tuple[str | _Value, ...]

    def user(self, values: Mapping[str, str]) -> str:
        """Return the user's message with these values."""
        return "".join(part if isinstance(part, str) else values[part.name][: part.most] for part in self.parts)


@dataclass(frozen=True, slots=True)
class PublishedPrompts:
    """The published prompts of one or both of the judges `llm` and `exec-llm`."""

    by_judge: Mapping[str, JudgePrompt]

    @property
    def digest(self) -> str:
        """Return the digest of the prompts."""
        prompts = {name: [prompt.system, list(prompt.parts)] for name, prompt in sorted(self.by_judge.items())}
        return digest_of(canonical_json(prompts))

    def require(self, judges: Sequence[str]) -> list[str]:
        """Return these judges, or all judges with a prompt. Raises UsageError if one of them has no prompt."""
        for judge in judges:
            if judge not in self.by_judge:
                raise UsageError(f"--prompts: the judge {judge} has no prompt here; expected {_named(self.by_judge)}")
        return list(judges or self.by_judge)

    def questions(self, judge: str, case: Case, evidence: str) -> tuple[Question, ...]:
        """Return the published question about a case for each reference."""
        prompt, candidate = self.by_judge[judge], case.candidate
        if candidate is None:
            return ()
        return tuple(
            Question(judge, evidence, prompt.system, prompt.user(values), whole=True, form=ReplyForm.TRUTH)
            for values in (_values(case, reference, candidate) for reference in case.references)
        )


def _named(judges: Iterable[str]) -> str:
    return " or ".join(sorted(judges))


def _values(case: Case, reference: Executed, candidate: Executed) -> dict[str, str]:
    return {
        "task": case.task.nl,
        "reference": reference.command.decode(errors="replace"),
        "candidate": candidate.command.decode(errors="replace"),
        "reference output": _output(reference),
        "candidate output": _output(candidate),
    }


def _output(executed: Executed) -> str:
    """Return the output in the publisher's own world, the first variant. The paper joins both streams."""
    trial = next(iter(executed.trials.values()), None)
    return (trial.first.stdout.data + trial.first.stderr.data).decode(errors="replace") if trial else ""


def questions_of(
    prompts: PublishedPrompts | None, judge: str, case: Case, finding: Finding, evidence: str
) -> tuple[Question, ...]:
    """Return the published questions about a case, or ours if there are no published prompts for the judge."""
    if prompts is None or judge not in prompts.by_judge:
        return questions(judge, case, finding, evidence)
    return prompts.questions(judge, case, evidence)


def read_prompts(clones: Sequence[Path]) -> PublishedPrompts:
    """Read the prompts of all clones. Raises UsageError if a clone has no file with a prompt, or another form of it."""
    found: dict[str, JudgePrompt] = {}
    for clone in clones:
        paths = {judge: clone / name for judge, name in _SOURCES.items() if (clone / name).is_file()}
        if not paths:
            names = " or ".join(_SOURCES.values())
            raise UsageError(f"{clone}: expected a clone of NL2SH or InterCode-ALFA, with the file {names}")
        found |= {judge: _read_prompt(path) for judge, path in paths.items()}
    return PublishedPrompts(found)


def _read_prompt(path: Path) -> JudgePrompt:
    try:
        nodes = [node for module in _modules(path) for node in ast.walk(module)]
        systems = {text for node in nodes for text in _system_messages(node)}
        users = {parts for node in nodes if (parts := _user_message(node)) is not None}
    except (OSError, ValueError, SyntaxError, RecursionError, KeyError, TypeError) as error:
        raise UsageError(f"{path}: expected a Python program or a notebook with the paper's prompt: {error}") from error
    if len(systems) != 1 or len(users) != 1:
        raise UsageError(
            f"{path}: expected one system message and one user message, found {len(systems)} and {len(users)}; is it "
            "the repository of Westenfelder et al. 2025?"
        )
    return JudgePrompt(systems.pop(), users.pop())


def _modules(path: Path) -> Iterator[ast.Module]:
    """Parse the program, or each cell of a notebook. Skip cells that are no Python."""
    text = path.read_text("utf-8")
    if path.suffix != ".ipynb":
        yield ast.parse(text)
        return
    for cell in json.loads(text)["cells"]:
        if cell["cell_type"] == "code":
            try:
                yield ast.parse("".join(cell["source"]))
            except SyntaxError:  # a cell of shell commands
                continue


def _system_messages(node: ast.AST) -> Iterator[str]:
    """Yield the constant content of a system message: a variable `system_prompt`, or a message of a chat."""
    content: str | None = None
    if isinstance(node, ast.Assign) and [ast.unparse(target) for target in node.targets] == ["system_prompt"]:
        content = _text(node.value)
    elif isinstance(node, ast.Dict):
        message = {_text(key): _text(value) for key, value in zip(node.keys, node.values, strict=True)}
        content = message.get("content") if message.get("role") == "system" else None
    if content is not None:
        yield content


def _text(node: ast.AST | None) -> str | None:
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else None


def _user_message(node: ast.AST) -> tuple[str | _Value, ...] | None:
    """Return the parts of an f-string that contains the task and the candidate, or None for any other node."""
    if not isinstance(node, ast.JoinedStr):
        return None
    parts = tuple(part for value in node.values if (part := _part(value)) is not None)
    names = {part.name for part in parts if isinstance(part, _Value)}
    return parts if len(parts) == len(node.values) and names >= {"task", "candidate"} else None


def _part(node: ast.expr) -> str | _Value | None:
    """Return a part of an f-string: a text, or a known variable with an optional limit. Return None for others."""
    if isinstance(node, ast.Constant):
        return str(node.value)
    if not isinstance(node, ast.FormattedValue) or node.conversion != -1 or node.format_spec is not None:
        return None
    value, most = node.value, None
    if isinstance(value, ast.Subscript) and isinstance(value.slice, ast.Slice):
        limit = value.slice
        if limit.lower or limit.step or not isinstance(limit.upper, ast.Constant) or type(limit.upper.value) is not int:
            return None
        value, most = value.value, limit.upper.value
    return _Value(_FIELDS[value.id], most) if isinstance(value, ast.Name) and value.id in _FIELDS else None

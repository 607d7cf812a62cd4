"""This module reads InterCode's published results: what seven systems did with the tasks of InterCode-Bash.

The results are files of episodes, one file for a system, a strategy and a file system. An episode is one task with the
system's actions, the observations that it got, and the reward after each action. The answer at turn K is the last
command of the first K actions. An episode ends after a reward of 1, so its answer stays the same at later turns.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Final

from pydantic import BaseModel, Field, ValidationError

from evaluator.errors import FormatError, Problem, UsageError
from evaluator.records import Method, Task
from evaluator.submissions.importers.imported_system import (
    AnswerImporter,
    AnswerSource,
    ImportedSystem,
    Publication,
    command_fault,
)
from evaluator.submissions.messages import listed, quoted

INTERCODE: Final = Publication(
    name="intercode",
    suite="intercode",
    authors="Yang et al. 2023 (InterCode)",
    title="InterCode's published results",
    licence="MIT",
    link="https://github.com/princeton-nlp/intercode",
)

TRY_AGAIN: Final = "try-again"
_STRATEGIES: Final[Mapping[str, tuple[str, str]]] = {
    TRY_AGAIN: ("multiturn", "The model sees the reward and may try again."),
    "react": ("react", "The model writes a thought before each action (ReAct)."),
    "plan-solve": ("plan_solve_fs", "The model writes a plan and then performs its steps."),
    "plan-solve-refine": ("plan_solve_refine", "The model writes a plan, performs its steps, and may refine them."),
}
"""The strategies by name: the mark in the names of their files, and a description."""

_SYSTEMS: Final[Mapping[str, tuple[str, bool]]] = {
    "chat-bison-001": ("chat-bison-001", False),
    "gpt-3.5": ("gpt-3.5-turbo", False),
    "gpt-4": ("gpt-4", False),
    "starchat": ("StarChat-16B", True),
    "text-bison-001": ("text-bison-001", False),
    "text-davinci-003": ("text-davinci-003", False),
    "vicuna": ("Vicuna-13B", True),
}
"""The systems by the name of their folder: the model's name in the paper, and whether its weights are open."""

_BLOCKED: Final = "blocked"
"""The publisher's mark for a request that the model's server refused. Such a turn has no observation."""

_CONTROLS: Final = frozenset({"submit", "skip"})
_REACT_ACTION: Final = re.compile(r"execute\[(.*)\]", re.DOTALL)
_FILE_SYSTEM: Final = re.compile(r"nl2bash_fs_(\d)\.json$")


class _History(BaseModel):
    actions: Annotated[list[str], Field(min_length=1)]
    observations: list[str | None] = Field(default_factory=list)
    rewards: list[float]


class _Episode(BaseModel):
    """One entry of a file of episodes. Other fields of the publisher are ignored."""

    dataset: str
    task_id: Annotated[int, Field(ge=0)]
    query: str
    turn_history: _History


@dataclass(frozen=True, slots=True)
class PublishedAnswer:
    """One system's published answer to a task at one turn. `command` is None if the system gave none.

    `observation` is the output that the publisher's environment returned for the command.
    """

    task: str
    command: str | None
    observation: str | None
    reward: float


@dataclass(frozen=True, slots=True)
class PublishedSystem:
    """A system of the results, and its answers by task. `folder` is the name of its folder in the results."""

    folder: str
    strategy: str
    answers: Mapping[str, PublishedAnswer]

    @property
    def model(self) -> str:
        """Return the model's name in the paper."""
        return _SYSTEMS[self.folder][0]


def read_published(source: AnswerSource) -> list[PublishedSystem]:
    """Return the systems of the results for each selected strategy, with their answers at the selected turn."""
    results = source.clone / "data" / "results" / "bash"
    if not results.is_dir():
        raise UsageError(f"{source.clone}: expected a clone of InterCode with data/results/bash, found no such folder")
    strategies = source.strategies or (TRY_AGAIN,)
    for unknown in [name for name in strategies if name not in _STRATEGIES]:
        raise UsageError(f"no strategy is named {quoted(unknown)}; there are: {listed(_STRATEGIES)}")
    tasks = {task.id: task for task in source.tasks}
    problems: list[Problem] = []
    systems = []
    for strategy in dict.fromkeys(strategies):
        for folder in _SYSTEMS:
            files = sorted((results / folder).glob(f"*{_STRATEGIES[strategy][0]}*.json"))
            answers = [answer for file in files for answer in _answers(file, source, tasks, problems)]
            if answers:
                systems.append(PublishedSystem(folder, strategy, {answer.task: answer for answer in answers}))
    if problems:
        raise FormatError(problems)
    if not systems:
        raise UsageError(
            f"{results}: expected files of episodes such as gpt-4/ic_bash_multiturn_…_fs_1.json, found none"
        )
    return systems


def _answers(
    path: Path, source: AnswerSource, tasks: Mapping[str, Task], problems: list[Problem]
) -> Iterator[PublishedAnswer]:
    """Yield the answers in one file of episodes. Append a problem for each invalid entry."""
    try:
        text = path.read_text("utf-8")
        value = json.loads(text)
    except ValueError as error:
        line = error.lineno if isinstance(error, json.JSONDecodeError) else 0
        problems.append(Problem(path, line, f"expected JSON: {error}"))
        return
    entries = value.get("logs", value) if isinstance(value, dict) else None
    if not isinstance(entries, dict):
        problems.append(Problem(path, 0, "expected an object with one entry for each episode"))
        return
    for key, entry in entries.items():
        try:
            yield _answer(entry, source, tasks)
        except ValueError as error:
            problems.append(Problem(path, _line_of(key, text), f"entry {quoted(key)}: {_fault(error)}"))


def _answer(value: Any, source: AnswerSource, tasks: Mapping[str, Task]) -> PublishedAnswer:
    """Return the answer in one entry. Raises ValueError if the entry is invalid or answers no task of the suite."""
    entry = _Episode.model_validate(value)
    file_system = _FILE_SYSTEM.search(entry.dataset)
    task = tasks.get(f"fs{file_system[1] if file_system else '?'}-{entry.task_id:03d}")
    if task is None:
        raise ValueError(f"no task of the suite belongs to entry {entry.task_id} of {quoted(entry.dataset)}")
    if task.nl.split() != entry.query.split():
        raise ValueError(f"its query is not the instruction of {task.id}: import suite and results from one clone")
    history = entry.turn_history
    actions = history.actions[: source.turn]
    if len(history.rewards) < len(actions):
        raise ValueError(f"expected a reward for each action, found {len(history.rewards)} rewards")
    observations = [*history.observations[: len(actions)], *[None] * (len(actions) - len(history.observations))]
    commands = [_command(*each) for each in zip(actions, observations, strict=True)]
    given = [index for index, command in enumerate(commands) if command is not None]
    index = given[-1] if given else 0
    command = commands[index]
    if command is not None and (fault := command_fault(command, source.limits)):
        raise ValueError(fault)
    return PublishedAnswer(task.id, command, observations[index], history.rewards[index])


def _command(action: str, observation: str | None) -> str | None:
    """Return the command of an action, or None if the action is no command."""
    wrapped = _REACT_ACTION.fullmatch(action)
    command = wrapped[1] if wrapped else action
    return None if command in _CONTROLS or (command == _BLOCKED and observation is None) else command


def _line_of(key: str, text: str) -> int:
    """Return the line on which an entry begins, or 0 if the text is formatted in another way."""
    mark = f"{json.dumps(key)}:"
    return next((number for number, line in enumerate(text.split("\n"), 1) if line.lstrip().startswith(mark)), 0)


def _fault(error: ValueError) -> str:
    if not isinstance(error, ValidationError):
        return str(error)
    first = error.errors(include_url=False)[0]
    place = ".".join(map(str, first["loc"])) or "entry"
    return f"expected dataset, task_id, query and turn_history; {place}: {first['msg']}"


def read_systems(source: AnswerSource) -> list[ImportedSystem]:
    """Return the systems of the published results, ready to be written as submissions."""
    return [_imported(published, source.turn) for published in read_published(source)]


def _imported(published: PublishedSystem, turn: int) -> ImportedSystem:
    model, open_weights = _SYSTEMS[published.folder]
    suffixes = [
        *([published.strategy] if published.strategy != TRY_AGAIN else []),
        *([f"turn-{turn}"] if turn > 1 else []),
    ]
    label = f" ({', '.join(suffixes).replace('turn-', 'turn ')})" if suffixes else ""
    single = "The first action" if turn == 1 else f"The last command of the first {turn} actions"
    commands = ((answer.task, answer.command) for answer in published.answers.values())
    return ImportedSystem(
        name="-".join([published.folder.replace(".", "-"), *suffixes]),
        system=f"{model}{label}",
        method=Method.PROMPTED if published.strategy == TRY_AGAIN and turn == 1 else Method.AGENT,
        description=f"{single} for each task, alone in a new world. {_STRATEGIES[published.strategy][1]}",
        answers={task: _as_list(command) for task, command in commands},
        open_weights=open_weights,
        models=(model,),
    )


def _as_list(command: str | None) -> Sequence[str]:
    return () if command is None else (command,)


INTERCODE_RESULTS: Final = AnswerImporter(INTERCODE, read_systems)

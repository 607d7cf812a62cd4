"""This module writes prompts that give a suite's tasks to a model, and converts the model's replies to predictions.

A prompt contains only information that every system may have: the instruction, and a description of the machine. It
contains nothing about references, the files of worlds, or the comparison with references.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import Annotated, Any, Final

from pydantic import BaseModel, Field, ValidationError

from evaluator.errors import FormatError, Problem
from evaluator.records import SuiteManifest, Task, WorldManifest
from evaluator.submissions.messages import listed, nearest, quoted

COMPLETIONS: Final = "/v1/chat/completions"

_RULES: Final = (
    "You translate an instruction into one Bash command. Answer with the command alone: no explanation, no prompt "
    "sign, no alternatives. It may have several lines. It runs once, without a terminal, a network or anybody to ask."
)

_SCRIPT_RULES: Final = (
    "You translate an instruction into a Bash script. Answer with the script alone: no explanation, no prompt sign, no "
    "alternatives. The script is saved as {answer}, and a test program runs it: perhaps several times, with arguments, "
    "from another directory, as another user, or sourced into a shell. If the instruction speaks of an argument or an "
    "input, it is $1, the next one is $2, and so on. There is no terminal, no network and nobody to ask. Text on "
    "standard error and changes of files that the instruction does not ask for may count as errors."
)


def messages_of(manifest: SuiteManifest, world: WorldManifest, task: Task) -> list[dict[str, str]]:
    """Return the chat messages that give one task to a model. `world` is the manifest of the task's world.

    A task with a driver asks for a script, so its messages say how the script is run.
    """
    base = manifest.bases[world.base] if world.base else manifest.base
    user, cwd = world.user or manifest.user, world.cwd or manifest.cwd
    packages = ", ".join(base.packages) or "none"
    date = f"{manifest.clock:%Y-%m-%d %H:%M} UTC"
    if any(variant.clock for variant in world.variants):
        date = "another one in each run"
    machine = (
        f"The machine: {base}, {manifest.shell}, user {user}, working directory "
        f"{cwd}, date: {date}. Packages beyond the essential ones: {packages}."
    )
    if world.hidden:
        machine += f" Removed: {', '.join(world.hidden)}."
    limits = manifest.limits
    machine += (
        f" Limits of a run: {limits.cpu_s:g} s of CPU time, {limits.memory_mb} MB of memory, {limits.disk_mb} MB of "
        f"new files, {limits.output_kb} kB of output."
    )
    rules = _RULES if task.answer is None else _SCRIPT_RULES.format(answer=task.answer)
    return [{"role": "system", "content": f"{rules}\n{machine}"}, {"role": "user", "content": task.nl}]


def command_rules(manifest: SuiteManifest) -> str:
    """Return the system message of a suite's prompts, with its base and without the machine of a task."""
    return f"{_RULES}\nThe machine: {manifest.base}, {manifest.shell}."


def prompt_line(task: str, messages: list[dict[str, str]]) -> str:
    """Return one task's prompt as a line of JSON with `task` and `messages`."""
    return json.dumps({"task": task, "messages": messages}, ensure_ascii=False)


def batch_line(task: str, messages: list[dict[str, str]], model: str) -> str:
    """Return a request for one task as a line of a batch file. The request sets the temperature of the model to 0."""
    body = {"model": model, "messages": messages, "temperature": 0}
    request = {"custom_id": task, "method": "POST", "url": COMPLETIONS, "body": body}
    return json.dumps(request, ensure_ascii=False)


class _BatchMessage(BaseModel):
    content: str | None = None


class _BatchChoice(BaseModel):
    message: _BatchMessage


class _BatchUsage(BaseModel):
    prompt_tokens: Annotated[int, Field(ge=0)] | None = None
    completion_tokens: Annotated[int, Field(ge=0)] | None = None


class _Body(BaseModel):
    choices: Annotated[tuple[_BatchChoice, ...], Field(min_length=1)]
    usage: _BatchUsage | None = None


class _Response(BaseModel):
    status_code: int = 200
    body: Any = None


class _Reply(BaseModel):
    """A model's reply to one request: a line in the results of a batch. Unknown fields of a server are ignored."""

    custom_id: str
    response: _Response | None = None
    error: Any = None


def predictions_from(path: Path, data: bytes, tasks: Collection[str]) -> tuple[dict[str, str], list[str]]:
    """Convert the results of a batch to predictions. Also return the ids of tasks with a failed request.

    A prediction is a line of JSON with the model's first reply and the token counts. The predictions are a mapping from
    task to line. Raises FormatError with every invalid line, for example a line with an unknown task.
    """
    lines: dict[str, str] = {}
    failed: list[str] = []
    problems: list[Problem] = []
    for number, text in enumerate(data.decode("utf-8", "replace").splitlines(), start=1):
        try:
            reply = _Reply.model_validate_json(text)
            _expect_new(reply.custom_id, tasks, {*lines, *failed})
            if reply.error is not None or reply.response is None or reply.response.status_code != 200:
                failed.append(reply.custom_id)
            else:
                lines[reply.custom_id] = _prediction(reply.custom_id, _Body.model_validate(reply.response.body))
        except ValueError as error:
            problems.append(Problem(path, number, _fault(error)))
    if problems:
        raise FormatError(problems)
    return lines, failed


def _expect_new(task: str, tasks: Collection[str], earlier: Collection[str]) -> None:
    if task in earlier:
        raise ValueError(f"custom_id {quoted(task)} again: expected one result a task; keep one of the two")
    if task not in tasks:
        raise ValueError(f"custom_id {quoted(task)} is no task of the suite{nearest(task, tasks)}")


def _fault(error: ValueError) -> str:
    if not isinstance(error, ValidationError):
        return str(error)
    faults = (f"{'.'.join(map(str, item['loc'])) or 'line'}: {item['msg']}" for item in error.errors(include_url=False))
    expected = 'expected a line of a batch\'s results, {"custom_id": "<task>", "response": {"body": {"choices": ...}}}'
    return f"{expected}; {listed(faults, 3)}"


def _prediction(task: str, body: _Body) -> str:
    usage = body.usage or _BatchUsage()
    line: Mapping[str, object] = {
        "task": task,
        "output": body.choices[0].message.content or "",
        "input_tokens": usage.prompt_tokens,
        "output_tokens": usage.completion_tokens,
    }
    return json.dumps({name: value for name, value in line.items() if value is not None}, ensure_ascii=False)


def prediction_file(tasks: Iterable[str], lines: Mapping[str, str]) -> bytes:
    """Return the content of `<suite>.jsonl`: the given lines, in the order of the suite's tasks."""
    return "".join(f"{lines[task]}\n" for task in tasks if task in lines).encode()

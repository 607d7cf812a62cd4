"""This module writes prompts that give a suite's tasks to a model.

A prompt contains only information that every system may have: the instruction, and a description of the machine. It
contains nothing about references, the files of worlds, or the comparison with references.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Final

from evaluator.records import SuiteManifest, Task, WorldManifest

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


def messages_of(manifest: SuiteManifest, world: WorldManifest, task: Task, command_bytes: int) -> list[dict[str, str]]:
    """Return the chat messages that give one task to a model. `world` is the manifest of the task's world.

    `command_bytes` is the maximum size of a command in a submission, which a generated script can reach.

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
        f"new files, {limits.output_kb} kB of output. An answer has at most {command_bytes:,} bytes."
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


def prediction_file(tasks: Iterable[str], lines: Mapping[str, str]) -> bytes:
    """Return the content of `<suite>.jsonl`: the given lines, in the order of the suite's tasks."""
    return "".join(f"{lines[task]}\n" for task in tasks if task in lines).encode()

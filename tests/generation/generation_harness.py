"""A small checkout, orders of `bashboard generate`, and a double of a model server that answers them."""

from __future__ import annotations

import contextlib
import json
import shutil
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any, Final

from typer.testing import Result

from evaluator.cli import app
from evaluator.pipeline.generation.generate_submission import Generated, GenerateOptions, generate
from evaluator.pipeline.generation.recipe import endpoint_of, recipe_of
from evaluator.pipeline.project import Project
from evaluator.progress import NullProgress
from evaluator.testing.checkouts import copy_checkout, small_checkout, small_task
from tests.command_runner import CommandRunner
from tests.doubles.model_server import Act, JudgeServer, ReceivedRequest, Said, completion

ROOT: Final = Path(__file__).parents[2]
TASKS: Final = 40


class RecordedProgress(NullProgress):
    """A receiver that keeps the announcements."""

    def __init__(self) -> None:
        self.said: list[str] = []

    def say(self, text: str) -> None:
        """Keep an announcement."""
        self.said.append(text)


def forty_tasks(folder: Path) -> Project:
    """Make a checkout with forty tasks, forty training pairs and no submission."""
    tasks = [small_task(f"files-{number:03}", nl=f"Print the word number {number}.") for number in range(TASKS)]
    made = small_checkout(folder, tasks, {})
    pairs = [{"nl": f"count the lines of file{n}.txt in folder {n}", "command": f"wc -l {n}"} for n in range(40)]
    (folder / "fixtures" / "train").mkdir()
    path = folder / "fixtures" / "train" / "pairs.jsonl"
    path.write_text("".join(f"{json.dumps(pair)}\n" for pair in pairs))
    return made


def core_checkout(folder: Path, tasks: Collection[str]) -> Project:
    """Copy this checkout with a few tasks of the suite core, whose image an engine has, and without submissions."""
    made = copy_checkout(ROOT, folder, lambda task: task["id"] in tasks)
    shutil.rmtree(folder / "submissions")
    return made


def bashboard(project: Project, *arguments: str, key: str = "key") -> Result:
    """Run the command in a checkout. `key` is the key of the server, in the variable MY_KEY."""
    with contextlib.chdir(project.root):
        return CommandRunner().invoke(app, arguments, env={"MY_KEY": key}, catch_exceptions=False)


def options_for(
    server: JudgeServer, *methods: str, key: str | None = "key", limit: int | None = None, **options: Any
) -> GenerateOptions:
    prices = {name: options.pop(name) for name in ("input_usd", "output_usd") if name in options}
    names = ("max_usd", "replace", "pairs", "system", "powercap")
    place = {name: options.pop(name) for name in names if name in options}
    place["published"] = options.get("published")
    endpoint = endpoint_of(server.url, "a-model", key_variable="MY_KEY", parallel=options.pop("parallel", 4), **prices)
    suites = ("tiny",)
    return GenerateOptions(
        "my-model", suites, endpoint, recipe_of("a-model", methods, **options), key, limit=limit, **place
    )


def made_by(
    project: Project, act: Act, *methods: str, script: Sequence[Act] | None = None, **options: Any
) -> Generated:
    with JudgeServer(act, script or ()) as server:
        return generate(project, options_for(server, *methods, **options), NullProgress())


def commands(project: Project) -> dict[str, list[str]]:
    lines = (project.root / "submissions" / "my-model" / "tiny.jsonl").read_text().splitlines()
    return {line["task"]: [each["command"] for each in line["candidates"]] for line in map(json.loads, lines)}


def echoes(asked: ReceivedRequest) -> Said:
    """Answer with a command that depends on the whole request, so that equal requests get equal answers."""
    last = asked.messages[-1]["content"].split()[-1].strip(".")
    return completion(f"```bash\necho {last} {asked.body.get('seed')}\n```")

"""Kill `bashboard generate` at random moments and continue it: python -m tests.generation.killed_run SEED

The command prints the numbers of one run with ten kills.
"""

from __future__ import annotations

import hashlib
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

from evaluator.pipeline.project import Project
from tests.doubles.model_server import JudgeServer, ReceivedRequest, Said, completion
from tests.generation.generation_harness import ROOT, forty_tasks

PARALLEL: Final = 4
_LONGEST_LIFE_S: Final = 0.8
"""The longest time between the first new request of a run and its kill."""
_REFUSED: Final = 3
"""One of this number of tasks gets a first reply that bash refuses, and is asked again."""


@dataclass(frozen=True, slots=True)
class KilledRun:
    """The counts of a run that was killed and continued until it was complete.

    `repeats` is the number of requests that the server received more often than once. `unlogged` has the number of
    requests without a reply in the log at each kill, which are those in flight.
    """

    kills: int
    requests: int
    repeats: int
    unlogged: tuple[int, ...]


def varied(asked: ReceivedRequest) -> Said:
    """Answer with a command, a time and numbers of tokens that depend on the request alone."""
    number = int(hashlib.sha256(text_of(asked).encode()).hexdigest(), 16)
    task = asked.messages[1]["content"].split()[-1].strip(".")
    is_refused = int(task) % _REFUSED == 0 and len(asked.messages) == 2
    said = completion(f"```bash\necho {task} {asked.body['seed']}{' broken' * is_refused}{chr(39) * is_refused}\n```")
    body = json.loads(said.body)
    body["usage"] = {"prompt_tokens": 100 + number % 50, "completion_tokens": 1 + number % 30}
    return said._replace(body=json.dumps(body).encode(), after_s=0.1 + number % 16 / 20)


def text_of(asked: ReceivedRequest) -> str:
    return json.dumps(asked.body, sort_keys=True)


def kill_and_continue(project: Project, kills: int, seed: int) -> KilledRun:
    """Kill the command `kills` times at moments by `seed`, then let it end. The submission is in the checkout."""
    chance = random.Random(seed)  # noqa: S311 - moments of kills
    log = project.root / ".bashboard" / "generate" / "my-model.jsonl"
    unlogged: list[int] = []
    with JudgeServer(varied) as server:
        command = [sys.executable, "-m", "evaluator.cli", "generate", "my-model", "--model", "a-model"]
        command += ["--suite", "tiny", "--method", "parser", "--base-url", server.url]
        command += ["--parallel", str(PARALLEL), "--key-env", "MY_KEY"]
        environment = {**os.environ, "PYTHONPATH": str(ROOT), "MY_KEY": "key"}
        for _ in range(kills):
            before = len(server.asked)
            with subprocess.Popen(command, cwd=project.root, env=environment, stderr=subprocess.DEVNULL) as process:
                while len(server.asked) == before and process.poll() is None:
                    time.sleep(0.002)
                time.sleep(chance.random() * _LONGEST_LIFE_S)
                process.send_signal(signal.SIGKILL)
            assert process.returncode == -signal.SIGKILL, "the run ended before its kill"
            logged = sum(_is_whole(line) for line in log.read_bytes().splitlines()) if log.exists() else 0
            unlogged.append(len(set(map(text_of, server.asked))) - logged)
        done = subprocess.run(command, cwd=project.root, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        asked = list(map(text_of, server.asked))
    return KilledRun(kills, len(set(asked)), len(asked) - len(set(asked)), tuple(unlogged))


def _is_whole(line: bytes) -> bool:
    try:
        return bool(json.loads(line))
    except ValueError:
        return False


def answers(project: Project) -> list[Mapping[str, Any]]:
    """Return the lines of the submission without their times."""
    text = (project.root / "submissions" / "my-model" / "tiny.jsonl").read_text()
    return [
        {name: value for name, value in json.loads(line).items() if name != "latency_s"} for line in text.splitlines()
    ]


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        run = kill_and_continue(forty_tasks(Path(folder)), 10, int(sys.argv[1]))
    sys.stdout.write(f"{json.dumps(asdict(run))}\n")

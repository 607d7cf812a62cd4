"""Every command of the training pairs runs on the machine of core: it is found, its options exist, and it is allowed.

The commands run in a Git repository. It has the files that commands read by a redirection and the folders that they
write to or enter, because bash refuses such a command before it runs. Other files, users and processes are missing. A
utility reads its options before it opens a file, so a missing file is no error here.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterable, Mapping
from pathlib import Path

import pytest

from evaluator.pipeline.grading.executor import open_executor
from evaluator.pipeline.project import Project
from evaluator.progress import NullProgress
from evaluator.records import Evidence
from evaluator.sandbox.engine import Engine
from evaluator.sandbox.requests import Request
from evaluator.sandbox.runner.protocol import World

PROJECT = Project(Path(__file__).parents[2])
REPOSITORY = """
mkdir -p /home/w
cd /home/w
printf 'a b\\nc d\\n' > notes.txt
printf '3\\n4\\n' > sales.txt  # a command adds its lines
git init -q -b main
git add notes.txt
git -c user.name=W -c user.email=w@example.org commit -q -m notes
"""
REDIRECTED = re.compile(r"(?<![\d<>&=])(<|>>?|\bcd )\s*(~?[\w./-]*\w)")
SYSTEM = ("/dev/", "/etc/", "/proc/", "/sys/")

MISSING_FILE = re.compile(
    r"no such file|cannot (?:stat|access|open)|unable to open|does not exist|unknown revision", re.I
)
UNKNOWN_COMMAND = re.compile(r"command not found|not a shell builtin|no such (?:builtin|command)", re.I)
REFUSED_USAGE = re.compile(
    r"(?:invalid|unrecognized|unknown|ambiguous|illegal|bad) (?:option|predicate|argument|primary|command|key|suffix)"
    r"|unexpected token|syntax error|parse error|bad substitution|extra operand|missing (?:operand|argument)"
    r"|requires an argument|unterminated|unmatched|try '|^usage:",
    re.I | re.M,
)
REFUSED_RIGHT = re.compile(
    r"permission denied|not permitted|must be (?:root|superuser|run as)|only root|read-only file system", re.I
)


def prepared_world(commands: Iterable[str]) -> World:
    """Return a world with the files and folders of the commands' redirections and of `cd`."""
    lines = set[str]()
    for command in commands:
        for sign, path in REDIRECTED.findall(command):
            home = path.replace("~", "/root")
            folder = home if sign == "cd " else str(Path(home).parent)
            if not home.startswith(SYSTEM):
                lines.add(f"mkdir -p {shlex.quote(folder)} || :")
            if sign == "<" and not home.startswith(SYSTEM):
                lines.add(f"test -e {shlex.quote(home)} || cp notes.txt {shlex.quote(home)} || :")
    build = "\n".join([REPOSITORY, *sorted(lines)]).encode()  # sorted: folders are made before files
    return World("", "scratch", "plain", 1, build, None, None, "/home/w", "root")


@pytest.fixture(scope="module", params=[10, pytest.param(1, marks=pytest.mark.soak)], ids="every {}".format)
def every(request: pytest.FixtureRequest) -> int:
    """The distance of the pairs whose commands run. `make soak` runs all."""
    return int(request.param)


@pytest.fixture(scope="module")
def messages(engine: Engine, every: int, tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, str]:
    """What each command wrote to standard error, by command. Of a sample, a command that waits is ended soon."""
    lines = (PROJECT.fixtures / "train" / "pairs.jsonl").read_text("utf-8").splitlines()[::every]
    commands = [json.loads(line)["command"] for line in lines]
    world = prepared_world(commands)
    requests = [Request.of(world, command.encode(), wall_s=6 if every > 1 else None) for command in commands]
    found: dict[str, str] = {}
    store = tmp_path_factory.mktemp("pairs") / "store.sqlite"
    with open_executor(PROJECT, PROJECT.suite("core"), NullProgress(), store_path=store) as executor:
        for request, result in executor.execute(requests):
            assert isinstance(result, Evidence), f"{request.job.command!r}: {result}"
            found[request.job.command.decode()] = result.stderr.data.decode(errors="replace")
    assert len(found) == len(lines)
    return found


def complaints(messages: Mapping[str, str], pattern: re.Pattern[str]) -> dict[str, str]:
    """Return the commands with a message that matches, unless a missing file can be the reason of the message."""
    return {
        command: message
        for command, message in messages.items()
        if pattern.search(message) and not MISSING_FILE.search(message)
    }


def test_every_command_is_found(messages: Mapping[str, str]) -> None:
    assert {command: text for command, text in messages.items() if UNKNOWN_COMMAND.search(text)} == {}


def test_no_utility_refuses_its_arguments(messages: Mapping[str, str]) -> None:
    assert complaints(messages, REFUSED_USAGE) == {}


def test_every_command_is_allowed(messages: Mapping[str, str]) -> None:
    assert complaints(messages, REFUSED_RIGHT) == {}

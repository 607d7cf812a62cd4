"""Every step of the workflows is one `bashboard` command with options that exist."""

from __future__ import annotations

import re
import shlex

import pytest

from evaluator.cli import app
from tests.command_runner import built_command
from tests.workflows.workflow_yaml import JOBS, ROOT, Job

VALUES = {
    "IMAGE": "0" * 64,
    "REFERENCES": "0" * 64,
    "JUDGED": '["a-submission"]',
    "PUBLISHED": "0" * 64,
    "PULL": "17",
    "RUN": "1",
    "GITHUB_RUN_ID": "1",
    "ISSUE": "1",
    "RULING": "pass",
    "SUBMISSION": "a-submission",
    "SUBMISSIONS": '["a-submission"]',
}
"""The values that replace variables when a command line is parsed."""

TARGETS = set(re.findall(r"(?m)^([a-z-]+):", (ROOT / "Makefile").read_text()))
SETTINGS = {"PYTHON=python", "EXAMPLES=thorough"}
OPTIONAL = re.compile(r"\$\{(\w+):\+(--[a-z-]+)\}")
"""An option that a script adds if a variable is not empty. The command never contains the variable's value."""


def is_target(run: str) -> bool:
    """Return whether a step makes a target of the Makefile, if necessary with settings that it reads."""
    program, *words = run.split()
    return program == "make" and words[0] in TARGETS and set(words[1:]) <= SETTINGS


COMMANDS = sorted(
    {
        (job.place, OPTIONAL.sub(replacement, run))
        for job in JOBS
        for run in job.commands
        for replacement in ("", r"\2")
        if not is_target(run)
    }
)


def parse_command(run: str) -> None:
    """Parse a command line without running the command. Raises the error that the command would print."""
    words = [re.sub(r"^\$(\w+)$", lambda match: VALUES[match[1]], word) for word in shlex.split(run)]
    assert words.pop(0) == "bashboard"
    command = built_command(app)
    while commands := getattr(command, "commands", None):
        assert words[0] in commands, f"there is no {run!r}"
        command = commands[words.pop(0)]
    command.make_context(run, words)


@pytest.mark.parametrize(("place", "run"), COMMANDS)
def test_every_step_is_a_command_with_existing_options(place: str, run: str) -> None:
    parse_command(run)


def test_an_unknown_option_is_reported() -> None:
    with pytest.raises(Exception, match="No such option"):
        parse_command("bashboard check --sinse HEAD^1")


@pytest.mark.parametrize("job", JOBS, ids=lambda job: job.place)
def test_a_step_sets_the_variables_of_its_script(job: Job) -> None:
    """A step sets every variable that its script uses, and the script quotes every variable."""
    for step in job.steps:
        optional = {variable for variable, _ in OPTIONAL.findall(step.get("run", ""))}
        script = OPTIONAL.sub("", step.get("run", ""))
        quoted = re.findall(r'"\$(\w+)(?:/[\w./-]*)?"', script)
        assert script.count("$") == len(quoted)
        assert optional.union(quoted) <= set(step.get("env", {})) | {"GITHUB_RUN_ID", "RUNNER_TEMP"}

"""The maintainers' page says of every job what its file says: whose code, what its token may, secrets, strangers."""

from __future__ import annotations

import re
from typing import Any

import pytest

from tests.workflows.workflow_yaml import BY_PLACE, FOLDER, JOBS, ROOT, WORKFLOWS, Job, read, texts

PAGE = (ROOT / "site/maintain.md").read_text("utf-8")
HEAD = ["job", "code", "data", "its token may", "secrets", "strangers' commands"]
EXECUTING = ("bashboard preview ", 'bashboard evidence make "$SUBMISSION"', "make test")
"""Beginnings of what gives commands of a stranger to a shell."""

each_job = pytest.mark.parametrize("job", JOBS, ids=lambda job: job.place)


def tables() -> list[list[list[str]]]:
    """The page's tables, each of them rows of cells, the heads first."""
    blocks = re.findall(r"(?m)(?:^ *\|.*\|\n)+", PAGE)
    return [
        [[cell.strip() for cell in line.strip().strip("|").split(" | ")] for line in block.splitlines()]
        for block in blocks
    ]


def said() -> dict[str, dict[str, str]]:
    """The cells of each job that the page names, by their column."""
    (rows,) = (table[2:] for table in tables() if table[0] == HEAD)
    return {place: dict(zip(HEAD, row, strict=True)) for row in rows for place in re.findall(r"`([\w.]+)`", row[0])}


SAID = said()


def triggers(job: Job) -> dict[str, Any]:
    return dict.fromkeys(read(FOLDER / "workflows" / f"{job.workflow}.yml")["on"])


def test_every_job_is_in_the_table_once() -> None:
    assert set(SAID) == set(BY_PLACE)
    assert sum(PAGE.count(f"`{place}`") for place in BY_PLACE) == len(BY_PLACE)


@each_job
def test_a_token_may_what_the_page_says(job: Job) -> None:
    assert SAID[job.place]["its token may"] == ", ".join(
        f"`{name}: {may}`" for name, may in job.held["permissions"].items()
    )


def secrets(job: Job) -> set[str]:
    return {name for text in texts(job.held) for name in re.findall(r"secrets\.(\w+)", text)}


@each_job
def test_a_job_sees_the_secrets_that_the_page_says(job: Job) -> None:
    """They are those of its environment."""
    assert SAID[job.place]["secrets"] == (f"of `{job.held['environment']}`" if secrets(job) else "none")


@each_job
def test_strangers_commands_are_executed_where_the_page_says(job: Job) -> None:
    executes = any(run.startswith(EXECUTING) for run in job.commands)
    assert SAID[job.place]["strangers' commands"] == ("yes" if executes else "no")


@each_job
def test_the_page_says_whose_code_a_job_runs(job: Job) -> None:
    """A pull request's own run is of its own code; a job without a checkout runs none of ours."""
    own = "the pull request's" if "pull_request" in triggers(job) else ""
    mains = "main's" if set(triggers(job)) - {"pull_request"} else ""
    code = " or ".join(each for each in (mains, own) if each) if job.using("checkout") else "GitHub's"
    assert SAID[job.place]["code"] == code


def test_the_environments_that_are_to_be_made_are_those_that_jobs_name() -> None:
    """Each with the secrets of its jobs."""
    held: dict[str, set[str]] = {}
    for job in JOBS:
        environment = job.held.get("environment")
        if environment:
            name = environment["name"] if isinstance(environment, dict) else environment
            held.setdefault(name, set()).update(secrets(job))
    (rows,) = (table[2:] for table in tables() if table[0][0] == "environment")
    assert {row[0].strip("`"): set(re.findall(r"BASHBOARD_\w+", row[1])) for row in rows} == held


@pytest.mark.parametrize(("trigger", "word"), [("schedule", "daily"), ("workflow_dispatch", "by hand")])
def test_the_page_says_of_every_workflow_when_it_runs(trigger: str, word: str) -> None:
    (rows,) = (table[2:] for table in tables() if table[0][0] == "workflow")
    told = {row[0].strip("*"): row[1] for row in rows}
    assert set(told) == {path.stem for path in WORKFLOWS}
    assert {name for name, when in told.items() if word in when} == {
        path.stem for path in WORKFLOWS if trigger in read(path)["on"]
    }


def test_the_labels_that_forms_and_appeals_need_are_to_be_made() -> None:
    """GitHub leaves a form's label out where the repository has none of that name."""
    forms = [read(path) for path in sorted((FOLDER / "ISSUE_TEMPLATE").glob("*.yml"))]
    needed = {label for form in forms for label in form.get("labels", [])} | {"ruling: pass", "ruling: fail"}
    (step,) = re.findall(r"(?s)\*\*Labels\.\*\*(.+?)\n\d\. ", PAGE)
    assert set(re.findall(r"`([^`]+)`", step)) == needed

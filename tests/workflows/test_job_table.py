"""The table of jobs on the page for maintainers matches the workflow files."""

from __future__ import annotations

import re
from typing import Any

import pytest

from evaluator.pipeline.publishing.collect import EXECUTE
from tests.workflows.workflow_yaml import BY_PLACE, CALLS, FOLDER, JOBS, ROOT, WORKFLOWS, Job, read, texts

PAGE = (ROOT / "site/maintain.md").read_text("utf-8")
HEAD = ["job", "code", "data", "its token may", "secrets", "contributors' commands"]
EXECUTING = ("bashboard preview ", 'bashboard evidence make "$SUBMISSION"', "make test", "make soak")
"""The beginnings of commands that execute a contributor's commands."""


def tables() -> list[list[list[str]]]:
    """Return the tables of the page as rows of cells. The first row is the header."""
    blocks = re.findall(r"(?m)(?:^ *\|.*\|\n)+", PAGE)
    return [
        [[cell.strip() for cell in line.strip().strip("|").split(" | ")] for line in block.splitlines()]
        for block in blocks
    ]


def documented_jobs() -> dict[str, dict[str, str]]:
    """Return the cells of each job's row in the table, by column."""
    (rows,) = (table[2:] for table in tables() if table[0] == HEAD)
    return {place: dict(zip(HEAD, row, strict=True)) for row in rows for place in re.findall(r"`([\w.]+)`", row[0])}


DOCUMENTED = documented_jobs()


def triggers(job: Job) -> dict[str, Any]:
    return dict.fromkeys(read(FOLDER / "workflows" / f"{job.workflow}.yml")["on"])


def test_every_job_is_in_the_table_once() -> None:
    assert set(DOCUMENTED) == set(BY_PLACE)
    assert sum(PAGE.count(f"`{place}`") for place in BY_PLACE) == len(BY_PLACE)


def test_the_page_names_the_called_jobs_as_github_does() -> None:
    """The page names each called job with the name of its call, as GitHub does.

    A call has no row in the table, because it only grants the permissions that the called jobs need.
    """
    assert {call.name for call in CALLS} == {"derive"}
    for name in ("prepare", "execute (<submission>)", "judge"):
        assert f"`derive / {name}`" in PAGE
    assert f"`{EXECUTE} (<submission>)`" in PAGE


def test_the_page_lists_the_permissions_of_each_token() -> None:
    for job in JOBS:
        assert DOCUMENTED[job.place]["its token may"] == ", ".join(
            f"`{name}: {may}`" for name, may in job.definition["permissions"].items()
        ), job.place


def secrets(job: Job) -> set[str]:
    return {name for text in texts(job.definition) for name in re.findall(r"secrets\.(\w+)", text)}


def test_the_page_lists_the_secrets_of_each_job() -> None:
    """The page names the environment whose secrets a job reads."""
    for job in JOBS:
        assert DOCUMENTED[job.place]["secrets"] == (
            f"of `{job.definition['environment']}`" if secrets(job) else "none"
        ), job.place


def test_the_page_marks_the_jobs_that_execute_contributors_commands() -> None:
    for job in JOBS:
        executes = any(run.startswith(EXECUTING) for run in job.commands)
        assert DOCUMENTED[job.place]["contributors' commands"] == ("yes" if executes else "no"), job.place


def test_the_page_says_which_code_a_job_runs() -> None:
    """The page says whether a job runs the code of main, of a pull request, or only of GitHub.

    The run of a pull request runs the pull request's code. A job without a checkout runs no code of this repository.
    """
    for job in JOBS:
        own = "the pull request's" if "pull_request" in triggers(job) else ""
        mains = "main's" if set(triggers(job)) - {"pull_request"} else ""
        code = " or ".join(part for part in (mains, own) if part) if job.using("checkout") else "GitHub's"
        assert DOCUMENTED[job.place]["code"] == code, job.place


def test_the_page_lists_the_environments_that_jobs_name() -> None:
    """The page lists each environment with the secrets that its jobs read."""
    needed: dict[str, set[str]] = {}
    for job in JOBS:
        environment = job.definition.get("environment")
        if environment:
            name = environment["name"] if isinstance(environment, dict) else environment
            needed.setdefault(name, set()).update(secrets(job))
    (rows,) = (table[2:] for table in tables() if table[0][0] == "environment")
    assert {row[0].strip("`"): set(re.findall(r"BASHBOARD_\w+", row[1])) for row in rows} == needed


@pytest.mark.parametrize(("trigger", "word"), [("schedule", "daily"), ("workflow_dispatch", "by hand")])
def test_the_page_says_of_every_workflow_when_it_runs(trigger: str, word: str) -> None:
    (rows,) = (table[2:] for table in tables() if table[0][0] == "workflow")
    documented = {row[0].strip("*"): row[1] for row in rows}
    assert set(documented) == {path.stem for path in WORKFLOWS}
    assert {name for name, when in documented.items() if word in when} == {
        path.stem for path in WORKFLOWS if trigger in read(path)["on"]
    }


def test_the_page_lists_the_labels_that_forms_and_appeals_need() -> None:
    """The page lists every label that forms and appeals need.

    If the repository lacks a form's label, GitHub ignores this label.
    """
    forms = [read(path) for path in sorted((FOLDER / "ISSUE_TEMPLATE").glob("*.yml"))]
    needed = {label for form in forms for label in form.get("labels", [])} | {"ruling: pass", "ruling: fail"}
    (step,) = re.findall(r"(?s)\*\*Labels\.\*\*(.+?)\n\d\. ", PAGE)
    assert set(re.findall(r"`([^`]+)`", step)) == needed

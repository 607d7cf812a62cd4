"""The data that a job receives from other jobs: where the job stores, verifies and uses it.

Code that escaped from another job can replace this data.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

import pytest

from tests.workflows.test_job_table import EXECUTING
from tests.workflows.workflow_yaml import ACTIONS, BY_PLACE, CALLS, JOBS, Job, read, texts

Step = Mapping[str, Any]

READS = {"contents": "read"}

OWN = re.compile(r"\$\{\{ runner\.temp \}\}/([a-z]+)")
"""A folder in the runner's temporary folder. The temporary folder itself also has files that the runner obeys."""

VERIFIED = re.compile(r"--(sha256 \"\$[A-Z]+\"|known)( |$)")
EDITABLE = re.compile(r"(^|\s)(-e|--editable)\b|\bdevelop\b|PYTHONPATH|\bmake\b")


def steps_of(job: Job) -> list[Step]:
    """Return the steps of a job. The steps of this repository's actions replace the steps that use these actions."""
    own = {f"$/.github/actions/{path.parent.name}": read(path)["runs"]["steps"] for path in ACTIONS}
    return [inner for step in job.steps for inner in own.get(step.get("uses", ""), [step])]


def is_privileged(job: Job) -> bool:
    """Return whether a job reads a secret or has a token that may write."""
    secret = any("secrets." in text for text in texts(job.definition))
    return secret or "write" in job.definition["permissions"].values()


def misplaced(steps: Iterable[Step]) -> list[Step]:
    """Return the steps that do not unpack an artifact in a separate folder below the runner's temporary folder."""
    downloads = [step for step in steps if "download-artifact" in step.get("uses", "")]
    return [
        step
        for step in downloads
        if set(step.get("with", {})) != {"name", "path"} or not OWN.fullmatch(step["with"]["path"])
    ]


def editable(steps: Iterable[Step]) -> list[str]:
    """Return the scripts that make files of the workspace importable."""
    return [step["run"] for step in steps if EDITABLE.search(step.get("run", ""))]


def test_an_artifact_is_unpacked_in_a_temporary_folder_of_its_own() -> None:
    """Each artifact is unpacked in a temporary folder of its own.

    In the workspace an artifact would replace the checkout, its settings and its Git configuration.
    """
    for job in JOBS:
        assert misplaced(steps_of(job)) == [], job.place
        places = [step["with"]["path"] for step in job.using("download-artifact")]
        assert len(places) == len(set(places)), job.place


def test_an_action_of_this_repository_unpacks_no_artifact_in_the_workspace() -> None:
    for path in ACTIONS:
        assert misplaced(read(path)["runs"]["steps"]) == [], path


REFUSED = {
    "no path": {"name": "a"},
    "the workspace": {"name": "a", "path": "."},
    "a folder of the workspace": {"name": "a", "path": "prepared"},
    "the workspace by its name": {"name": "a", "path": "${{ github.workspace }}/a"},
    "the folder of the runner's own files": {"name": "a", "path": "${{ runner.temp }}"},
    "back to the workspace": {"name": "a", "path": "${{ runner.temp }}/../work"},
    "the folder of the runner's commands": {"name": "a", "path": "${{ runner.temp }}/_runner_file_commands"},
    "every artifact": {"path": "${{ runner.temp }}/a"},
    "artifacts by a pattern": {"pattern": "*", "path": "${{ runner.temp }}/a"},
    "an artifact of another run": {"name": "a", "path": "${{ runner.temp }}/a", "run-id": "1"},
}


@pytest.mark.parametrize("case", REFUSED)
def test_another_place_is_refused(case: str) -> None:
    step = {"uses": "actions/download-artifact@v8", "with": REFUSED[case]}
    assert misplaced([step]) == [step]


def test_a_job_with_a_secret_or_a_writing_token_runs_an_installed_copy() -> None:
    """A job with a secret or a writing token installs a copy of the package, not an editable installation.

    An editable installation executes the files of the workspace, which a later step may overwrite.
    """
    for job in JOBS:
        if is_privileged(job):
            assert editable(steps_of(job)) == [], job.place
            other = [
                run for run in scripts(steps_of(job)) if not run.startswith(("bashboard ", "python -m pip install "))
            ]
            assert other == [], job.place


def scripts(steps: Iterable[Step]) -> list[str]:
    return [step["run"] for step in steps if "run" in step]


@pytest.mark.parametrize(
    "run", ["pip install -e .", "python -m pip install --no-deps --editable .", "make .venv/.run", "PYTHONPATH=. x"]
)
def test_an_editable_installation_is_refused(run: str) -> None:
    assert editable([{"run": run}]) == [run]


def test_downloaded_data_is_used_by_a_command_that_verifies_it() -> None:
    """Each command that uses a downloaded artifact verifies the artifact's digest.

    The digest comes from the output of a job that runs no contributor's command, or from the branch `evidence`.
    """
    for job in JOBS:
        for step in job.using("download-artifact"):
            match = OWN.fullmatch(step["with"]["path"])
            assert match, job.place
            using = [run for run in job.commands if f"$RUNNER_TEMP/{match[1]}" in run]
            assert using, job.place
            assert [run for run in using if not VERIFIED.search(run)] == [], job.place


def test_a_job_that_executes_contributors_commands_has_no_outputs() -> None:
    """A job that executes contributors' commands has no outputs, because no other job could verify them by a digest."""
    for job in JOBS:
        if any(run.startswith(EXECUTING) for run in job.commands):
            assert "outputs" not in job.definition, job.place
            assert "environment" not in job.definition, job.place
            assert not is_privileged(job), job.place


def test_no_other_job_relies_on_a_job_that_restores_the_cache() -> None:
    """A job that restores the cache has a read-only token, no secret and no output.

    Any job on main can write a cache entry, and an entry can replace every file on the machine that restores the entry.
    """
    for job in JOBS:
        if job.using("cache/restore"):
            assert job.place in {"derive.restore", "submission.preview"} or job.workflow == "ci", job.place
            assert job.definition["permissions"] == READS, job.place
            assert not is_privileged(job), job.place
            assert "outputs" not in job.definition, job.place


def test_only_a_job_without_submissions_saves_a_cache_entry() -> None:
    """The job `ci.check` runs no container. On main it saves the packages, for other jobs of its own workflow."""
    for job in JOBS:
        for step in job.using("cache/save"):
            assert job.place in {"derive.prepare", "ci.check"}, job.place
            assert job.workflow != "ci" or step["if"] == "github.ref == 'refs/heads/main'", job.place


def test_the_entries_of_ci_are_restored_by_ci_alone() -> None:
    """The keys of ci have a prefix of their own. So its entries reach no workflow with a secret or a writing token.

    The package `uv` installs from them only files with the pinned hashes.
    """
    keys = {
        (job.workflow, step["with"]["key"].startswith("ci-"))
        for job in JOBS
        for step in [*job.using("cache/restore"), *job.using("cache/save")]
    }
    assert keys == {("ci", True), ("derive", False), ("submission", False)}
    assert [job.place for job in JOBS if job.workflow == "ci" and is_privileged(job)] == []


def test_the_nightly_run_restores_no_cache() -> None:
    nightly = [job for job in JOBS if job.workflow == "nightly"]
    assert nightly
    assert [job.place for job in nightly if job.using("cache/restore") or job.definition["permissions"] != READS] == []


def test_a_restored_image_is_only_passed_on() -> None:
    """The job that restores the image for other jobs runs no command after the restoring step."""
    job = BY_PLACE["derive.restore"]
    (step,) = job.using("cache/restore")
    assert scripts(job.steps[job.steps.index(step) + 1 :]) == []


def test_the_site_is_built_and_deployed_in_a_run_without_contributors_commands() -> None:
    """The site is built and deployed in a run without contributors' commands.

    An artifact belongs to one run, and any job of this run can replace the artifact.
    """
    (workflow,) = {job.workflow for job in JOBS if job.using("deploy-pages")}
    jobs = [job for job in JOBS if job.workflow == workflow]
    assert [job.place for job in jobs if any(run.startswith(EXECUTING) for run in job.commands)] == []
    assert [call.place for call in CALLS if call.workflow == workflow] == []
    assert {job.place for job in JOBS if job.using("upload-pages-artifact")} == {f"{workflow}.build"}
    assert [job.place for job in jobs if job.using("download-artifact") or job.using("cache")] == []

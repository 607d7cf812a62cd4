"""Tables of every job's permissions, secrets and commands, which the workflow files must match."""

from __future__ import annotations

import re
from pathlib import Path

from evaluator.pipeline.publishing.collect import EXECUTE
from evaluator.pipeline.publishing.propose import BRANCH
from tests.workflows.workflow_yaml import ACTIONS, BY_PLACE, CALLS, FOLDER, JOBS, WORKFLOWS, read, texts

PINNED = {
    "actions/checkout": ("3d3c42e5aac5ba805825da76410c181273ba90b1", "v7.0.1"),
    "actions/upload-artifact": ("bbbca2ddaa5d8feaa63e36b76fdaad77386f024f", "v7.0.0"),
    "actions/download-artifact": ("3e5f45b2cfb9172054b4087a40e8e0b5a5461e7c", "v8.0.1"),
    "actions/setup-python": ("5fda3b95a4ea91299a34e894583c3862153e4b97", "v7.0.0"),
    "actions/cache/restore": ("27d5ce7f107fe9357f9df03efb73ab90386fccae", "v5.0.5"),
    "actions/cache/save": ("27d5ce7f107fe9357f9df03efb73ab90386fccae", "v5.0.5"),
    "actions/configure-pages": ("983d7736d9b0ae728b81ab479565c72886d7745b", "v5.0.0"),
    "actions/upload-pages-artifact": ("fc324d3547104276b827a68afc52ff2a11cc49c9", "v5.0.0"),
    "actions/deploy-pages": ("cd2ce8fcbc39b97be8ca5fce6e763baed58fa128", "v5.0.0"),
}
"""The commit and release of each action that a maintainer has reviewed. The maintainer enters newer releases here."""

MAY = {
    "appeal.appeal": {"contents": "write", "pull-requests": "write", "issues": "write"},
    "ci.check": {"contents": "read"},
    "ci.engine": {"contents": "read"},
    "ci.browser": {"contents": "read"},
    "ci.workflows": {"contents": "read"},
    "derive.restore": {"contents": "read"},
    "derive.prepare": {"contents": "read"},
    "derive.execute": {"contents": "read"},
    "derive.judge": {"contents": "read", "actions": "read", "checks": "read"},
    "nightly.test": {"contents": "read"},
    "nightly.soak": {"contents": "read"},
    "publish.commit": {"contents": "write", "pull-requests": "read"},
    "recall.recall": {"contents": "read", "pull-requests": "write"},
    "report.report": {"contents": "read", "actions": "read", "pull-requests": "write"},
    "rescore.propose": {"contents": "write", "pull-requests": "write"},
    "site.build": {"contents": "read", "pages": "read"},
    "site.deploy": {"pages": "write", "id-token": "write"},
    "submission.preview": {"contents": "read"},
}
"""The permissions of each job's token."""

SEES = {
    "derive.judge": ("judge", {"BASHBOARD_PANEL_KEY"}),
    "publish.commit": ("publish", {"BASHBOARD_PUBLISH_TOKEN"}),
    "rescore.propose": ("publish", {"BASHBOARD_PUBLISH_TOKEN"}),
}
"""The jobs that read a secret, each with its environment and the names of the secrets."""

FETCHES = "bashboard suite add --answered"

EXECUTES_NOTHING = (
    "bashboard appeal",
    "bashboard evidence import",
    "bashboard fetch",
    "bashboard publish collect",
    "bashboard publish commit",
    "bashboard publish judge",
    "bashboard publish propose",
    "bashboard report",
    FETCHES,
)
"""The commands that a job with a secret or a writing token may run."""

TOGETHER = {
    "appeal": "appeal-${{ github.event.issue.number }}-${{ github.event.label.name }}",
    "ci": "ci-${{ github.event_name == 'pull_request' && github.ref || github.run_id }}",
    "nightly": "nightly",
    "publish": "publish",
    "report": "report-${{ github.event.workflow_run.head_repository.id }}-${{ github.event.workflow_run.head_branch }}",
    "rescore": "rescore",
    "site": "site",
    "submission": "submission-${{ github.ref }}",
}
"""The concurrency groups. Runs of different pull requests or issues never share a group."""

STOPPED = {"ci", "submission"}
"""The workflows in which a newer run stops the older run, because the newer result replaces the older one."""


def test_actions_are_pinned_by_reviewed_commits() -> None:
    """Every action is pinned by the commit of a reviewed release.

    The comment after the commit names the release in the form that Dependabot reads.
    """
    for path in (*WORKFLOWS, *ACTIONS):
        lines = re.findall(r"uses: (.+)", path.read_text())
        own = {"$/.github/actions/set-up", "$/.github/workflows/derive.yml"}
        assert [line for line in lines if line not in own] == [
            f"{name}@{PINNED[name][0]} # {PINNED[name][1]}"
            for name in (re.split("@| ", line)[0] for line in lines if line not in own)
        ], path


def test_no_expression_stands_in_a_script() -> None:
    """No script contains an expression, because the value of the expression would become a part of the script."""
    steps = [step for job in JOBS for step in job.steps] + [
        step for action in ACTIONS for step in read(action)["runs"]["steps"]
    ]
    assert [step["run"] for step in steps if "${{" in step.get("run", "")] == []


def test_a_token_has_the_permissions_of_the_table() -> None:
    for job in JOBS:
        assert job.definition["permissions"] == MAY[job.place], job.place


def test_the_tables_name_existing_jobs() -> None:
    assert set(MAY) == set(BY_PLACE)
    assert set(SEES) <= set(BY_PLACE)


def test_a_workflow_grants_nothing_to_all_jobs() -> None:
    for path in WORKFLOWS:
        workflow = read(path)
        assert workflow["permissions"] == {}, path.stem
        assert "env" not in workflow, path.stem
        assert workflow["name"] == path.stem, path.stem


def secrets(part: object) -> set[str]:
    """Return the names of the secrets in a piece of YAML."""
    return {name for text in texts(part) for name in re.findall(r"secrets\.(\w+)|secrets\b", text)}


def test_only_the_jobs_of_the_table_read_a_secret() -> None:
    for job in JOBS:
        environment, names = SEES.get(job.place, ("", set()))
        assert secrets(job.definition) == names, job.place
        assert job.definition.get("environment", "") in (
            environment,
            *(
                [{"name": "github-pages", "url": "${{ steps.deployment.outputs.page_url }}"}]
                if job.name == "deploy"
                else []
            ),
        ), job.place


def test_a_workflow_that_a_contributor_starts_reads_no_secret() -> None:
    """A workflow that a contributor can start reads no secret.

    Contributors start `pull_request`, which runs the contributor's own files, the events after it, and `issues`.
    """
    for path in WORKFLOWS:
        workflow = read(path)
        if {"pull_request", "pull_request_target", "workflow_run", "issues"} & set(workflow["on"]):
            assert secrets(workflow) == set(), path.stem
            assert [call for call in CALLS if call.workflow == path.stem] == [], path.stem
        assert "pull_request_target" not in workflow["on"] or path.stem == "recall", path.stem


def test_a_job_with_a_secret_or_a_writing_token_executes_no_submission() -> None:
    for job in JOBS:
        if job.place in SEES or "write" in job.definition["permissions"].values():
            assert [run for run in job.commands if not run.startswith(EXECUTES_NOTHING)] == [], job.place


READS_TASKS = (
    "bashboard appeal",
    "bashboard build",
    "bashboard check",
    "bashboard contested",
    "bashboard evidence",
    "bashboard fetch",
    "bashboard image",
    "bashboard preview",
    "bashboard publish collect",
    "bashboard publish judge",
    "bashboard publish plan",
    "bashboard publish propose",
)
"""The beginnings of commands that read tasks, or records that belong to tasks."""


def test_a_job_fetches_external_suites_before_it_reads_tasks() -> None:
    """The fetch is the first command, before any received data is read and before a contributor's command runs.

    It gets no token and no secret. A job that reads no tasks asks no publisher.
    """
    for job in JOBS:
        reads = any(run.startswith(READS_TASKS) for run in job.commands)
        assert [run for run in job.commands if run.startswith("bashboard suite")] == [FETCHES] * reads, job.place
        assert not reads or job.commands[0] == FETCHES, job.place
        assert not [step for step in job.steps if step.get("run") == FETCHES and "env" in step], job.place


def test_only_commands_that_call_github_get_a_token() -> None:
    """Only steps whose commands call GitHub get a token.

    A token is never in the environment of a whole job, because commands that execute other commands would pass it on.
    """
    for job in JOBS:
        assert "env" not in job.definition, job.place
        calling = (
            "bashboard fetch",
            "bashboard report",
            "bashboard appeal",
            "bashboard publish co",
            "bashboard publish propose",
        )
        holders = [
            step["run"] for step in job.steps if any("github.token" in text for text in texts(step.get("env", {})))
        ]
        assert [run for run in holders if not run.startswith(calling)] == [], job.place


def test_a_job_has_a_timeout_and_a_fixed_runner() -> None:
    for job in JOBS:
        assert job.definition["runs-on"] == "ubuntu-24.04", job.place
        assert 0 < int(job.definition["timeout-minutes"]) < 360, job.place


def test_a_checkout_keeps_no_credentials() -> None:
    for job in JOBS:
        assert all(step["with"]["persist-credentials"] == "false" for step in job.using("checkout")), job.place


def test_an_artifact_exists_replaces_an_older_one_and_expires() -> None:
    """An uploaded artifact must exist, replaces an older artifact of the same name, and expires within a week.

    The older artifact is that of an earlier attempt, or of code that escaped from a job.
    """
    for job in JOBS:
        for step in job.using("upload-artifact"):
            assert step["with"]["overwrite"] == "true", job.place
            assert step["with"]["if-no-files-found"] == ("ignore" if job.name in ("preview", "restore") else "error"), (
                job.place
            )
            assert 1 <= int(step["with"]["retention-days"]) <= 7, job.place


def test_a_waiting_run_loses_nothing() -> None:
    """A concurrency group stops older runs only in workflows whose newest run is enough.

    In each group GitHub keeps only the newest of the waiting runs. A called workflow waits in its caller's group.
    A contributor's workflow can name any group and stop the runs in it, so the workflow `recall`, which removes labels,
    has no group.
    """
    for path in WORKFLOWS:
        workflow = read(path)
        if "workflow_call" in workflow["on"] or path.stem == "recall":
            assert "concurrency" not in workflow, path.stem
            continue
        assert workflow["concurrency"]["group"] == TOGETHER[path.stem], path.stem
        assert workflow["concurrency"]["cancel-in-progress"] == str(path.stem in STOPPED).lower(), path.stem


def test_publish_and_rescore_call_the_same_workflow() -> None:
    """Publish and rescore call the same workflow with different inputs, and pass the one secret by its name."""
    calls = {call.place: call.definition for call in CALLS}
    assert {place: call["with"] for place, call in calls.items()} == {
        "publish.derive": {"stale": "false"},
        "rescore.derive": {"stale": "true", "plan_only": "${{ inputs.plan_only || false }}"},
    }
    for call in calls.values():
        assert call["uses"] == "$/.github/workflows/derive.yml"
        assert call["secrets"] == {"BASHBOARD_PANEL_KEY": "${{ secrets.BASHBOARD_PANEL_KEY }}"}


def test_a_call_grants_what_a_called_job_needs_and_no_more() -> None:
    for call in CALLS:
        needed = [job.definition["permissions"] for job in JOBS if job.workflow == Path(call.definition["uses"]).stem]
        assert call.definition["permissions"] == {
            name: level for permissions in needed for name, level in permissions.items()
        }, call.place
        assert "write" not in call.definition["permissions"].values(), call.place


def test_no_caller_has_to_pass_a_value_for_a_secret_of_an_environment() -> None:
    """The called workflow does not require its secret.

    GitHub checks required secrets before a called job enters its environment, so the run would not start.
    """
    declared = read(FOLDER / "workflows" / "derive.yml")["on"]["workflow_call"]["secrets"]
    assert {name: secret["required"] for name, secret in declared.items()} == {"BASHBOARD_PANEL_KEY": "false"}


def test_the_jobs_that_execute_submissions_have_the_name_that_their_evidence_is_collected_by() -> None:
    """The execution jobs have the names by which the package finds their evidence.

    GitHub names a called job after the calling job and the called job.
    """
    assert {f"{call.definition['name']} / {BY_PLACE['derive.execute'].definition['name']}" for call in CALLS} == {
        f"{EXECUTE} (${{{{ matrix.submission }}}})"
    }


def test_a_proposal_of_rescore_is_not_reported_as_a_submission() -> None:
    """The workflows `submission` and `report` skip the pull request of a rescore.

    These workflows start if the token of a user account, not of GitHub Actions, opened the pull request.
    """
    assert BY_PLACE["submission.preview"].definition["if"] == f"github.head_ref != '{BRANCH}'"
    ours = f"head_branch != '{BRANCH}' || github.event.workflow_run.head_repository.full_name != github.repository)"
    assert BY_PLACE["report.report"].definition["if"].endswith(ours)


def test_a_job_that_builds_the_site_checks_out_the_history() -> None:
    """Without it, no row has the day on which it was added."""
    builds = [job for job in JOBS if any("bashboard build" in command for command in job.commands)]
    assert builds
    for job in builds:
        (checkout,) = [step for step in job.steps if step.get("uses", "").startswith("actions/checkout@")]
        assert checkout["with"]["fetch-depth"] == "0", job.place

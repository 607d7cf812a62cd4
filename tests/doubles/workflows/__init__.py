"""A local runner of a repository's workflow files. It uses the double of GitHub, and really executes `run:` steps.

    with GitHubServer(folder / "github") as github:
        board = github.repository("board", github.user("maintainer"))
        actions = Actions(github, board, folder / "actions", environments={"judge": {"KEY": "…"}})
        runs = actions.trigger(pushed(board, None, board.owner), only=["publish"])
        assert runs["publish"].conclusion == "success", runs["publish"].log

The runner is stricter than GitHub: an unknown key, action, expression or name raises WorkflowError.
"""

from tests.doubles.workflows.artifact_store import Shelf
from tests.doubles.workflows.events import completed, dispatched, labeled, pull_changed, pull_targeted, pushed
from tests.doubles.workflows.expressions import WorkflowError
from tests.doubles.workflows.job_context import JobContext
from tests.doubles.workflows.run_workflow import Actions, JobResult, RunResult
from tests.doubles.workflows.steps import StepResult
from tests.doubles.workflows.triggers import Event

__all__ = [
    "Actions",
    "Event",
    "JobContext",
    "JobResult",
    "RunResult",
    "Shelf",
    "StepResult",
    "WorkflowError",
    "completed",
    "dispatched",
    "labeled",
    "pull_changed",
    "pull_targeted",
    "pushed",
]

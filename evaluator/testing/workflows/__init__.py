"""A local runner of a repository's workflow files. It runs on the double of GitHub, and each `run:` step for real.

    with GitHubServer(folder / "github") as github:
        board = github.repository("board", github.user("maintainer"))
        actions = Actions(github, board, folder / "actions", environments={"judge": {"KEY": "…"}})
        runs = actions.trigger(pushed(board, None, board.owner), only=["publish"])
        assert runs["publish"].conclusion == "success", runs["publish"].log

It is stricter than GitHub: an unknown key, action, expression or name raises WorkflowError.
"""

from evaluator.testing.workflows.expressions import WorkflowError
from evaluator.testing.workflows.happenings import completed, dispatched, labeled, pull_changed, pull_targeted, pushed
from evaluator.testing.workflows.running import Actions, JobResult, RunResult
from evaluator.testing.workflows.seat import Seat
from evaluator.testing.workflows.shelf import Shelf
from evaluator.testing.workflows.steps import StepResult
from evaluator.testing.workflows.triggers import Event

__all__ = [
    "Actions",
    "Event",
    "JobResult",
    "RunResult",
    "Seat",
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

"""Functions that make the events that start workflows, from the actions of a repository's users."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping

from tests.doubles.github import GitHubServer, HostedRepo, Pull, User, WorkflowRun
from tests.doubles.github.responses import Document, issue_document, label_document, pull_document, run_document
from tests.doubles.workflows.triggers import Event

_MAIN = "refs/heads/main"


def pull_changed(github: GitHubServer, hosted: HostedRepo, pull: Pull, action: str = "synchronize") -> Event | None:
    """Return the event of a new pull request or of a push to its branch. A pull request with conflicts has no event.

    As on GitHub, the run is for a merge commit of base and head, and uses the workflow files of that commit.
    """
    github.follow()
    merge = _merge(hosted, pull)
    if merge is None or pull.head_repository is None or pull.user is None:
        return None
    ref, base = f"refs/pull/{pull.number}/merge", f"refs/heads/{pull.base_ref}"
    changes = hosted.git.changes(hosted.git.resolve(base), pull.head)
    document = pull_document(github.url, hosted, pull)
    return Event(
        name="pull_request",
        hosted=hosted,
        actor=pull.user,
        commit=merge,
        ref=ref,
        branch=pull.base_ref,
        head=(pull.head, pull.head_ref, pull.head_repository),
        payload={"action": action, "number": pull.number, "pull_request": document},
        action=action,
        changed=tuple(path for change in changes for path in (change.path, change.earlier) if path),
        base_ref=pull.base_ref,
        from_fork=pull.head_repository is not hosted,
        scopes=tuple(dict.fromkeys((ref, base, _MAIN))),
    )


def pull_targeted(github: GitHubServer, hosted: HostedRepo, pull: Pull, action: str = "synchronize") -> Event:
    """Return the event `pull_request_target`, which runs the workflow files of the base branch."""
    github.follow()
    base = f"refs/heads/{pull.base_ref}"
    commit = hosted.git.resolve(base)
    return Event(
        name="pull_request_target",
        hosted=hosted,
        actor=pull.user or hosted.owner,
        commit=commit,
        ref=base,
        branch=pull.base_ref,
        head=(commit, pull.base_ref, hosted),
        payload={
            "action": action,
            "number": pull.number,
            "pull_request": pull_document(github.url, hosted, pull),
        },
        action=action,
        base_ref=pull.base_ref,
        scopes=_scopes(base),
    )


def _merge(hosted: HostedRepo, pull: Pull) -> str | None:
    """Make the merge commit of a pull request, set its ref, and return the commit. Return None for a conflict."""
    git, base = hosted.git, hosted.git.resolve(f"refs/heads/{pull.base_ref}")
    try:
        tree = git.run("merge-tree", "--write-tree", base, pull.head).decode().split()[0]
    except subprocess.CalledProcessError:
        return None
    message = f"Merge {pull.head} into {base}"
    commit = git.run("commit-tree", tree, "-p", base, "-p", pull.head, "-m", message).decode().strip()
    git.run("update-ref", f"refs/pull/{pull.number}/merge", commit)
    return commit


def pushed(hosted: HostedRepo, before: str | None, actor: User, branch: str = "main") -> Event:
    """Return the event of a push or a merge. `before` is the earlier commit of the branch, or None for a new branch."""
    ref = f"refs/heads/{branch}"
    after = hosted.git.resolve(ref)
    changes = hosted.git.changes(before, after) if before else []
    every = [] if before else [entry.path for entry in hosted.git.tree(after, recursive=True) if entry.kind == "blob"]
    payload = {"ref": ref, "before": before or "0" * 40, "after": after}
    changed = (*every, *(path for change in changes for path in (change.path, change.earlier) if path))
    head = (after, branch, hosted)
    return Event("push", hosted, actor, after, ref, branch, head, payload, changed=changed, scopes=_scopes(ref))


def dispatched(hosted: HostedRepo, workflow: str, actor: User, inputs: Mapping[str, str] | None = None) -> Event:
    """Return the event of a manual run of main. `workflow` is the name of the workflow's file."""
    commit = hosted.git.resolve(_MAIN)
    values = dict(inputs or {})
    return Event(
        name="workflow_dispatch",
        hosted=hosted,
        actor=actor,
        commit=commit,
        ref=_MAIN,
        branch="main",
        head=(commit, "main", hosted),
        payload={"inputs": values, "ref": _MAIN, "workflow": f".github/workflows/{workflow}"},
        source=f".github/workflows/{workflow}",
        inputs=values,
    )


def labeled(github: GitHubServer, hosted: HostedRepo, issue: Pull, label: str, actor: User) -> Event:
    """Set a label on an issue, and return the event."""
    known = github.label(hosted, label, "ededed")
    if known.name not in issue.labels:
        issue.labels.append(known.name)
    payload: Document = {
        "action": "labeled",
        "issue": issue_document(github.url, hosted, issue),
        "label": label_document(github.url, hosted, known),
    }
    commit = hosted.git.resolve(_MAIN)
    head = (commit, "main", hosted)
    return Event("issues", hosted, actor, commit, _MAIN, "main", head, payload, action="labeled")


def completed(github: GitHubServer, hosted: HostedRepo, run: WorkflowRun, workflow: str) -> Event:
    """Return the event of a finished run. It starts workflows of main, even if the run was for another commit."""
    commit = hosted.git.resolve(_MAIN)
    document = {**run_document(github.url, hosted, run), "name": workflow}
    return Event(
        name="workflow_run",
        hosted=hosted,
        actor=run.head_repository.owner,
        commit=commit,
        ref=_MAIN,
        branch=run.head_ref,
        head=(commit, "main", hosted),
        payload={"action": "completed", "workflow_run": document},
        action="completed",
        source=workflow,
    )


def _scopes(ref: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys((ref, _MAIN)))

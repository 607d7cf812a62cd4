"""What people do in a repository, as the events that its workflows wait for."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping

from evaluator.testing.github import GitHubServer, Hosted, Pull, Run, User
from evaluator.testing.github.documents import Document, issue_document, label_document, pull_document, run_document
from evaluator.testing.workflows.triggers import Event

_MAIN = "refs/heads/main"


def pull_changed(github: GitHubServer, hosted: Hosted, pull: Pull, action: str = "synchronize") -> Event | None:
    """A pull request was opened, or its branch pushed to. None where it conflicts with its base: GitHub runs nothing.

    What runs is the merge of base and head, which GitHub makes for the purpose: with it come the workflow files.
    """
    github.follow()
    merged = _merged(hosted, pull)
    if merged is None or pull.head_repository is None or pull.user is None:
        return None
    ref, base = f"refs/pull/{pull.number}/merge", f"refs/heads/{pull.base_ref}"
    changes = hosted.git.changes(hosted.git.resolve(base), pull.head)
    document = pull_document(github.url, hosted, pull)
    return Event(
        name="pull_request",
        hosted=hosted,
        actor=pull.user,
        commit=merged,
        ref=ref,
        branch=pull.base_ref,
        head=(pull.head, pull.head_ref, pull.head_repository),
        payload={"action": action, "number": pull.number, "pull_request": document},
        action=action,
        changed=tuple(path for each in changes for path in (each.path, each.earlier) if path),
        base_ref=pull.base_ref,
        stranger=pull.head_repository is not hosted,
        scopes=tuple(dict.fromkeys((ref, base, _MAIN))),
    )


def pull_targeted(github: GitHubServer, hosted: Hosted, pull: Pull, action: str = "synchronize") -> Event:
    """The same, told to workflows of the base: main's, with its token, whatever the branch holds."""
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


def _merged(hosted: Hosted, pull: Pull) -> str | None:
    """The merge commit of a pull request, kept under its ref; None at a conflict."""
    git, base = hosted.git, hosted.git.resolve(f"refs/heads/{pull.base_ref}")
    try:
        tree = git.run("merge-tree", "--write-tree", base, pull.head).decode().split()[0]
    except subprocess.CalledProcessError:
        return None
    said = f"Merge {pull.head} into {base}"
    made = git.run("commit-tree", tree, "-p", base, "-p", pull.head, "-m", said).decode().strip()
    git.run("update-ref", f"refs/pull/{pull.number}/merge", made)
    return made


def pushed(hosted: Hosted, before: str | None, actor: User, branch: str = "main") -> Event:
    """Commits came to a branch, by a push or a merge; `before` is where it stood, None where it was not there."""
    ref = f"refs/heads/{branch}"
    after = hosted.git.resolve(ref)
    changes = hosted.git.changes(before, after) if before else []
    every = [each.path for each in hosted.git.tree(after, recursive=True) if each.kind == "blob"] if not before else []
    payload = {"ref": ref, "before": before or "0" * 40, "after": after}
    changed = (*every, *(path for each in changes for path in (each.path, each.earlier) if path))
    head = (after, branch, hosted)
    return Event("push", hosted, actor, after, ref, branch, head, payload, changed=changed, scopes=_scopes(ref))


def dispatched(hosted: Hosted, workflow: str, actor: User, inputs: Mapping[str, str] | None = None) -> Event:
    """Somebody ran a workflow of main by hand; `workflow` is its file's name."""
    commit = hosted.git.resolve(_MAIN)
    given = dict(inputs or {})
    return Event(
        name="workflow_dispatch",
        hosted=hosted,
        actor=actor,
        commit=commit,
        ref=_MAIN,
        branch="main",
        head=(commit, "main", hosted),
        payload={"inputs": given, "ref": _MAIN, "workflow": f".github/workflows/{workflow}"},
        source=f".github/workflows/{workflow}",
        inputs=given,
    )


def labeled(github: GitHubServer, hosted: Hosted, issue: Pull, label: str, actor: User) -> Event:
    """Somebody set a label on an issue, which has it then."""
    made = github.label(hosted, label, "ededed")
    if made.name not in issue.labels:
        issue.labels.append(made.name)
    payload: Document = {
        "action": "labeled",
        "issue": issue_document(github.url, hosted, issue),
        "label": label_document(github.url, hosted, made),
    }
    commit = hosted.git.resolve(_MAIN)
    head = (commit, "main", hosted)
    return Event("issues", hosted, actor, commit, _MAIN, "main", head, payload, action="labeled")


def completed(github: GitHubServer, hosted: Hosted, run: Run, workflow: str) -> Event:
    """A run came to its end; what waits for that is of main, whatever the run was of."""
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

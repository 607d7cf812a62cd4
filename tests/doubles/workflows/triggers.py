"""Events of a repository, and the workflows that each event starts."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from tests.doubles.github import HostedRepo, User
from tests.doubles.workflows.expressions import WorkflowError
from tests.doubles.workflows.load_workflow import Workflow

_FILTERS: Final[Mapping[str, frozenset[str]]] = {
    "pull_request": frozenset({"types", "branches", "paths", "paths-ignore"}),
    "pull_request_target": frozenset({"types", "branches"}),
    "schedule": frozenset(),
    "push": frozenset({"branches", "paths", "paths-ignore"}),
    "workflow_run": frozenset({"workflows", "types", "branches"}),
    "workflow_call": frozenset({"inputs", "secrets", "outputs"}),
    "workflow_dispatch": frozenset({"inputs"}),
    "issues": frozenset({"types"}),
}
_DEFAULT_TYPES: Final = ("opened", "synchronize", "reopened")


@dataclass(frozen=True, slots=True)
class Event:
    """An event. It starts runs for `ref` with the workflow files of `commit`.

    `branch` is the branch that filters compare: the base of a pull request, or the branch of a push or of a finished
    run. `scopes` are the refs whose cache entries a run may read, beginning with the run's own ref. `from_fork` is true
    for the pull request of a fork. Its run gets no secret and a read-only token. `head` is the commit, branch and
    repository that GitHub reports for the run.
    """

    name: str
    hosted: HostedRepo
    actor: User
    commit: str
    ref: str
    branch: str
    head: tuple[str, str, HostedRepo]
    payload: Mapping[str, Any]
    action: str = ""
    changed: tuple[str, ...] = ()
    source: str = ""
    inputs: Mapping[str, str] = field(default_factory=dict)
    base_ref: str = ""
    from_fork: bool = False
    scopes: tuple[str, ...] = ("refs/heads/main",)


def triggered(workflow: Workflow, event: Event) -> bool:
    """Return whether an event starts a workflow. Raises WorkflowError for a filter that this runner does not know."""
    for name, filters in workflow.triggers.items():
        unknown = sorted(set(filters) - _FILTERS.get(name, frozenset()))
        if name not in _FILTERS or unknown:
            raise WorkflowError(f"{workflow.path}: on: this runner does not know {name} {', '.join(unknown)}".rstrip())
    if event.name not in workflow.triggers:
        return False
    filters = workflow.triggers[event.name]
    if event.name == "workflow_dispatch":
        return event.source == workflow.path
    if event.name == "workflow_run" and event.source not in filters.get("workflows", ()):
        return False
    default = _DEFAULT_TYPES if event.name.startswith("pull_request") else (event.action,)
    return (
        event.action in filters.get("types", default)
        and ("branches" not in filters or matches(filters["branches"], [event.branch]))
        and _touched(filters, event.changed)
    )


def dispatch_inputs(workflow: Workflow, event: Event) -> dict[str, Any]:
    """Return the inputs of a manual run, with defaults. In any other run, all inputs are null."""
    declared: Mapping[str, Any] = workflow.triggers.get("workflow_dispatch", {}).get("inputs") or {}
    if event.name != "workflow_dispatch":
        return dict.fromkeys(declared)
    unknown = sorted(set(event.inputs) - set(declared))
    if unknown:
        raise WorkflowError(f"{workflow.path}: there is no input {', '.join(unknown)}")
    return {name: _input(workflow, name, about, event.inputs.get(name)) for name, about in declared.items()}


def _input(workflow: Workflow, name: str, about: Mapping[str, Any], text: str | None) -> Any:
    unknown = sorted(set(about) - {"description", "required", "default", "type", "options"})
    if unknown:
        raise WorkflowError(f"{workflow.path}: input {name}: this runner does not know {', '.join(unknown)}")
    value = about.get("default", "") if text is None else text
    if about.get("required") == "true" and value == "":
        raise WorkflowError(f"{workflow.path}: the input {name} is required")
    if about.get("type") == "choice" and value not in about["options"]:
        raise WorkflowError(
            f"{workflow.path}: input {name}: found {value!r}, expected one of {', '.join(about['options'])}"
        )
    return value == "true" if about.get("type") == "boolean" else value


def _touched(filters: Mapping[str, Any], changed: Collection[str]) -> bool:
    if "paths" in filters:
        return matches(filters["paths"], changed)
    ignored: Sequence[str] = filters.get("paths-ignore", ())
    return not ignored or not all(matches(ignored, [path]) for path in changed)


def matches(patterns: Sequence[str], names: Collection[str]) -> bool:
    """Return whether a name matches a pattern. Raises WorkflowError for wildcards other than `*` and `**`."""
    return any(_pattern(pattern).fullmatch(name) for pattern in patterns for name in names)


def _pattern(text: str) -> re.Pattern[str]:
    if re.search(r"[?+\[\]!]", text):
        raise WorkflowError(f"pattern {text!r}: this runner knows `*` and `**` alone")
    pieces = re.split(r"(\*\*/?|\*)", text)
    known = {"**": ".*", "**/": "(?:.*/)?", "*": "[^/]*"}
    return re.compile("".join(known.get(piece) or re.escape(piece) for piece in pieces))

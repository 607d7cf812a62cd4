"""Strict readers of workflow files and of local composite actions. An unknown key raises WorkflowError.

Every scalar is read as text. https://docs.github.com/en/actions/reference describes the syntax.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

import yaml

from tests.doubles.workflows.expressions import WorkflowError, has_expression

LEVELS: Final = ("none", "read", "write")
"""The levels of a permission. Each level includes the levels before it."""

_WORKFLOW: Final = {"name", "run-name", "on", "permissions", "concurrency", "defaults", "env", "jobs"}
_EVERY_JOB: Final = {"name", "needs", "if", "permissions"}
_JOB: Final = _EVERY_JOB | {
    "runs-on",
    "timeout-minutes",
    "environment",
    "outputs",
    "strategy",
    "concurrency",
    "env",
    "steps",
}
_CALL: Final = _EVERY_JOB | {"uses", "with", "secrets"}
_CALLED: Final = re.compile(r"[.$]/(\.github/workflows/[\w.-]+\.ya?ml)")
_STEP: Final = {
    "id",
    "name",
    "if",
    "uses",
    "with",
    "env",
    "run",
    "shell",
    "working-directory",
    "continue-on-error",
    "timeout-minutes",
}
_ACTION: Final = {"name", "description", "author", "inputs", "outputs", "runs"}


@dataclass(frozen=True, slots=True)
class Step:
    """A step, with expressions as written. Either `run` or `uses` is empty. `condition` is empty without an `if:`."""

    place: str
    id: str
    condition: str
    uses: str
    inputs: Mapping[str, str]
    run: str
    shell: str
    folder: str
    env: Mapping[str, str]
    tolerated: bool


@dataclass(frozen=True, slots=True)
class Call:
    """A call of a reusable workflow: the path of its file, and the inputs and secrets that the caller passes."""

    path: str
    inputs: Mapping[str, str]
    secrets: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class JobDefinition:
    """A job with steps, or with a call of another workflow.

    `matrix` maps each name to a list, or to an expression that evaluates to a list. `environment` is empty if the job
    has none.
    """

    id: str
    name: str
    needs: tuple[str, ...]
    condition: str
    permissions: Mapping[str, str]
    environment: str = ""
    address: str = ""
    outputs: Mapping[str, str] = field(default_factory=dict)
    matrix: Mapping[str, Any] = field(default_factory=dict)
    env: Mapping[str, str] = field(default_factory=dict)
    steps: tuple[Step, ...] = ()
    call: Call | None = None


@dataclass(frozen=True, slots=True)
class Workflow:
    """A workflow. `triggers` maps events to their filters. `concurrency` is the group as written, or empty."""

    path: str
    name: str
    triggers: Mapping[str, Mapping[str, Any]]
    concurrency: str
    jobs: Mapping[str, JobDefinition]


@dataclass(frozen=True, slots=True)
class Composite:
    """A composite action. `inputs` has the defaults, and `outputs` has the expressions."""

    inputs: Mapping[str, str]
    required: frozenset[str]
    outputs: Mapping[str, str]
    steps: tuple[Step, ...]


class _Loader(yaml.BaseLoader):
    """A loader that reads scalars as texts. It refuses a repeated key, which YAML forbids and PyYAML accepts."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        names = [self.construct_object(name) for name, _ in node.value]
        repeated = sorted({name for name in names if names.count(name) > 1})
        if repeated:
            raise WorkflowError(f"line {node.start_mark.line + 1}: {', '.join(repeated)} twice")
        return super().construct_mapping(node, deep)


@functools.cache
def read_workflow(path: str, text: str) -> Workflow:
    """Read a workflow file. Raises WorkflowError with the path if GitHub or this runner refuses the file.

    The result is cached, because each test pushes most of the same files and YAML is slow to read.
    """
    try:
        document = mapping(yaml.load(text, _Loader), "the file", _WORKFLOW)  # noqa: S506 - it makes texts alone
        levels = _permissions(document["permissions"], "permissions") if "permissions" in document else None
        shell = _shell(document.get("defaults"))
        jobs = {name: _job(name, mapping(job, f"job {name}"), levels, shell) for name, job in document["jobs"].items()}
        _check_needs(jobs)
        if texts(document.get("env"), "env"):
            raise WorkflowError("env for the whole workflow is not known to this runner")
        group = _group(document.get("concurrency"))
        return Workflow(path, document.get("name") or path, _triggers(document["on"]), group, jobs)
    except (WorkflowError, KeyError, yaml.YAMLError) as error:
        raise WorkflowError(f"{path}: {error}") from error


@functools.cache
def read_composite(path: str, text: str) -> Composite:
    """Read the `action.yml` of a local composite action. Raises WorkflowError with the path."""
    try:
        document = mapping(yaml.load(text, _Loader), "the file", _ACTION)  # noqa: S506 - it makes texts alone
        runs = mapping(document["runs"], "runs", {"using", "steps"})
        if runs["using"] != "composite":
            raise WorkflowError(f"runs.using is {runs['using']!r}; this runner knows only 'composite'")
        inputs = {
            name: mapping(declared, f"input {name}", {"description", "required", "default"})
            for name, declared in mapping(document.get("inputs"), "inputs").items()
        }
        outputs = {
            name: mapping(declared, f"output {name}", {"description", "value"})["value"]
            for name, declared in mapping(document.get("outputs"), "outputs").items()
        }
        steps = tuple(_step(f"step {number}", step, "") for number, step in enumerate(runs["steps"], 1))
        without_shell = [step.place for step in steps if step.run and not step.shell]
        if without_shell:
            raise WorkflowError(f"{', '.join(without_shell)}: a `run` of an action must name its shell")
        required = frozenset(name for name, declared in inputs.items() if declared.get("required") == "true")
        defaults = {name: declared.get("default", "") for name, declared in inputs.items()}
        return Composite(defaults, required, outputs, steps)
    except (WorkflowError, KeyError, yaml.YAMLError) as error:
        raise WorkflowError(f"{path}: {error}") from error


def mapping(value: Any, place: str, allowed: Collection[str] | None = None) -> dict[str, Any]:
    """Return a mapping. An absent value is an empty one. Raises WorkflowError for another value or unknown keys."""
    if value in (None, ""):
        return {}
    if not isinstance(value, dict):
        raise WorkflowError(f"{place}: expected a mapping, found {value!r}")
    unknown = sorted(set(value) - set(allowed)) if allowed is not None else []
    if unknown:
        raise WorkflowError(f"{place}: this runner does not know {', '.join(unknown)}")
    return value


def texts(value: Any, place: str) -> dict[str, str]:
    """Return a mapping of texts. An absent value is an empty one. Raises WorkflowError for any other value."""
    entries = mapping(value, place)
    for name, entry in entries.items():
        if not isinstance(entry, str):
            raise WorkflowError(f"{place}: {name}: expected a text, found {entry!r}")
    return entries


def _list(value: Any) -> list[str]:
    """Return the list of names under a key that accepts one name or several."""
    return [] if value in (None, "") else [value] if isinstance(value, str) else list(value)


def _permissions(value: Any, place: str) -> dict[str, str]:
    """Return the permissions of a token that are not `none`, with the names that the double of GitHub uses."""
    levels = texts(value, place)
    wrong = {name: level for name, level in levels.items() if level not in LEVELS}
    if wrong:
        raise WorkflowError(f"{place}: {wrong}: expected one of {', '.join(LEVELS)}")
    return {name.replace("-", "_"): level for name, level in levels.items() if level != "none"}


def _shell(defaults: Any) -> str:
    run = mapping(mapping(defaults, "defaults", {"run"}).get("run"), "defaults.run", {"shell"})
    shell: str = run.get("shell", "")
    return shell


def _group(concurrency: Any) -> str:
    if isinstance(concurrency, str):
        return concurrency
    group: str = mapping(concurrency, "concurrency", {"group", "cancel-in-progress"}).get("group", "")
    return group


def _triggers(value: Any) -> dict[str, dict[str, Any]]:
    if isinstance(value, dict):
        # this runner starts no run by schedule, so it ignores the times
        return {name: mapping(None if name == "schedule" else filters, name) for name, filters in value.items()}
    return {name: {} for name in _list(value)}


def _job(name: str, document: Mapping[str, Any], levels: Mapping[str, str] | None, shell: str) -> JobDefinition:
    place = f"job {name}"
    permissions = _permissions(document["permissions"], place) if "permissions" in document else levels
    if permissions is None:
        raise WorkflowError(f"{place}: permissions are missing, and a setting of the repository would decide them")
    job = JobDefinition(
        id=name,
        name=document.get("name", ""),
        needs=tuple(_list(document.get("needs"))),
        condition=document.get("if", ""),
        permissions=permissions,
    )
    if "uses" in document:
        return replace(job, call=_call(place, mapping(document, place, _CALL)))
    mapping(document, place, _JOB)
    environment = document.get("environment", "")
    named = {"name": environment} if isinstance(environment, str) else environment
    named = mapping(named, f"{place}: environment", {"name", "url"})
    strategy = mapping(document.get("strategy"), f"{place}: strategy", {"fail-fast", "max-parallel", "matrix"})
    matrix = mapping(strategy.get("matrix"), f"{place}: matrix")
    if {"include", "exclude"} & set(matrix):
        raise WorkflowError(f"{place}: matrix: this runner knows neither include nor exclude")
    steps = tuple(_step(f"{place}, step {number}", step, shell) for number, step in enumerate(document["steps"], 1))
    _check_ids(place, steps)
    return replace(
        job,
        environment=named["name"],
        address=named.get("url", ""),
        outputs=texts(document.get("outputs"), f"{place}: outputs"),
        matrix=matrix,
        env=texts(document.get("env"), f"{place}: env"),
        steps=steps,
    )


def _call(place: str, document: Mapping[str, Any]) -> Call:
    path = _CALLED.fullmatch(document["uses"])
    if path is None:
        raise WorkflowError(f"{place}: uses: {document['uses']!r} is not a workflow file of this repository")
    if document.get("secrets") == "inherit":
        raise WorkflowError(f"{place}: secrets: pass each secret by its name, as `inherit` passes all of them")
    inputs = texts(document.get("with"), f"{place}: with")
    return Call(path[1], inputs, texts(document.get("secrets"), f"{place}: secrets"))


def _check_ids(place: str, steps: Sequence[Step]) -> None:
    ids = [step.id for step in steps if step.id]
    repeated = sorted({name for name in ids if ids.count(name) > 1})
    if repeated:
        raise WorkflowError(f"{place}: {', '.join(repeated)}: two steps of one id")


def _step(place: str, value: Any, shell: str) -> Step:
    document = mapping(value, place, _STEP)
    place = f"{place} ({document['name']})" if "name" in document else place
    run, uses = document.get("run", ""), document.get("uses", "")
    if bool(run) == bool(uses):
        raise WorkflowError(f"{place}: expected one of `run` and `uses`")
    if has_expression(run):
        raise WorkflowError(f"{place}: an expression in `run` becomes a part of the script; pass it by `env`")
    if document.get("continue-on-error", "false") not in ("true", "false"):
        raise WorkflowError(f"{place}: continue-on-error: expected true or false")
    return Step(
        place=place,
        id=document.get("id", ""),
        condition=document.get("if", ""),
        uses=uses,
        inputs=texts(document.get("with"), f"{place}: with"),
        run=run,
        shell=document.get("shell", shell) if run else "",
        folder=document.get("working-directory", ""),
        env=texts(document.get("env"), f"{place}: env"),
        tolerated=document.get("continue-on-error") == "true",
    )


def _check_needs(jobs: Mapping[str, JobDefinition]) -> None:
    """Raise WorkflowError if a job needs a job that does not exist, or if jobs need each other in a circle."""
    ordered: set[str] = set()
    while len(ordered) < len(jobs):
        ready = {name for name, job in jobs.items() if name not in ordered and ordered.issuperset(job.needs)}
        if not ready:
            left = ", ".join(sorted(set(jobs) - ordered))
            raise WorkflowError(f"jobs {left} need jobs that do not exist, or each other")
        ordered |= ready

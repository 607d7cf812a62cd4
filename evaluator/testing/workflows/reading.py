"""Workflow files and local composite actions, read strictly: a key that this runner would not obey raises.

Every scalar is read as its text, as GitHub hands it on; https://docs.github.com/en/actions/reference has the syntax.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import yaml

from evaluator.testing.workflows.expressions import WorkflowError, has_expression

LEVELS: Final = ("none", "read", "write")

_WORKFLOW: Final = {"name", "run-name", "on", "permissions", "concurrency", "defaults", "env", "jobs"}
_JOB: Final = {
    "name",
    "needs",
    "if",
    "runs-on",
    "timeout-minutes",
    "environment",
    "permissions",
    "outputs",
    "strategy",
    "concurrency",
    "env",
    "steps",
}
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
    """One step: `run` or `uses` is empty, and so is `condition` where there is none. Expressions are as written."""

    place: str
    id: str
    condition: str
    uses: str
    given: Mapping[str, str]
    run: str
    shell: str
    folder: str
    env: Mapping[str, str]
    tolerated: bool


@dataclass(frozen=True, slots=True)
class Job:
    """One job. `matrix` holds by name a list or an expression that becomes one; `environment` is empty for none."""

    id: str
    name: str
    needs: tuple[str, ...]
    condition: str
    permissions: Mapping[str, str]
    environment: str
    address: str
    outputs: Mapping[str, str]
    matrix: Mapping[str, Any]
    env: Mapping[str, str]
    steps: tuple[Step, ...]


@dataclass(frozen=True, slots=True)
class Workflow:
    """A workflow: `triggers` are its filters by event; `concurrency` is a group, as written, empty for none."""

    path: str
    name: str
    triggers: Mapping[str, Mapping[str, Any]]
    concurrency: str
    jobs: Mapping[str, Job]


@dataclass(frozen=True, slots=True)
class Composite:
    """A composite action: its inputs' defaults, its outputs' expressions, its steps."""

    inputs: Mapping[str, str]
    required: frozenset[str]
    outputs: Mapping[str, str]
    steps: tuple[Step, ...]


class _Loader(yaml.BaseLoader):
    """Scalars as their texts, and no key twice in a mapping, which YAML forbids and its reader lets pass."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        names = [self.construct_object(name) for name, _ in node.value]
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise WorkflowError(f"line {node.start_mark.line + 1}: {', '.join(twice)} twice")
        return super().construct_mapping(node, deep)


def read_workflow(path: str, text: str) -> Workflow:
    """A workflow file. Raises WorkflowError with its path for what GitHub or this runner refuses."""
    try:
        held = _mapping(yaml.load(text, _Loader), "the file", _WORKFLOW)  # noqa: S506 - it makes texts alone
        levels = _permissions(held["permissions"], "permissions") if "permissions" in held else None
        shell = _shell(held.get("defaults"))
        jobs = {
            name: _job(name, _mapping(job, f"job {name}", _JOB), levels, shell) for name, job in held["jobs"].items()
        }
        _ordered(jobs)
        env = _texts(held.get("env"), "env")
        if env:
            raise WorkflowError("env for the whole workflow is not known to this runner")
        group = _group(held.get("concurrency"))
        return Workflow(path, held.get("name") or path, _triggers(held["on"]), group, jobs)
    except (WorkflowError, KeyError, yaml.YAMLError) as error:
        raise WorkflowError(f"{path}: {error}") from error


def read_composite(path: str, text: str) -> Composite:
    """A local composite action's `action.yml`. Raises WorkflowError with its path."""
    try:
        held = _mapping(yaml.load(text, _Loader), "the file", _ACTION)  # noqa: S506 - it makes texts alone
        runs = _mapping(held["runs"], "runs", {"using", "steps"})
        if runs["using"] != "composite":
            raise WorkflowError(f"runs.using is {runs['using']!r}, and only 'composite' is known")
        about = {
            name: _mapping(each, f"input {name}", {"description", "required", "default"})
            for name, each in _mapping(held.get("inputs"), "inputs").items()
        }
        outputs = {
            name: _mapping(each, f"output {name}", {"description", "value"})["value"]
            for name, each in _mapping(held.get("outputs"), "outputs").items()
        }
        steps = tuple(_step(f"step {at + 1}", each, "") for at, each in enumerate(runs["steps"]))
        missing = [each.place for each in steps if each.run and not each.shell]
        if missing:
            raise WorkflowError(f"{', '.join(missing)}: an action's `run` must name its shell")
        required = frozenset(name for name, each in about.items() if each.get("required") == "true")
        return Composite({name: each.get("default", "") for name, each in about.items()}, required, outputs, steps)
    except (WorkflowError, KeyError, yaml.YAMLError) as error:
        raise WorkflowError(f"{path}: {error}") from error


def _mapping(value: Any, where: str, allowed: Collection[str] | None = None) -> dict[str, Any]:
    if value in (None, ""):
        return {}
    if not isinstance(value, dict):
        raise WorkflowError(f"{where}: expected a mapping, found {value!r}")
    unknown = sorted(set(value) - set(allowed)) if allowed is not None else []
    if unknown:
        raise WorkflowError(f"{where}: this runner does not know {', '.join(unknown)}")
    return value


def _texts(value: Any, where: str) -> dict[str, str]:
    found = _mapping(value, where)
    for name, each in found.items():
        if not isinstance(each, str):
            raise WorkflowError(f"{where}: {name}: expected a text, found {each!r}")
    return found


def _list(value: Any) -> list[str]:
    """What may be one name or several."""
    return [] if value in (None, "") else [value] if isinstance(value, str) else list(value)


def _permissions(value: Any, where: str) -> dict[str, str]:
    """What a token may, by permission as the double names them."""
    found = _texts(value, where)
    wrong = {name: level for name, level in found.items() if level not in LEVELS}
    if wrong:
        raise WorkflowError(f"{where}: {wrong}: expected one of {', '.join(LEVELS)}")
    return {name.replace("-", "_"): level for name, level in found.items() if level != "none"}


def _shell(defaults: Any) -> str:
    run = _mapping(_mapping(defaults, "defaults", {"run"}).get("run"), "defaults.run", {"shell"})
    shell: str = run.get("shell", "")
    return shell


def _group(concurrency: Any) -> str:
    if isinstance(concurrency, str):
        return concurrency
    group: str = _mapping(concurrency, "concurrency", {"group", "cancel-in-progress"}).get("group", "")
    return group


def _triggers(value: Any) -> dict[str, dict[str, Any]]:
    if isinstance(value, dict):
        # when a schedule comes is nothing that a run here waits for
        return {name: _mapping(None if name == "schedule" else about, name) for name, about in value.items()}
    return {name: {} for name in _list(value)}


def _job(name: str, held: Mapping[str, Any], levels: Mapping[str, str] | None, shell: str) -> Job:
    where = f"job {name}"
    mine = _permissions(held["permissions"], where) if "permissions" in held else levels
    if mine is None:
        raise WorkflowError(f"{where}: nothing says its permissions, and what it may is left to a setting")
    environment = held.get("environment", "")
    about = {"name": environment} if isinstance(environment, str) else environment
    about = _mapping(about, f"{where}: environment", {"name", "url"})
    strategy = _mapping(held.get("strategy"), f"{where}: strategy", {"fail-fast", "max-parallel", "matrix"})
    matrix = _mapping(strategy.get("matrix"), f"{where}: matrix")
    if {"include", "exclude"} & set(matrix):
        raise WorkflowError(f"{where}: matrix: this runner knows neither include nor exclude")
    steps = tuple(_step(f"{where}, step {at + 1}", each, shell) for at, each in enumerate(held["steps"]))
    _distinct(where, steps)
    return Job(
        id=name,
        name=held.get("name", ""),
        needs=tuple(_list(held.get("needs"))),
        condition=held.get("if", ""),
        permissions=mine,
        environment=about["name"],
        address=about.get("url", ""),
        outputs=_texts(held.get("outputs"), f"{where}: outputs"),
        matrix=matrix,
        env=_texts(held.get("env"), f"{where}: env"),
        steps=steps,
    )


def _distinct(where: str, steps: Sequence[Step]) -> None:
    names = [each.id for each in steps if each.id]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise WorkflowError(f"{where}: {', '.join(twice)}: two steps of one id")


def _step(place: str, value: Any, shell: str) -> Step:
    held = _mapping(value, place, _STEP)
    place = f"{place} ({held['name']})" if "name" in held else place
    run, uses = held.get("run", ""), held.get("uses", "")
    if bool(run) == bool(uses):
        raise WorkflowError(f"{place}: expected one of `run` and `uses`")
    if has_expression(run):
        raise WorkflowError(f"{place}: an expression in `run` becomes a part of the script; hand it over by `env`")
    if held.get("continue-on-error", "false") not in ("true", "false"):
        raise WorkflowError(f"{place}: continue-on-error: expected true or false")
    return Step(
        place=place,
        id=held.get("id", ""),
        condition=held.get("if", ""),
        uses=uses,
        given=_texts(held.get("with"), f"{place}: with"),
        run=run,
        shell=held.get("shell", shell) if run else "",
        folder=held.get("working-directory", ""),
        env=_texts(held.get("env"), f"{place}: env"),
        tolerated=held.get("continue-on-error") == "true",
    )


def _ordered(jobs: Mapping[str, Job]) -> None:
    """Raises WorkflowError where a job needs none that there is, or itself by others."""
    done: set[str] = set()
    while len(done) < len(jobs):
        ready = {name for name, job in jobs.items() if name not in done and done.issuperset(job.needs)}
        if not ready:
            left = ", ".join(sorted(set(jobs) - done))
            raise WorkflowError(f"jobs {left} need what is not there, or each other")
        done |= ready

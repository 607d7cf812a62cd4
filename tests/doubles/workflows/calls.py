"""Calls of reusable workflows: the interface of the called file, and the rules that GitHub enforces for the caller.

GitHub checks a call before the run starts. It refuses unknown inputs and secrets, missing required ones, values of
another type, and permissions beyond those of the calling job. `check_calls` does the same for all workflow files.

A called job gets a secret of an environment only if the called workflow declares the name of the secret and the caller
passes that name (https://github.com/actions/runner/issues/1490). Such a secret cannot be required, because the caller
has no value for it. https://docs.github.com/en/actions/how-tos/reuse-automations/reuse-workflows describes the other
rules.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from tests.doubles.workflows.expressions import (
    Contexts,
    StrictDict,
    Value,
    WorkflowError,
    filled,
    filled_text,
    has_expression,
)
from tests.doubles.workflows.load_workflow import LEVELS, Call, JobDefinition, Workflow, mapping, texts

TRIGGER: Final = "workflow_call"
_DEFAULTS: Final[Mapping[str, Value]] = {"boolean": False, "number": 0, "string": ""}
_LITERALS: Final[Mapping[str, str]] = {"boolean": "true|false", "number": r"-?\d+", "string": ".*"}
_SECRET: Final = re.compile(r"\bsecrets\.(\w+)")


@dataclass(frozen=True, slots=True)
class Input:
    """An input of a called workflow. `type` is `boolean`, `number` or `string`."""

    type: str
    required: bool
    default: Value


@dataclass(frozen=True, slots=True)
class Interface:
    """The interface of a called workflow. A secret is True if it is required. An output is an expression."""

    inputs: Mapping[str, Input]
    secrets: Mapping[str, bool]
    outputs: Mapping[str, str]


def interface(workflow: Workflow) -> Interface:
    """Return the interface that a workflow declares. Raises WorkflowError if no workflow may call it."""
    if TRIGGER not in workflow.triggers:
        raise WorkflowError(f"{workflow.path}: on: there is no {TRIGGER}")
    declared = mapping(workflow.triggers[TRIGGER], TRIGGER, {"inputs", "secrets", "outputs"})
    secrets = {
        name: mapping(secret, f"secret {name}", {"description", "required"}).get("required") == "true"
        for name, secret in mapping(declared.get("secrets"), "secrets").items()
    }
    outputs = {
        name: texts(mapping(output, f"output {name}", {"description", "value"}), f"output {name}")["value"]
        for name, output in mapping(declared.get("outputs"), "outputs").items()
    }
    inputs = {name: _input(name, about) for name, about in mapping(declared.get("inputs"), "inputs").items()}
    return Interface(inputs, secrets, outputs)


def _input(name: str, value: Value) -> Input:
    declared = mapping(value, f"input {name}", {"description", "required", "type", "default"})
    kind = declared.get("type", "")
    if kind not in _DEFAULTS:
        raise WorkflowError(f"input {name}: type is {kind!r}, expected one of {', '.join(_DEFAULTS)}")
    default = (
        _literal(f"input {name}: default", kind, declared["default"]) if "default" in declared else _DEFAULTS[kind]
    )
    return Input(kind, declared.get("required") == "true", default)


def _literal(place: str, kind: str, text: str) -> Value:
    """Return the value of a text without expressions, as GitHub would read the text from YAML."""
    if not re.fullmatch(_LITERALS[kind], text, re.DOTALL):
        raise WorkflowError(f"{place}: expected a {kind}, found {text!r}")
    return text if kind == "string" else text == "true" if kind == "boolean" else int(text)


def check_calls(workflow: Workflow, files: Mapping[str, Workflow]) -> None:
    """Raise WorkflowError if GitHub would refuse a call in a workflow. `files` has all workflows by path."""
    if TRIGGER in workflow.triggers:
        try:
            interface(workflow)
        except KeyError as error:
            raise WorkflowError(f"{workflow.path}: {TRIGGER}: {error} is missing") from error
    for job in workflow.jobs.values():
        if job.call is not None:
            place = f"{workflow.path}: job {job.id}"
            if job.call.path not in files:
                raise WorkflowError(f"{place}: uses: there is no {job.call.path}")
            _check_call(place, job, job.call, files[job.call.path])


def _check_call(place: str, job: JobDefinition, call: Call, called: Workflow) -> None:
    declared = interface(called)
    required = {name: about.required for name, about in declared.inputs.items()}
    _check_names(f"{place}: input", call.inputs, required, called)
    _check_names(f"{place}: secret", call.secrets, declared.secrets, called)
    for name, text in call.inputs.items():
        if not has_expression(text):
            _literal(f"{place}: input {name}", declared.inputs[name].type, text)
    if called.concurrency:
        raise WorkflowError(f"{called.path}: this runner does not know the concurrency of a called workflow")
    for inner in called.jobs.values():
        if inner.call is not None:
            raise WorkflowError(f"{called.path}: job {inner.id}: this runner does not know a call in a called workflow")
        undeclared = sorted(set(_secrets_of(inner)) - set(declared.secrets) - {"GITHUB_TOKEN"})
        if undeclared:
            raise WorkflowError(f"{called.path}: job {inner.id}: {TRIGGER} declares no secret {', '.join(undeclared)}")
        for name, level in inner.permissions.items():
            granted = job.permissions.get(name, "none")
            if LEVELS.index(level) > LEVELS.index(granted):
                raise WorkflowError(f"{place}: job {inner.id} requests {name}: {level}, and the call grants {granted}")


def _check_names(place: str, passed: Mapping[str, str], required: Mapping[str, bool], called: Workflow) -> None:
    unknown = sorted(set(passed) - set(required))
    if unknown:
        raise WorkflowError(f"{place}: {called.path} does not declare {', '.join(unknown)}")
    missing = sorted(name for name, needed in required.items() if needed and name not in passed)
    if missing:
        raise WorkflowError(f"{place}: {called.path} requires {', '.join(missing)}")


def _secrets_of(job: JobDefinition) -> Iterator[str]:
    """Yield the names of the secrets that a job mentions."""
    for step in job.steps:
        for text in (*step.inputs.values(), *step.env.values()):
            yield from _SECRET.findall(text)
    for text in (*job.env.values(), *job.outputs.values(), job.address):
        yield from _SECRET.findall(text)


def passed_inputs(call: Call, declared: Interface, contexts: Contexts) -> dict[str, Value]:
    """Return the inputs of a called workflow, with defaults. Raises WorkflowError for a value of another type."""
    values = {name: about.default for name, about in declared.inputs.items()}
    for name, text in call.inputs.items():
        kind = declared.inputs[name].type
        value = filled(text, contexts) if has_expression(text) else _literal(name, kind, text)
        if type(value) is not type(_DEFAULTS[kind]):
            raise WorkflowError(f"{call.path}: input {name}: expected a {kind}, found {value!r}")
        values[name] = value
    return values


def passed_secrets(call: Call, contexts: Contexts) -> dict[str, str]:
    """Return the secrets that a caller passes, by name. A secret without a value is empty."""
    return {name: filled_text(text, contexts) for name, text in call.secrets.items()}


def outputs_of(declared: Interface, jobs: Mapping[str, StrictDict], contexts: Contexts) -> dict[str, str]:
    """Return the outputs of a called workflow after its end. `jobs` has the results of its jobs.

    The context `jobs` does not contain the `result` of a job. GitHub documents that field, but evaluates it to an
    empty text: https://github.com/actions/runner/issues/3087.
    """
    known = {"jobs": StrictDict({name: StrictDict(outputs=needed["outputs"]) for name, needed in jobs.items()})}
    return {name: filled_text(text, {**contexts, **known}) for name, text in declared.outputs.items()}

"""GitHub's own OpenAPI description. Tests check each request and response of the double against the description.

The description is part of the npm package `@octokit/openapi`. npm downloads it once into `.bashboard/github`:

    python -m tests.doubles.github.description
"""

from __future__ import annotations

import json
import re
import sys
import tarfile
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any, Final

from jsonschema import Draft4Validator, validators
from referencing import Registry
from referencing.jsonschema import DRAFT4

from evaluator.errors import MissingError
from evaluator.files import write_whole
from tests.doubles.github.server import Exchange
from tests.doubles.npm_packages import brought

PACKAGE: Final = "@octokit/openapi@23.0.2"
INTEGRITY: Final = "sha512-pV8M7L9GY23AybNvTmo2nyjmpmnt6+2sRE/tqr0ZLQcPS4lnw7u5eZGNmwRNkBC3D7gZXbFx5AHzLUVRBXGDhg=="
_MEMBER: Final = "package/generated/api.github.com.json"
KEPT: Final = Path(".bashboard") / "github" / f"{PACKAGE.rpartition('@')[2]}.json"
"""The path of the description, relative to the root of the repository."""


def fetch(kept: Path) -> None:
    """Download the description with npm, check its integrity and write it to a file.

    Raises MissingError without npm or a network.
    """
    with brought({PACKAGE: INTEGRITY}) as archives, tarfile.open(archives[PACKAGE]) as archive:
        member = archive.extractfile(_MEMBER)
        assert member is not None
        kept.parent.mkdir(parents=True, exist_ok=True)
        write_whole(kept, member.read())


def _fits(template: str, path: str) -> bool:
    theirs = template.split("/")
    # the name of a branch is one parameter, which may contain slashes
    ours = path.split("/", len(theirs) - 1 if template.endswith(("/git/ref/{ref}", "/git/refs/{ref}")) else -1)
    pairs = zip(theirs, ours, strict=False)
    return len(theirs) == len(ours) and all(each == piece or (each[:1] == "{" and piece) for each, piece in pairs)


def _or_null(
    keyword: Callable[[Any, Any, Any, Any], Iterator[Any] | None],
) -> Callable[[Any, Any, Any, Any], Iterator[Any]]:
    """Extend a keyword to accept null if the schema has `nullable`. JSON Schema does not have that keyword."""

    def checked(validator: Any, value: Any, instance: Any, schema: Any) -> Iterator[Any]:
        if instance is not None or not schema.get("nullable"):
            yield from keyword(validator, value, instance, schema) or ()

    return checked


_KEYWORDS: Final = ("type", "enum", "allOf", "anyOf", "oneOf")
_Validator: Final[Any] = validators.extend(  # type: ignore[no-untyped-call]
    Draft4Validator, {name: _or_null(Draft4Validator.VALIDATORS[name]) for name in _KEYWORDS}
)


class Description:
    """A check of exchanges against the description. The description is loaded on first use."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._templates: dict[tuple[str, str], str | None] = {}

    @cached_property
    def _document(self) -> dict[str, Any]:
        document: dict[str, Any] = json.loads(self._file.read_bytes())
        return document

    @cached_property
    def _registry(self) -> Registry[Any]:
        empty: Registry[Any] = Registry()
        described: Registry[Any] = empty.with_resource("", DRAFT4.create_resource(self._document))
        return described

    def __call__(self, exchange: Exchange) -> Iterator[str]:
        """Yield each fault of the request, and each fault of the response unless a test injected the response."""
        place = f"{exchange.method} {exchange.path}"
        template = self._template(exchange.method, exchange.path)
        if template is None:
            yield f"{place}: GitHub describes no such operation"
            return
        operation = self._document["paths"][template][exchange.method.lower()]
        faults = [*self._query(operation, exchange.query), *self._body(operation, exchange.body)]
        if not exchange.injected:
            faults += self._answer(operation, exchange)
        yield from (f"{place}: {fault}" for fault in faults)

    def _template(self, method: str, path: str) -> str | None:
        """Return the address of the description that matches a path. Prefer the one with the fewest parameters."""
        shape = re.sub(r"(?<=/)(\d+|[0-9a-f]{40})(?=/|$)", "0", path)
        if (method, shape) not in self._templates:
            fitting = (
                each
                for each, methods in self._document["paths"].items()
                if method.lower() in methods and _fits(each, path)
            )
            self._templates[method, shape] = min(fitting, key=lambda each: each.count("{"), default=None)
        return self._templates[method, shape]

    def _query(self, operation: Mapping[str, Any], query: Mapping[str, str]) -> Iterator[str]:
        known = {
            each["name"]: each for each in map(self._whole, operation.get("parameters", ())) if each["in"] == "query"
        }
        for name, value in query.items():
            if name not in known:
                yield f"GitHub knows no parameter {name!r} here"
                continue
            schema = self._whole(known[name]["schema"])
            number = schema.get("type") == "integer" and value.isdigit()
            yield from self._faults(schema, int(value) if number else value, f"parameter {name!r}")

    def _body(self, operation: Mapping[str, Any], body: Any) -> Iterator[str]:
        described = operation.get("requestBody")
        if described is None:
            if body is not None:
                yield "GitHub reads no body here"
        elif body is not None or described.get("required"):
            schema = self._whole(described)["content"]["application/json"]["schema"]
            if isinstance(body, list):
                # for adding labels, the documentation allows a plain array, and the schema does not
                body = {"labels": body}
            yield from self._faults(schema, body, "the request's body")
            yield from self._unknown(schema, body)

    def _unknown(self, schema: Mapping[str, Any], body: Any) -> Iterator[str]:
        """Yield the fields that GitHub would silently ignore."""
        branches = [self._whole(each) for each in (schema, *schema.get("oneOf", ()), *schema.get("anyOf", ()))]
        known = {name for branch in branches for name in branch.get("properties", ())}
        if isinstance(body, dict):
            yield from (f"the request's body: GitHub knows no field {name!r}" for name in body if name not in known)

    def _answer(self, operation: Mapping[str, Any], exchange: Exchange) -> Iterator[str]:
        described = operation["responses"].get(str(exchange.status))
        if described is None:
            # every operation can return these statuses, and the description does not repeat them
            if exchange.status not in (401, 403, 404):
                yield f"GitHub never answers {exchange.status} here"
            return
        content = self._whole(described).get("content", {}).get("application/json")
        if content is not None:
            yield from self._faults(content["schema"], exchange.answer, "the answer")

    def _faults(self, schema: Mapping[str, Any], instance: Any, what: str) -> Iterator[str]:
        found = _Validator(schema, registry=self._registry, _resolver=self._registry.resolver()).iter_errors(instance)
        for error in found:
            where = "/".join(map(str, error.absolute_path))
            yield f"{what}{f' at {where}' if where else ''}: {error.message[:300]}"

    def _whole(self, thing: dict[str, Any]) -> dict[str, Any]:
        """Resolve a reference, or return the object itself."""
        while "$ref" in thing:
            pointer = thing["$ref"].removeprefix("#/").split("/")
            thing = self._document
            for name in pointer:
                thing = thing[name]
        return thing


if __name__ == "__main__":
    try:
        if not KEPT.is_file():
            fetch(KEPT)
    except MissingError as error:
        sys.exit(f"{error}")

"""Find the owners of submission names in `submissions/owners.json`, or on GitHub for unregistered names.

The publish workflow writes the file, and a maintainer may edit it. Every check of ownership depends on the file, so an
invalid file is always an error.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Final

from pydantic import ValidationError

from evaluator.errors import FormatError, Problem
from evaluator.escaping import printable
from evaluator.github.connection import Connection
from evaluator.github.history import first_author
from evaluator.json_lines import read_json
from evaluator.pipeline.project import Project
from evaluator.records import Owners, read_format
from evaluator.submissions.names import MANIFEST_NAME, OWNERS, is_slug

OWNERS_BYTES: Final = 4_194_304
"""Maximum size of the file. An entry takes about 80 bytes, so the limit allows about fifty thousand names."""
_MAX_NESTING: Final = 2
_MAX_REPORTED: Final = 20


class OwnerKind(StrEnum):
    """The kinds of owner that a name can have."""

    NOBODY = "nobody"
    ACCOUNT = "account"
    PROJECT = "project"


@dataclass(frozen=True, slots=True)
class Owner:
    """The owner of a submission's name. `account` is the number of a GitHub account, if an account owns the name."""

    holder: OwnerKind
    account: int | None = None

    @classmethod
    def of(cls, account: int | None) -> Owner:
        """Return the account with this number as the owner, or the project if the number is None."""
        return cls(OwnerKind.PROJECT) if account is None else cls(OwnerKind.ACCOUNT, account)


NOBODY: Final = Owner(OwnerKind.NOBODY)


def owners_path(project: Project) -> Path:
    """Return the path of `submissions/owners.json`."""
    return project.root / "submissions" / OWNERS


def read_owners(project: Project) -> Owners:
    """Return the owners in `owners.json`, or none if the file is missing. Raises FormatError with the invalid lines."""
    path = owners_path(project)
    if not path.exists() and not path.is_symlink():
        return Owners(format=1, owners={})
    if path.is_symlink() or not path.is_file():
        raise FormatError([Problem(path, 0, "expected a regular file, written by the publish workflow")])
    with path.open("rb") as file:
        return parse_owners(file.read(OWNERS_BYTES + 1), path)


def parse_owners(data: bytes, path: Path) -> Owners:
    """Parse the bytes of `owners.json`. Raises FormatError with the invalid lines."""
    if len(data) > OWNERS_BYTES:
        raise FormatError([Problem(path, 0, f"more than {OWNERS_BYTES:,} bytes: it is not read")])
    try:
        text = data.decode()
        document = read_json(text, _MAX_NESTING)
        if document.faults:
            raise FormatError([Problem(path, 0, printable(fault)) for fault in document.faults])
        read_format(document.value, OWNERS)
        return Owners.model_validate(document.value)
    except ValidationError as error:
        details = error.errors(include_url=False, include_context=False, include_input=False)[:_MAX_REPORTED]
        raise FormatError([_problem(path, text, detail["loc"], detail["msg"]) for detail in details]) from None
    except ValueError as error:
        cause = error.__cause__
        line = cause.lineno if isinstance(cause, json.JSONDecodeError) else 0
        raise FormatError([Problem(path, line, printable(str(error)))]) from None


def _problem(path: Path, text: str, location: tuple[int | str, ...], message: str) -> Problem:
    """Return the problem of an invalid entry, with the number of the line that contains the entry's name."""
    key = json.dumps(str(location[1])) if len(location) > 1 else ""
    lines = enumerate(text.splitlines(), 1)
    line = next((number for number, line in lines if key and key in line), 0)
    field = ".".join(str(part) for part in location if part != "[key]")
    return Problem(path, line, printable(f"{field}: {message}; expected a submission's slug and an account's number"))


def owners_bytes(owners: Owners) -> bytes:
    """Return the bytes of `owners.json`: one name per line, sorted, so that two added names rarely conflict in Git."""
    document = {"format": owners.format, "owners": dict(sorted(owners.owners.items()))}
    return f"{json.dumps(document, indent=2)}\n".encode()


def owner_of(project: Project, connection: Connection, slug: str) -> Owner:
    """Return the registered owner of a name.

    If the name is not registered, return the author of the pull request that added the submission. If there is no such
    submission, the name has no owner.
    """
    registered = read_owners(project).owners
    if slug in registered:
        return Owner.of(registered[slug])
    if not (project.root / "submissions" / slug).is_dir():
        return NOBODY
    return Owner.of(_added_by(connection, slug))


def register(project: Project, connection: Connection) -> Owners:
    """Return the registered owners, and look up the owners of unregistered submissions on GitHub. Write no file."""
    owners = dict(read_owners(project).owners)
    for folder in project.submission_folders():
        if is_slug(folder.name) and folder.name not in owners:
            owners[folder.name] = _added_by(connection, folder.name)
    return Owners(format=1, owners=owners)


def _added_by(connection: Connection, slug: str) -> int | None:
    return first_author(connection, f"submissions/{slug}/{MANIFEST_NAME}")

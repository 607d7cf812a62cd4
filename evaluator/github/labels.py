"""This module sets the labels that show the state of a pull request. It never changes other labels."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Final

from github import GithubException, UnknownObjectException
from github.Issue import Issue
from github.Label import Label

from evaluator.github.connection import Connection, map_errors, post

_WRITE: Final = "pull-requests: write"


@dataclass(frozen=True, slots=True)
class StateLabel:
    """A label of this project. `color` is six hexadecimal digits. `description` has at most 100 characters."""

    name: str
    color: str
    description: str


@dataclass(frozen=True, slots=True)
class LabelChange:
    """The names of the labels that `set_labels` added to a pull request, and of the labels that it removed."""

    added: tuple[str, ...]
    removed: tuple[str, ...]


def set_labels(connection: Connection, number: int, ours: Iterable[StateLabel], wanted: Collection[str]) -> LabelChange:
    """Add the `wanted` labels to a pull request, and remove all other labels of this project (`ours`) from it.

    A label that the repository lacks is created first. Raises ValueError if a wanted name is not in `ours`. Also raises
    PermissionMissingError if the token lacks a permission, and GitHubError if GitHub fails.
    """
    known = {label.name.casefold(): label for label in ours}
    chosen = {name.casefold() for name in wanted}
    if unknown := sorted(chosen - set(known)):
        raise ValueError(f"unknown labels {unknown}: expected some of {sorted(known)}")
    with map_errors(connection, f"labelling pull request {number}", _WRITE):
        pull = connection.hosted.get_issue(number)
        # GitHub ignores case in label names
        present = {label.name.casefold(): label.name for label in pull.get_labels()}
        added = tuple(known[name].name for name in sorted(chosen - set(present)))
        removed = tuple(present[name] for name in sorted((set(present) & set(known)) - chosen))
        for name in added:
            _ensure(connection, known[name.casefold()])
        if added:
            post(connection, lambda: _add(pull, added), lambda: None)
        for name in removed:
            _remove(pull, name)
    return LabelChange(added, removed)


def _ensure(connection: Connection, label: StateLabel) -> None:
    """Create a label if the repository has no label of this name. An existing label keeps its color and description."""
    if _find(connection, label) is None:
        create = connection.hosted.create_label
        post(connection, lambda: create(label.name, label.color, label.description), lambda: _find(connection, label))


def _find(connection: Connection, label: StateLabel) -> Label | None:
    try:
        present = connection.hosted.get_label(label.name)
        present.update()
    except UnknownObjectException:
        return None
    return present


def _add(pull: Issue, names: Collection[str]) -> bool:
    """Add the labels to the pull request. A repeated call is safe, because GitHub adds no label twice."""
    pull.add_to_labels(*names)
    return True


def _remove(pull: Issue, name: str) -> None:
    try:
        pull.remove_from_labels(name)
    except GithubException as error:
        # already removed: by a person, or by an earlier request whose response was lost
        if error.status != 404:
            raise

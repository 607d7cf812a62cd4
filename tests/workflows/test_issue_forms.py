"""The forms for new issues, and the links to these forms."""

from __future__ import annotations

import inspect
from typing import Any

import pytest

from evaluator.github.forms import APPEAL_FORM, appeal_address
from evaluator.records import Ruling
from tests.workflows.workflow_yaml import FOLDER, read

FORMS = sorted(path for path in (FOLDER / "ISSUE_TEMPLATE").iterdir() if path.name != "config.yml")
APPEAL = read(FOLDER / "ISSUE_TEMPLATE" / APPEAL_FORM)


def fields(form: Any) -> dict[str, Any]:
    """Return the questions of a form by their ids."""
    return {question["id"]: question for question in form["body"] if "id" in question}


def test_a_link_to_the_appeal_form_fills_in_existing_fields() -> None:
    named = set(inspect.signature(appeal_address).parameters) - {"server", "repository"}
    assert named <= set(fields(APPEAL))


def test_an_appeal_offers_every_ruling() -> None:
    assert fields(APPEAL)["ruling"]["attributes"]["options"] == [ruling.value for ruling in Ruling]


def test_the_labels_that_rule_are_read_as_the_rulings() -> None:
    """The workflow runs only for the labels of rulings, and passes the ruling to the command."""
    job = read(FOLDER / "workflows" / "appeal.yml")["jobs"]["appeal"]
    assert job["if"] == " || ".join(f"github.event.label.name == 'ruling: {ruling.value}'" for ruling in Ruling)
    passed = job["steps"][-1]["env"]["RULING"]
    assert passed == "${{ github.event.label.name == 'ruling: pass' && 'pass' || 'fail' }}"


@pytest.mark.parametrize("path", FORMS, ids=lambda path: path.stem)
def test_a_form_labels_its_issues_and_asks_nothing_twice(path: Any) -> None:
    """A form has labels, and no question occurs twice.

    In the text of an issue only the words of the question identify an answer.
    """
    form = read(path)
    labels = [question["attributes"]["label"] for question in form["body"] if "id" in question]
    assert len(labels) == len(set(labels)) == len(fields(form))
    assert form["labels"]

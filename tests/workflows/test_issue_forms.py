"""The forms by which issues are opened, and what leads to them."""

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
    """A form's questions by their names."""
    return {each["id"]: each for each in form["body"] if "id" in each}


def test_a_link_to_the_appeal_form_fills_in_fields_that_it_has() -> None:
    named = set(inspect.signature(appeal_address).parameters) - {"server", "repository"}
    assert named <= set(fields(APPEAL))


def test_an_appeal_asks_for_a_ruling_that_there_is() -> None:
    assert fields(APPEAL)["ruling"]["attributes"]["options"] == [each.value for each in Ruling]


def test_the_labels_that_rule_are_read_as_the_rulings() -> None:
    """The workflow runs for these labels and no others, and says which it was."""
    job = read(FOLDER / "workflows" / "appeal.yml")["jobs"]["appeal"]
    assert job["if"] == " || ".join(f"github.event.label.name == 'ruling: {each.value}'" for each in Ruling)
    handed = job["steps"][-1]["env"]["RULING"]
    assert handed == "${{ github.event.label.name == 'ruling: pass' && 'pass' || 'fail' }}"


@pytest.mark.parametrize("path", FORMS, ids=lambda path: path.stem)
def test_a_form_labels_its_issues_and_asks_nothing_twice(path: Any) -> None:
    """Answers are told apart by the questions' words in the issue's text."""
    form = read(path)
    asked = [each["attributes"]["label"] for each in form["body"] if "id" in each]
    assert len(asked) == len(set(asked)) == len(fields(form))
    assert form["labels"]

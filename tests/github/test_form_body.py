"""The text under the headings of an issue form is untrusted. The parser guesses no value and reports each fault."""

from __future__ import annotations

import pytest

from evaluator.github.form_body import LONGEST, read_form

LABELS = {"task": "Task", "why": "Why"}
BODY = "### Task\n\nfiles-003\n\n### Why\n\nIt does\nas asked.\n"


@pytest.mark.parametrize(
    ("body", "values"),
    [
        (BODY, {"task": "files-003", "why": "It does\nas asked."}),
        (BODY.replace("\n", "\r\n"), {"task": "files-003", "why": "It does\nas asked."}),
        (BODY.replace("\n", "\r"), {"task": "files-003", "why": "It does\nas asked."}),
        (f"Good day\n{BODY}", {"task": "files-003", "why": "It does\nas asked."}),
        ("### Why\nso\n### Task\nx", {"task": "x", "why": "so"}),
        ("### Task  \n\n_No response_\n\n### Why\n\n", {"task": "", "why": ""}),
        (BODY.replace("as asked", "### Nothing\n#### Task\n ### Task"), None),
    ],
)
def test_values_stand_below_their_labels(body: str, values: dict[str, str] | None) -> None:
    """Any style of line ends is read, and a heading that is not a label of the form belongs to the value."""
    found = read_form(body, LABELS)
    assert found.faults == ()
    expected = values or {"task": "files-003", "why": "It does\n### Nothing\n#### Task\n ### Task."}
    assert found.values == expected


@pytest.mark.parametrize(
    ("body", "fields", "faults"),
    [
        ("", set(), ["“### Task” is missing", "“### Why” is missing"]),
        ("### task\n\nx\n### Why\n\ny", {"why"}, ["“### Task” is missing"]),
        (f"{BODY}\n### Task\n\nother", {"why"}, ["“### Task” stands 2 times: expected once"]),
        ("### Task\nx\n### Why\n### Why\n### Why\nz", {"task"}, ["“### Why” stands 3 times"]),
        ("### Task" + "x" * LONGEST, set(), ["65,544 characters: expected at most 65,536"]),
        ("### Task\u200b\n\nx\n### Why\n\ny", {"why"}, ["“### Task” is missing"]),
    ],
)
def test_what_cannot_be_told_is_a_fault_and_no_value(body: str, fields: set[str], faults: list[str]) -> None:
    found = read_form(body, LABELS)
    assert set(found.values) == fields
    assert len(found.faults) == len(faults)
    assert all(part in fault for part, fault in zip(faults, found.faults, strict=True))

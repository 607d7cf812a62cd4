"""Differences in presentation that do not count for an open task, and rotated answers that they must not let pass."""

from __future__ import annotations

import hashlib

import pytest

from evaluator.judges.consensus.nondeterministic import Text
from evaluator.judges.consensus.presentation import PRESENTATIONS, presentation_of

COUNTS = "Count the lines of each script below /srv"
FOUND = "2 /srv/a.sh\n3 /srv/b.sh\n"


def text(data: str) -> Text:
    return Text(data.encode(), hashlib.sha256(data.encode()).hexdigest())


SERVED: dict[str, tuple[str, str, str, str]] = {
    "blanks": ("layout", COUNTS, " 2 /srv/a.sh\n\n   3\t/srv/b.sh\n", FOUND),
    "order of rows": ("layout", COUNTS, "3 /srv/b.sh\n2 /srv/a.sh\n", FOUND),
    "order of fields": ("layout", COUNTS, "/srv/a.sh 2\n/srv/b.sh 3\n", FOUND),
    "a total of the candidate": ("total", COUNTS, f"{FOUND}5 total\n", FOUND),
    "a total of the reference": ("total", COUNTS, FOUND, f" 5 total\n {FOUND}"),
    "a name beside a sum": ("columns", "List the repeated checksums", "c0ffee0 /srv/a\n", "c0ffee0\n"),
    "a long listing": (
        "columns",
        "List the scripts",
        "-rw-r--r-- 1 root a.sh\n-rw-r--r-- 1 root b.sh\n",
        "b.sh\na.sh\n",
    ),
}


@pytest.mark.parametrize(("name", "instruction", "candidate", "reference"), SERVED.values(), ids=SERVED)
def test_a_difference_in_presentation_has_a_name(name: str, instruction: str, candidate: str, reference: str) -> None:
    assert presentation_of(text(candidate), text(reference), instruction, ordered=True) == name


def test_each_presentation_is_served() -> None:
    assert {name for name, *_ in SERVED.values()} == set(PRESENTATIONS)


DIFFERENT: dict[str, tuple[str, str, str]] = {
    "another number": (COUNTS, "2 /srv/a.sh\n4 /srv/b.sh\n", FOUND),
    "rotated numbers": (COUNTS, "3 /srv/a.sh\n2 /srv/b.sh\n", FOUND),
    "one row less": (COUNTS, "2 /srv/a.sh\n", FOUND),
    "one row more": (COUNTS, f"{FOUND}1 /srv/c.sh\n", FOUND),
    "nothing for nothing": (COUNTS, "\n", "\n"),
    "a wrong total": (COUNTS, f"{FOUND}6 total\n", FOUND),
    "only a total": (COUNTS, "5 total\n", FOUND),
    "a total that was asked for": ("Count the lines of the scripts, with a total", FOUND, f"{FOUND}5 total\n"),
    "another order than asked for": ("Sort the scripts by their lines", "3 /srv/b.sh\n2 /srv/a.sh\n", FOUND),
    "many numbers for one": ("Count the scripts", "1 2 3 4 5 6 7\n", "5\n"),
    "more than asked for": ("Print only the names of the scripts", "a.sh 2\nb.sh 3\n", "a.sh\nb.sh\n"),
    "all names in each row": ("List the scripts", "a.sh b.sh\na.sh b.sh\n", "a.sh\nb.sh\n"),
    "a field less": (COUNTS, "/srv/a.sh\n/srv/b.sh\n", FOUND),
    "a long number": (COUNTS, f"{'9' * 5000} a\n2 b\n{'9' * 5000} total\n", FOUND),
}


@pytest.mark.parametrize(("instruction", "candidate", "reference"), DIFFERENT.values(), ids=DIFFERENT)
def test_other_information_is_no_presentation(instruction: str, candidate: str, reference: str) -> None:
    assert presentation_of(text(candidate), text(reference), instruction, ordered=True) is None


def test_the_order_is_free_if_the_references_are_compared_as_a_set() -> None:
    """The suite says that the order of this output does not count, so words of the instruction cannot change that."""
    candidate, reference = text("3 /srv/b.sh\n2 /srv/a.sh\n"), text(FOUND)
    assert presentation_of(candidate, reference, "Sort the scripts", ordered=False) == "layout"

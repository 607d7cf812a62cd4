"""A date outside the calendar in a server's header requests no pause."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from evaluator.model_server.rate_limit import requested_pause

NOW = datetime(2025, 3, 14, 9, 30, tzinfo=UTC)


@pytest.mark.parametrize(
    "date",
    [
        f"Fri, 03 Jan 2026 10:00:00{'2' * 90} GMT",
        f"Fri, 03 Jan {'9' * 30} 10:00:00 GMT",
    ],
)
def test_a_date_with_a_huge_number_is_no_pause(date: str) -> None:
    assert requested_pause({"retry-after": date}, NOW) is None

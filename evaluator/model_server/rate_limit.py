"""Delay all requests while a server asks for a pause.

A server asks with the header `Retry-After` (seconds or a date, RFC 9110 §10.2.3), with `retry-after-ms`, or with pairs
of the headers `x-ratelimit-remaining-*` and `x-ratelimit-reset-*` (`1s`, `6m0s`, `120ms`).
"""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Final

_PART: Final = re.compile(r"(?<!\d)(\d++(?:\.\d++)?)(ms|s|m|h|d)")
_SECONDS: Final = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}


class RateLimiter:
    """A limiter that delays all requests until the end of the longest pause that a server asked for."""

    def __init__(self) -> None:
        self._until = 0.0

    def pause_for(self, seconds: float) -> None:
        """Delay requests for `seconds` from now. If a longer pause is already set, keep it."""
        self._until = max(self._until, time.monotonic() + seconds)

    async def wait(self) -> None:
        """Wait until the current pause is over."""
        while (left := self._until - time.monotonic()) > 0:
            await asyncio.sleep(left)


def requested_pause(headers: Mapping[str, str], now: datetime | None = None) -> float | None:
    """Return the pause in seconds from the headers of a refused request, or None if the headers name no pause."""
    milliseconds = _number(headers.get("retry-after-ms"))
    if milliseconds is not None:
        return milliseconds / 1000
    value = headers.get("retry-after")
    seconds = _number(value)
    if seconds is not None or value is None:
        return seconds
    try:
        moment = parsedate_to_datetime(value)
        moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
        return max(0.0, (moment - (now or datetime.now(UTC))).total_seconds())
    except (ValueError, OverflowError):  # OverflowError: a number that is too large for a date
        return None


def exhausted_for(headers: Mapping[str, str], tokens: int) -> float:
    """Return the seconds until the server's rate limits allow a request of `tokens` tokens, or 0 if they do now.

    `headers` are the headers of the server's last response, which state these limits.
    """
    pause = 0.0
    for name, needed in (("requests", 1), ("tokens", tokens)):
        remaining = _number(headers.get(f"x-ratelimit-remaining-{name}"))
        if remaining is not None and remaining < needed:
            pause = max(pause, duration_s(headers.get(f"x-ratelimit-reset-{name}") or ""))
    return pause


def duration_s(text: str) -> float:
    """Return the seconds of a duration such as `6m0s`, `120ms` or `1.5`, or 0 if the text is not a duration."""
    plain = _number(text)
    if plain is not None:
        return plain
    parts = _PART.findall(text)
    if "".join(number + unit for number, unit in parts) != text:
        return 0.0
    return sum(float(number) * _SECONDS[unit] for number, unit in parts)


def _number(text: str | None) -> float | None:
    return float(text) if text is not None and re.fullmatch(r"\d+(\.\d+)?", text.strip()) else None

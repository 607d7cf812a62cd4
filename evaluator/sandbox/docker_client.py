"""The engine's client, and how long it waits: a limit for each kind of request, after which the engine is silent.

An engine may hang instead of refusing: its socket accepts and no answer ever comes. So no request waits for ever,
and what an engine does in milliseconds is not waited for as long as what takes it minutes. All limits are in one
place, whoever makes the request and in whatever thread.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

import docker
import requests

from evaluator.errors import SilentEngineError

_PROBES: Final = re.compile(r"/(_ping|version)$")
_WORK: Final = re.compile(
    r"/(build|commit|images/(create|load|get)|images/.+/get|exec/[^/]+/start|containers/.+/archive)$"
)


class Timeouts(NamedTuple):
    """Seconds of silence after which a request is given up, by its kind.

    `probe_s` is for an engine to say that it is there: milliseconds where it is well. `call_s` is for what it does
    in tenths of a second (create, start, look at, list, remove), on a machine that has much else to do. `work_s` is
    for silence while it builds, unpacks or runs something.
    """

    probe_s: float = 5.0
    call_s: float = 30.0
    work_s: float = 600.0

    def of(self, path: str) -> float:
        """The limit of a request.

        >>> [Timeouts().of(path) for path in ("/_ping", "/v1.41/containers/create?name=x", "/v1.41/build?t=x")]
        [5.0, 30.0, 600.0]
        """
        place = path.partition("?")[0]
        if _PROBES.search(place):
            return self.probe_s
        return self.work_s if _WORK.search(place) else self.call_s


WAITS: Final = Timeouts()


class _API(docker.APIClient):  # type: ignore[misc] # docker has no types
    """The engine's API, whose every request without a limit of its own has that of its kind."""

    def __init__(self, waits: Timeouts, **settings: Any) -> None:
        self._waits = waits
        super().__init__(timeout=waits.call_s, **settings)

    def send(self, request: Any, **options: Any) -> Any:
        """Send one request. Raises SilentEngineError where the limit of its kind is over."""
        if options.get("timeout") != self.timeout:  # the caller's own, or expressly none
            return super().send(request, **options)
        wait_s = self._waits.of(request.path_url)
        try:
            return super().send(request, **{**options, "timeout": wait_s})
        except requests.RequestException as error:
            if not timed_out(error):
                raise
            what = f"{request.method} {request.path_url.partition('?')[0]}"
            raise SilentEngineError(f"the engine does not answer ({what}, waited {wait_s:.0f} s)") from error


class EngineClient(docker.DockerClient):  # type: ignore[misc] # docker has no types
    """docker-py's client over that API; to make one asks the engine for its version."""

    def __init__(self, waits: Timeouts, **settings: Any) -> None:
        self.api = _API(waits, **settings)


def causes(error: BaseException) -> Iterator[BaseException]:
    """An error and what it was raised for, outermost first."""
    found: BaseException | None = error
    while found is not None:
        yield found
        found = found.__cause__ or found.__context__


def timed_out(error: BaseException) -> bool:
    """Whether a time limit is at the bottom of an error, out of the layers of HTTP that wrap it."""
    return any(isinstance(each, TimeoutError | SilentEngineError) for each in causes(error))

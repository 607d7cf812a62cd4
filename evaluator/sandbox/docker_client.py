"""The client of the container engine, with a time limit for each kind of request.

An engine may hang: its socket accepts requests, but the engine never answers. So every request has a time limit, and
requests that take milliseconds have a shorter limit than those that take minutes. All limits are defined here.
"""

from __future__ import annotations

import os
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
    """The time limits for the engine's answer to a request, in seconds. There is one limit for each kind of request.

    `probe_s` is for a ping, which a healthy engine answers in milliseconds. `call_s` is for requests that take tenths
    of a second (create, start, inspect, list, remove), with a margin for a busy machine. `work_s` is for requests to
    build, unpack or run something. It limits each pause between two parts of the answer.
    """

    probe_s: float = 5.0
    call_s: float = 30.0
    work_s: float = 600.0

    def of(self, path: str) -> float:
        """Return the limit, in seconds, of a request to this path of the engine's API.

        >>> [Timeouts().of(path) for path in ("/_ping", "/v1.41/containers/create?name=x", "/v1.41/build?t=x")]
        [5.0, 30.0, 600.0]
        """
        endpoint = path.partition("?")[0]
        if _PROBES.search(endpoint):
            return self.probe_s
        return self.work_s if _WORK.search(endpoint) else self.call_s

    def times(self, factor: float) -> Timeouts:
        """Return the limits multiplied by a factor."""
        return Timeouts(*(limit * factor for limit in self))


TIMEOUTS: Final = Timeouts().times(float(os.environ.get("BASHBOARD_SLOWNESS", "1")))
"""The limits on this machine. A maintainer of a very slow machine, such as an emulated one, sets the factor."""


class _API(docker.APIClient):  # type: ignore[misc] # docker has no types
    """docker-py's access to the engine's API. The kind of a request decides its time limit if the caller sets none."""

    def __init__(self, timeouts: Timeouts, **settings: Any) -> None:
        self._timeouts = timeouts
        super().__init__(timeout=timeouts.call_s, **settings)

    def send(self, request: Any, **options: Any) -> Any:
        """Send one request. Raises SilentEngineError if the time limit for this kind of request is exceeded."""
        if options.get("timeout") != self.timeout:  # the caller set a limit, or explicitly none
            return super().send(request, **options)
        timeout_s = self._timeouts.of(request.path_url)
        try:
            return super().send(request, **{**options, "timeout": timeout_s})
        except requests.RequestException as error:
            if not timed_out(error):
                raise
            endpoint = f"{request.method} {request.path_url.partition('?')[0]}"
            raise SilentEngineError(f"the engine does not answer ({endpoint}, waited {timeout_s:.0f} s)") from error


class EngineClient(docker.DockerClient):  # type: ignore[misc] # docker has no types
    """docker-py's client with a time limit for each request. The constructor asks the engine for its version."""

    def __init__(self, timeouts: Timeouts, **settings: Any) -> None:
        self.api = _API(timeouts, **settings)


def causes(error: BaseException) -> Iterator[BaseException]:
    """Yield an error and then its causes, from the outermost to the innermost."""
    cause: BaseException | None = error
    while cause is not None:
        yield cause
        cause = cause.__cause__ or cause.__context__


def timed_out(error: BaseException) -> bool:
    """Return whether a time limit caused an error, even if HTTP layers wrap the original error."""
    return any(isinstance(cause, TimeoutError | SilentEngineError) for cause in causes(error))

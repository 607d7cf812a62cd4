"""The stages of `make soak-vm`: each has its inputs, a limit of time, and work that a stamp makes unnecessary."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

from tests.vm.guest_disk import StepError

Work = Callable[[Path], str]
"""The work of a stage: it writes its output to the log and returns a short result. It raises StepError."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """A stage's result: whether it passed, its seconds, a short text, and the digest of its inputs.

    `factor` is the number by which the limits of the stage's tests were multiplied.
    """

    name: str
    passed: bool
    seconds: float
    text: str
    inputs: str
    factor: float = 1.0
    earlier: bool = False


class Stages:
    """The outcomes of this run, and the stamps of earlier runs in the folder `cache`.

    `factor` is the slowness of the machine on which the next stages run.
    """

    def __init__(self, cache: Path, again: Sequence[str]) -> None:
        self._cache, self._again = cache, again
        self.outcomes: list[Outcome] = []
        self.factor = 1.0

    def done(self, name: str, inputs: str) -> Outcome | None:
        """Return the outcome of an earlier run with the same inputs, if the stage passed then."""
        stamp = self._cache / f"{name}.stamp"
        if name in self._again or not stamp.exists():
            return None
        earlier = Outcome(**{**json.loads(stamp.read_text()), "earlier": True})
        return earlier if earlier.passed and earlier.inputs == inputs else None

    def forget(self, names: Sequence[str]) -> None:
        """Remove the stamps of stages, so that they run again."""
        for name in names:
            (self._cache / f"{name}.stamp").unlink(missing_ok=True)

    def run(self, name: str, inputs: str, work: Work) -> bool:
        """Do the work of a stage, unless an earlier run did it with the same inputs. Return whether it passed."""
        if earlier := self.done(name, inputs):
            self.outcomes.append(earlier)
            return True
        print(f"{time.strftime('%H:%M:%S')} {name} ...", flush=True)  # noqa: T201
        log = self._cache / f"{name}.log"
        log.unlink(missing_ok=True)
        began = time.monotonic()
        try:
            passed, text = True, work(log)
        except StepError as error:
            passed, text = False, str(error)
        first = text.splitlines()[0] if text else ""
        outcome = Outcome(name, passed, round(time.monotonic() - began, 1), first, inputs, round(self.factor, 1))
        (self._cache / f"{name}.stamp").write_text(json.dumps(asdict(outcome)) + "\n")
        self.outcomes.append(outcome)
        print(f"{time.strftime('%H:%M:%S')} {name} {verdict(outcome)}: {text}", flush=True)  # noqa: T201
        return passed

    def table(self) -> str:
        """Return one line for each stage, with its result, its time and a short text."""
        rows = [f"{'stage':20} {'result':7} {'seconds':>8} {'factor':>7}"]
        for outcome in self.outcomes:
            when = " (in an earlier run)" if outcome.earlier else ""
            numbers = f"{outcome.seconds:8.0f} {outcome.factor:7.1f}"
            rows.append(f"{outcome.name:20} {verdict(outcome):7} {numbers}  {outcome.text}{when}")
        return "\n".join(rows)


def verdict(outcome: Outcome) -> str:
    """Return the word for a stage's result."""
    return "passed" if outcome.passed else "FAILED"


_BLOCK: Final = 1 << 20


def digest_of_files(*parts: Path | str) -> str:
    """Return a digest of texts and of the content of files."""
    state = hashlib.sha256()
    for part in parts:
        if isinstance(part, str):
            state.update(part.encode())
            continue
        with part.open("rb") as file:
            while block := file.read(_BLOCK):
                state.update(block)
    return state.hexdigest()[:24]

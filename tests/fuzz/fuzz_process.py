"""Run atheris on one target in this process.

The arguments are the target, 1 to fuzz with the planted fault or 0 without it, the folder for inputs that fail, and
arguments for libFuzzer. The process ends at the first finding.
"""

from __future__ import annotations

import gc
import hashlib
import os
import sys
import traceback
from pathlib import Path
from types import FunctionType

import atheris

from tests.fuzz.json_mutator import mutate_json
from tests.fuzz.target import Target, all_targets


def instrument(target: Target) -> None:
    """Add atheris's instrumentation to all functions in the modules of a target's scopes."""
    modules = {scope.partition(":")[0] for scope in target.scopes}
    for function in gc.get_objects():
        if isinstance(function, FunctionType) and function.__module__ in modules:
            atheris.instrument_func(function)


class Execution:
    """The execution of inputs. An exception is a finding: the input is stored, and the process ends.

    atheris itself would first end the interpreter. The timer of libFuzzer can kill the process meanwhile, and then the
    input is lost.
    """

    def __init__(self, target: Target, findings: Path, *, planted: bool) -> None:
        self._run = target.run_with_planted_fault if planted else target.run
        self._findings = findings
        self._count = 0

    def __call__(self, data: bytes) -> None:
        """Run the target on one input."""
        self._count += 1
        try:
            self._run(data)
        except BaseException:
            (self._findings / f"crash-{hashlib.sha256(data).hexdigest()[:16]}").write_bytes(data)
            traceback.print_exc()
            print(f"stat::number_of_executed_units: {self._count}", file=sys.stderr, flush=True)  # noqa: T201
            os._exit(77)


def mutate(data: bytes, longest: int, seed: int) -> bytes:
    """Change an input as lines of JSON. Change it as bytes if it has no line of JSON, and in a quarter of all calls."""
    changed = mutate_json(data, longest, seed) if seed % 4 else None
    return atheris.Mutate(data, longest) if changed is None else changed


def main(name: str, planted: str, findings: str, *arguments: str) -> None:
    """Fuzz a target with arguments for libFuzzer."""
    target = all_targets()[name]
    target.run(b"")  # imports the modules that the parser imports late
    instrument(target)
    execution = Execution(target, Path(findings), planted=planted == "1")
    custom = {"custom_mutator": mutate} if target.is_json else {}
    atheris.Setup([name, *arguments], execution, **custom)
    atheris.Fuzz()


if __name__ == "__main__":
    main(*sys.argv[1:])

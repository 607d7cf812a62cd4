"""Fuzz one target, or print a table of all targets: `python -m tests.fuzz [TARGET] [--seconds N] [--keep]`."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from tests.fuzz.campaign import ROOT, found_inputs, fuzz, keep
from tests.fuzz.line_coverage import measure
from tests.fuzz.target import Target, all_targets

WORK: Final = ROOT / "build" / "fuzz"


def _row(target: Target, more: Sequence[bytes] = ()) -> str:
    corpus = [path.read_bytes() for path in target.corpus]
    coverage = measure(target, [*corpus, *more])
    size = sum(map(len, corpus))
    return f"{target.name:24}{len(corpus):6}{size:9,}{len(coverage.lines):7}{coverage.percent:9.1f} %"


def _fuzz(target: Target, seconds: int, work: Path, *, keeps: bool) -> int:
    campaign = fuzz(target, work, [f"-max_total_time={seconds}"])
    found = found_inputs(work)
    print(f"{campaign.executions:,} executions, {len(found)} inputs in {work / 'inputs'}")
    for path in campaign.findings:
        print(f"FINDING {path}")
    if campaign.findings:
        print(campaign.log[-4000:])
    elif keeps:
        print(*(f"kept {path}" for path in keep(target, found)), sep="\n")
    print(_row(target, found))
    return 1 if campaign.findings else 0


def main() -> int:
    """Read the command line, and return 1 if a finding exists."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("target", nargs="?", choices=list(all_targets()), help="without it, print the table")
    parser.add_argument("--seconds", type=int, default=60, help="how long to fuzz")
    parser.add_argument("--keep", action="store_true", help="add inputs that reach new lines to the corpus")
    parser.add_argument("--missing", action="store_true", help="list the lines that the corpus does not reach")
    options = parser.parse_args()
    if options.target is None:
        print(f"{'target':24}{'files':>6}{'bytes':>9}{'lines':>7}{'covered':>11}")
        for target in all_targets().values():
            print(_row(target), flush=True)
        return 0
    chosen = all_targets()[options.target]
    if options.missing:
        print(*measure(chosen, [path.read_bytes() for path in chosen.corpus]).missing, sep="\n")
        return 0
    return _fuzz(chosen, options.seconds, WORK / chosen.name, keeps=options.keep)


if __name__ == "__main__":
    raise SystemExit(main())

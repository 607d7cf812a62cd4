"""A valid submission folder, which tests make invalid, and the suite that the submission answers."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from evaluator.submissions import SuiteInfo

SUITES: Final = {"core": SuiteInfo("2.1.0", ("find-1", "find-2", "text-1"), ("1.0.0", "2.0.0"))}

MANIFEST: Final = b"""format = 1
system = "A system"
open_weights = true
method = "rules"

[[authors]]
name = "A group"

[suites]
core = "2.1.0"
"""

PREDICTIONS: Final = b"""{"task":"find-1","candidates":[{"command":"ls"},{"command":"ls -a","confidence":0.5}]}
{"task":"find-2","output":"find ."}
{"task":"text-1","candidates":[],"latency_s":0.5,"input_tokens":3}
"""


def make_folder(parent: Path, manifest: bytes = MANIFEST, predictions: bytes = PREDICTIONS) -> Path:
    """Make the folder `a-system` under `parent` with these two files, and return its path."""
    folder = parent / "a-system"
    folder.mkdir()
    (folder / "submission.toml").write_bytes(manifest)
    (folder / "core.jsonl").write_bytes(predictions)
    return folder


def manifest_with(old: str, new: str) -> bytes:
    """Return the valid manifest with `old` replaced by `new`. Raises ValueError if `old` does not occur."""
    if old not in MANIFEST.decode():
        raise ValueError(f"{old!r} is not in the sound manifest")
    return MANIFEST.decode().replace(old, new).encode()

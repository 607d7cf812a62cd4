"""Importer of IBM's execution-accuracy benchmark (nl2bash-eabench): one folder for each test, with its own verifier.

The benchmark has three sets. In the set `bash_1`, the folder `testN` holds `prompt`, a passing answer (a command), and
a `test.py` that calls the answer and reports Pass or Fail. In `bash_2` and `bash_3`, this folder holds a home folder
with `test.sh`, which calls the answer, and an `evaluate.sh`, which checks a log of all outputs.

Each test becomes a task with a driver. The task's `setup` writes the files, its `driver` runs `test.py` or `test.sh`,
and its `verify` applies the benchmark's rules. Tests without a prompt, a passing answer or a verifier are left out and
counted. The overrides of the suite list the changes of files that a test's own programs make on our base.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from evaluator.errors import UsageError
from evaluator.records import Limits, OutputMode, SuiteSource, Task
from evaluator.suites.importers.command_traits import topic_of
from evaluator.suites.importers.draft import ENVIRONMENT, CommandReader, Draft, DraftWorld, external_manifest
from evaluator.suites.importers.eabench_scripts import (
    ANSWER_OF_HOME,
    FileEntry,
    home_build,
    home_driver,
    home_setup,
    home_verify,
    python_build,
    python_driver,
    python_setup,
    python_verify,
)

PACKAGES: Final = (
    *("bc", "bind9-dnsutils", "curl", "file", "gawk", "hostname", "iproute2", "iputils-ping", "jq", "net-tools"),
    *("passwd", "procps", "psmisc", "python-is-python3", "python3", "sudo", "tree", "unzip", "xxd", "zip"),
)

LIMITS: Final = Limits(cpu_s=20.0, memory_mb=1024, processes=256, disk_mb=128, inodes=60_000, output_kb=1024)
"""The benchmark ends a test after 10 s of real time, and some tests after 15 s or 20 s."""

_SETS: Final = re.compile(r"bash_\d+")
_BACKGROUND: Final = re.compile(r"(?<![&>|<])&(?![&>\d])\s*(?:#.*)?$", re.MULTILINE)
_TIMEOUT: Final = re.compile(r"--timeout=(\d+)")
_MOUNT: Final = re.compile(r"--volume\s+\S*/([\w.-]+):(/[\w./-]+)(?::ro)?")
_DEFAULT_S: Final = 10
_DRIVER: Final = "#!/bin/bash\n. pre_test.sh\n. bash.sh\n. post_test.sh\n"
"""The driver of a test without a driver of its own. Missing parts are empty files."""


_VARIABLES: Final = {name: value for name, value in ENVIRONMENT.items() if name != "TZ"} | {
    "PYTHONDONTWRITEBYTECODE": "1"
}
"""The variables of all tests. Without TZ, a test may set the time zone of the system."""

PYTHON_WORLD, HOME_WORLD = "app", "home"
_WORLDS: Final = {
    PYTHON_WORLD: DraftWorld("A folder for each test", python_build(), "/app"),
    HOME_WORLD: DraftWorld("A home folder for each test", home_build(), "/home/test"),
}


class _NotImportableError(Exception):
    """A test of the benchmark cannot be imported. The error's message is the reason."""


@dataclass(frozen=True, slots=True)
class _Scripts:
    """The scripts that a test becomes, its world and the path of the answer."""

    world: str
    setup: str
    driver: str
    verify: str
    answer: str


@dataclass(frozen=True, slots=True)
class _Test:
    """One test of the benchmark. `files` maps paths relative to the test's folder to the files of the test."""

    set: str
    name: str
    files: Mapping[str, FileEntry]

    def text(self, name: str) -> str:
        """Return a file's text, or an empty string if there is no such file."""
        file = self.files.get(name)
        return file.data.decode(errors="replace") if file and file.data is not None else ""


def draft_eabench(read: CommandReader, path: Path | None = None) -> Draft:
    """Return a draft of the benchmark from a clone at `path`. Raises UsageError if the clone has no usable test."""
    sets = [folder for folder in sorted(path.glob("bash_*")) if _SETS.fullmatch(folder.name)] if path else []
    if path is None or not sets:
        raise UsageError(
            f"nl2bash-eabench is imported from a clone with bash_1, bash_2, ...; found {path or 'no path'}; "
            "type: bashboard suite add nl2bash-eabench PATH-OF-THE-CLONE"
        )
    tasks, left_out = list[Task](), Counter[str]()
    for folder in sets:
        tools = _files_of(folder / "bin")
        for test in _tests(folder):
            try:
                tasks.append(_convert(test, tools, read))
            except _NotImportableError as reason:
                left_out[str(reason)] += 1
    if not tasks:
        raise UsageError(f"{path}: none of its tests has a prompt, an answer and a verifier ({dict(left_out)})")
    source = SuiteSource(name="nl2bash-eabench", version="clone", licence="Apache-2.0; its prompts CDLA-Permissive-2.0")
    description = f"{len(tasks)} tests of nl2bash-eabench, each decided by its own verifier, on our base."
    manifest = external_manifest(
        "nl2bash-eabench",
        "nl2bash-eabench",
        description,
        source,
        packages=PACKAGES,
        cwd="/root",
        limits=LIMITS,
        environment=_VARIABLES,
    )
    used = {task.world for task in tasks}
    return Draft(manifest, {name: world for name, world in _WORLDS.items() if name in used}, tasks, left_out)


def _files_of(folder: Path) -> dict[str, FileEntry]:
    """Map the relative path of each file or link below a folder to its content and mode. Links are not followed."""
    entries = {}
    for path in sorted(folder.rglob("*")):
        name = str(path.relative_to(folder))
        if path.is_symlink():
            entries[name] = FileEntry(None, 0, str(path.readlink()))
        elif path.is_file():
            entries[name] = FileEntry(path.read_bytes(), path.stat().st_mode & 0o777)
    return entries


def _tests(folder: Path) -> Iterator[_Test]:
    for test in sorted(folder.glob("test*"), key=lambda path: (len(path.name), path.name)):
        if test.is_dir():
            yield _Test(folder.name, test.name, _files_of(test))


def _convert(test: _Test, tools: Mapping[str, FileEntry], read: CommandReader) -> Task:
    """Return a test as a task. Raises _NotImportableError if the test cannot be imported."""
    prompt = " ".join(test.text("prompt").split())
    if not prompt:
        raise _NotImportableError("no prompt")
    answer = _answer(test)
    scripts = _python_test(test) if "test.py" in test.files else _home_test(test, tools)
    return Task(
        id=f"{test.set}-{test.name}",
        nl=prompt[:2000],
        references=(answer,),
        world=scripts.world,
        output=OutputMode.NONE,
        topic=topic_of(answer, read),
        difficulty=2,
        setup=scripts.setup.encode(),
        verify=scripts.verify.encode(),
        driver=scripts.driver.encode(),
        answer=scripts.answer,
    )


def _answer(test: _Test) -> bytes:
    """Return a test's passing answer, the text of `bash.sh`. Or use the only script of unknown purpose."""
    names = ["bash.sh"] if "bash.sh" in test.files else []
    others = [name for name in test.files if re.fullmatch(r"[\w-]+\.sh", name)]
    spare = {"prerequisite.sh", "evaluate.sh", "prologue.sh", "epilogue.sh", "bash.sh", "t.sh"}
    names = names or [name for name in others if name not in spare]
    if len(names) != 1:
        raise _NotImportableError("no passing answer")
    text = re.sub(r"\A#![^\n]*\n", "", test.text(names[0])).strip()
    if not text:
        raise _NotImportableError("no passing answer")
    return text.encode()


def _python_test(test: _Test) -> _Scripts:
    """Return the scripts of a `bash_1` test. A prerequisite that starts processes belongs to the driver."""
    prerequisite = "prerequisite.sh" if "prerequisite.sh" in test.files else ""
    starts = bool(_BACKGROUND.search(test.text("prerequisite.sh")))
    return _Scripts(
        world=PYTHON_WORLD,
        setup=python_setup(test.files, "" if starts else prerequisite),
        driver=python_driver(test.name, prerequisite if starts else ""),
        verify=python_verify(test.name),
        answer=f"/app/{test.name}.sh",
    )


def _home_test(test: _Test, tools: Mapping[str, FileEntry]) -> _Scripts:
    """Return the scripts of a `bash_2` or `bash_3` test. Raises _NotImportableError if the test has no verifier."""
    if "evaluate.sh" not in test.files:
        raise _NotImportableError("no verifier")
    options = test.text("podman.opts")
    unknown = [word for word in _MOUNT.sub("", options).split() if not word.startswith(("--timeout=", "--network"))]
    if [word for word in unknown if word != "host"]:
        raise _NotImportableError("needs options of the container's engine")
    seconds = _TIMEOUT.search(options)
    parts = {f"home/test/{name}": FileEntry(b"", 0o755) for name in ("pre_test.sh", "post_test.sh")}
    files = {**parts, "home/test/test.sh": FileEntry(_DRIVER.encode(), 0o755), **test.files}
    return _Scripts(
        world=HOME_WORLD,
        setup=home_setup(files, dict(_MOUNT.findall(options))),
        driver=home_driver(int(seconds[1]) if seconds else _DEFAULT_S),
        verify=home_verify(test.set, test.name, test.files, tools),
        answer=ANSWER_OF_HOME,
    )

"""Importer of IBM's execution-accuracy benchmark (nl2bash-eabench): one folder for each test, with its own verifier.

The benchmark has three sets. In the set `bash_1`, the folder `testN` holds `prompt`, a passing answer (a command), and
a `test.py` that runs the answer and prints Pass or Fail. In `bash_2` and `bash_3`, this folder holds a home folder, the
scripts that run before and after the answer, and an `evaluate.sh`, which checks a log of all outputs.

Each test becomes a task. The task's `setup` writes the files and runs the scripts that precede the answer. The sandbox
then runs the candidate. Afterwards, the task's `verify` runs the other scripts. It does not run the candidate again,
but prints the recorded output.

Some tests cannot be imported in this way. They run the answer more than once or with arguments, need options of the
container engine, or have no passing answer. Such tests are left out and counted.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from evaluator.errors import UsageError
from evaluator.records import OutputMode, SuiteSource, Task
from evaluator.suites.importers.command_traits import topic_of
from evaluator.suites.importers.draft import ENVIRONMENT, CommandReader, Draft, DraftWorld, external_manifest
from evaluator.suites.importers.eabench_scripts import (
    FileEntry,
    home_build,
    home_setup,
    home_verify,
    python_build,
    python_setup,
    python_verify,
)

PACKAGES: Final = (
    *("bc", "bind9-dnsutils", "curl", "file", "gawk", "hostname", "iproute2", "iputils-ping", "jq", "net-tools"),
    *("passwd", "procps", "psmisc", "python-is-python3", "python3", "sudo", "tree", "unzip", "xxd", "zip"),
)

_SETS: Final = re.compile(r"bash_\d+")
_BACKGROUND: Final = re.compile(r"(?<![&>|<])&(?![&>\d])\s*(?:#.*)?$", re.MULTILINE)
_ANSWER: Final = re.compile(r"^(?P<how>[^#\n]*?)(?:\./|\bbash |\. )?\bbash\.sh(?P<rest>[^\n]*)$", re.MULTILINE)
_DRIVER: Final = ". pre_test.sh\n. bash.sh\n. post_test.sh\n"
"""The driver of a test without a driver of its own. Missing parts are empty files."""


class _NotImportableError(Exception):
    """A test of the benchmark cannot be imported. The error's message is the reason."""


@dataclass(frozen=True, slots=True)
class _Test:
    """One test of the benchmark. `files` maps paths relative to `folder` to the files of the test."""

    set: str
    name: str
    folder: Path
    files: Mapping[str, FileEntry] = field(default_factory=dict)

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
    tasks, worlds, left_out = list[Task](), dict[str, DraftWorld](), Counter[str]()
    for folder in sets:
        tools = _files_of(folder / "bin")
        for test in _tests(folder):
            try:
                task, world = _convert(test, tools, read)
            except _NotImportableError as reason:
                left_out[str(reason)] += 1
                continue
            tasks.append(task)
            worlds[task.world] = world
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
        environment={**ENVIRONMENT, "PYTHONDONTWRITEBYTECODE": "1"},
    )
    return Draft(manifest, worlds, tasks, left_out)


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
            yield _Test(folder.name, test.name, test, _files_of(test))


def _convert(test: _Test, tools: Mapping[str, FileEntry], read: CommandReader) -> tuple[Task, DraftWorld]:
    """Return a test as a task, and the task's world. Raises _NotImportableError if the test cannot be imported."""
    prompt = " ".join(test.text("prompt").split())
    if not prompt:
        raise _NotImportableError("no prompt")
    answer = _answer(test)
    setup, verify, world, world_name = _python_test(test) if "test.py" in test.files else _home_test(test, tools)
    task = Task(
        id=f"{test.set}-{test.name}",
        nl=prompt[:2000],
        references=(answer,),
        world=world_name,
        output=OutputMode.NONE,
        topic=topic_of(answer, read),
        difficulty=2,
        setup=setup.encode() if setup else None,
        verify=verify.encode(),
    )
    return task, world


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


def _python_test(test: _Test) -> tuple[str, str, DraftWorld, str]:
    """Return the set-up, verifier, world and world name of a `bash_1` test. The verifier runs the test's `test.py`."""
    setup = python_setup(test.name, test.files)
    before = test.text("prerequisite.sh")
    verify = python_verify(test.name, test.files["test.py"])
    if _BACKGROUND.search(before):  # a built image keeps no processes, so the world starts them
        start = "cd /app && bash prerequisite.sh >/dev/null 2>&1 </dev/null || true\n"
        world = DraftWorld(f"The folder of {test.name}", python_build() + setup, "/app", start=start)
        return "", verify, world, f"{test.set}-{test.name}"
    setup += "bash prerequisite.sh || true\n" if before else ""
    return setup, verify, DraftWorld("A folder for each test", python_build(), "/app"), test.set


def _home_test(test: _Test, tools: Mapping[str, FileEntry]) -> tuple[str, str, DraftWorld, str]:
    """Return the set-up, verifier, world and world name of a `bash_2` or `bash_3` test. Its world is a home folder."""
    if "evaluate.sh" not in test.files:
        raise _NotImportableError("no verifier")
    options = test.text("podman.opts").split()
    if any(not option.startswith(("--timeout", "--network")) for option in options):
        raise _NotImportableError("needs options of the container's engine")
    driver = test.text("home/test/test.sh") or _DRIVER
    driver = re.sub(r"\A#![^\n]*\n", "", driver)
    calls = list(_ANSWER.finditer(driver))
    if len(calls) != 1 or re.search(r"^\s+[^\s#|>&;<)]", calls[0]["rest"]):
        raise _NotImportableError("runs the answer more than once, or with arguments")
    before, after = driver[: calls[0].start()], driver[calls[0].start() :]
    setup = home_setup(test.files)
    verify = home_verify(test.set, test.name, test.files, tools, after)
    if _BACKGROUND.search(before + test.text("home/test/pre_test.sh")):
        start = f"cd /home/test || exit 0\n(\n{before}) >/dev/null 2>&1 </dev/null || true\n"
        world = DraftWorld(f"The home folder of {test.name}", home_build() + setup, "/home/test", start=start)
        return "", verify, world, f"{test.set}-{test.name}"
    setup += f"cd /home/test\n( set +e\n{before}) >/var/lib/eabench/out 2>/var/lib/eabench/err </dev/null || true\n"
    return setup, verify, DraftWorld("A home folder for each test", home_build(), "/home/test"), test.set

"""IBM's execution-accuracy benchmark (nl2bash-eabench): a folder a test, each with a verifier of its own.

`bash_1/testN` holds `prompt`, a passing answer and a `test.py` that runs the answer and says Pass or Fail; `bash_2` and
`bash_3` hold a home folder with what runs before and after the answer, and an `evaluate.sh` that reads the log of all
of it. A test becomes a task of ours whose `setup` lays its files out and runs what comes before, and whose `verify`
runs the rest: it finds our evidence of the command in the place of the answer (`replay`), so the command itself runs
once, in the sandbox, as everybody's does.

What cannot be had that way is left out and counted: tests that run the answer more than once or with arguments, that
need options of the container's engine, or that have no passing answer.
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
from evaluator.suites.importers.draft import ENVIRONMENT, Draft, DraftWorld, Read, manifest_of
from evaluator.suites.importers.eabench_scripts import (
    Laid,
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
"""What a test without a driver of its own is driven by; a part that is missing is passed over."""


class _LeftOutError(Exception):
    """A test that cannot be taken over, and the reason."""


@dataclass(frozen=True, slots=True)
class _Test:
    """A test's folder: its set, its name and its files by path below it."""

    set: str
    name: str
    folder: Path
    files: Mapping[str, Laid] = field(default_factory=dict)

    def text(self, name: str) -> str:
        """A file's text, empty where there is none."""
        file = self.files.get(name)
        return file.data.decode(errors="replace") if file and file.data is not None else ""


def draft_eabench(read: Read, path: Path | None = None) -> Draft:
    """The suite from a clone at `path`. Raises UsageError where there is none of its sets."""
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
            except _LeftOutError as reason:
                left_out[str(reason)] += 1
                continue
            tasks.append(task)
            worlds[task.world] = world
    if not tasks:
        raise UsageError(f"{path}: none of its tests has a prompt, an answer and a verifier ({dict(left_out)})")
    source = SuiteSource(name="nl2bash-eabench", version="clone", licence="Apache-2.0; its prompts CDLA-Permissive-2.0")
    description = f"{len(tasks)} tests of nl2bash-eabench, each decided by its own verifier, on our base."
    manifest = manifest_of(
        "nl2bash-eabench",
        "nl2bash-eabench",
        description,
        source,
        packages=PACKAGES,
        cwd="/root",
        environment={**ENVIRONMENT, "PYTHONDONTWRITEBYTECODE": "1"},
    )
    return Draft(manifest, worlds, tasks, left_out)


def _files_of(folder: Path) -> dict[str, Laid]:
    """Every file and link below a folder, with its mode; what a link points to is not followed."""
    found = {}
    for path in sorted(folder.rglob("*")):
        name = str(path.relative_to(folder))
        if path.is_symlink():
            found[name] = Laid(None, 0, str(path.readlink()))
        elif path.is_file():
            found[name] = Laid(path.read_bytes(), path.stat().st_mode & 0o777)
    return found


def _tests(folder: Path) -> Iterator[_Test]:
    for test in sorted(folder.glob("test*"), key=lambda path: (len(path.name), path.name)):
        if test.is_dir():
            yield _Test(folder.name, test.name, test, _files_of(test))


def _convert(test: _Test, tools: Mapping[str, Laid], read: Read) -> tuple[Task, DraftWorld]:
    """A test as a task and the world it runs in. Raises _LeftOutError."""
    prompt = " ".join(test.text("prompt").split())
    if not prompt:
        raise _LeftOutError("no prompt")
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
    """The passing answer: `bash.sh`, or the one other script that the set-up does not use."""
    names = ["bash.sh"] if "bash.sh" in test.files else []
    others = [name for name in test.files if re.fullmatch(r"[\w-]+\.sh", name)]
    spare = {"prerequisite.sh", "evaluate.sh", "prologue.sh", "epilogue.sh", "bash.sh", "t.sh"}
    names = names or [name for name in others if name not in spare]
    if len(names) != 1:
        raise _LeftOutError("no passing answer")
    text = re.sub(r"\A#![^\n]*\n", "", test.text(names[0])).strip()
    if not text:
        raise _LeftOutError("no passing answer")
    return text.encode()


def _python_test(test: _Test) -> tuple[str, str, DraftWorld, str]:
    """`bash_1`: everything in one folder, and a program that runs the answer and judges what it sees."""
    setup = python_setup(test.name, test.files)
    before = test.text("prerequisite.sh")
    verify = python_verify(test.name, test.files["test.py"])
    if _BACKGROUND.search(before):  # what a layer's build leaves running is gone: a world of its own starts it
        start = "cd /app && bash prerequisite.sh >/dev/null 2>&1 </dev/null || true\n"
        world = DraftWorld(f"The folder of {test.name}", python_build() + setup, "/app", start=start)
        return "", verify, world, f"{test.set}-{test.name}"
    setup += "bash prerequisite.sh || true\n" if before else ""
    return setup, verify, DraftWorld("A folder for each test", python_build(), "/app"), test.set


def _home_test(test: _Test, tools: Mapping[str, Laid]) -> tuple[str, str, DraftWorld, str]:
    """`bash_2`, `bash_3`: a home folder, a driver that runs the answer in it, and a reader of the log."""
    if "evaluate.sh" not in test.files:
        raise _LeftOutError("no verifier")
    options = test.text("podman.opts").split()
    if any(not option.startswith(("--timeout", "--network")) for option in options):
        raise _LeftOutError("needs options of the container's engine")
    driver = test.text("home/test/test.sh") or _DRIVER
    driver = re.sub(r"\A#![^\n]*\n", "", driver)
    calls = list(_ANSWER.finditer(driver))
    if len(calls) != 1 or re.search(r"^\s+[^\s#|>&;<)]", calls[0]["rest"]):
        raise _LeftOutError("runs the answer more than once, or with arguments")
    before, after = driver[: calls[0].start()], driver[calls[0].start() :]
    setup = home_setup(test.files)
    verify = home_verify(test.set, test.name, test.files, tools, after)
    if _BACKGROUND.search(before + test.text("home/test/pre_test.sh")):
        start = f"cd /home/test || exit 0\n(\n{before}) >/dev/null 2>&1 </dev/null || true\n"
        world = DraftWorld(f"The home folder of {test.name}", home_build() + setup, "/home/test", start=start)
        return "", verify, world, f"{test.set}-{test.name}"
    setup += f"cd /home/test\n( set +e\n{before}) >/var/lib/eabench/out 2>/var/lib/eabench/err </dev/null || true\n"
    return setup, verify, DraftWorld("A home folder for each test", home_build(), "/home/test"), test.set

"""The stages that run in the guest: the project's own commands and tests, with limits as large as the guest is slow."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from tests.vm.guest_disk import HOME, StepError
from tests.vm.guest_machine import Guest

PYTEST: Final = (
    ".venv/bin/pytest -q -p no:cacheprovider --hypothesis-profile quick --numprocesses 2 --dist loadfile "
    "--no-loadscope-reorder"
)
DOCTOR_LINES: Final = {
    "engine": "docker 26",
    "machine": "Linux 6.12",
    "cgroups": "version 2",
    "security": "apparmor",
    "sandbox core": "holds",
}
"""Beginnings of values, or words in them, that `doctor` must show in the guest."""

PODMAN: Final = "DOCKER_HOST=unix:///run/podman/podman.sock"
SAVED: Final = "/root/image.tar.gz"
"""The file in the guest with this machine's image."""

PART_S: Final = 3600.0
"""The limit of a stage. It stops a hanging guest, and no stage comes near it."""

VARIANTS: Final = 1
"""How many variants of each task's world are compared with this machine's."""


def script(guest: Guest, command: str) -> str:
    """Return a command as a script in the project's folder, with the guest's slowness in its environment."""
    return f"cd {HOME} && export BASHBOARD_SLOWNESS={guest.slowness:.1f} PATH=$PATH:/usr/sbin LANG=C.UTF-8; {command}"


def copy_project(guest: Guest, archive: Path) -> None:
    """Replace the project's files in the guest, and commit them there. Raises StepError."""
    guest.send(archive, f"{HOME}/../project.tar")
    kept = "! -name .venv ! -name .bashboard"
    clear = f"find . -mindepth 1 -maxdepth 1 {kept} -exec rm -rf {{}} + && tar xf ../project.tar"
    identity = "-c user.name=guest -c user.email=guest@example.org"
    guest.read(script(guest, f"set -e; {clear}; git init -q .; git add -A; git {identity} commit -q -m guest"), 1800)


def load_image(guest: Guest, log: Path, saved: Path, sha256: str) -> str:
    """Copy this machine's image to the guest and load it there. Raises StepError."""
    guest.send(saved, SAVED)
    return finish(guest, log, f".venv/bin/bashboard image load {SAVED} --sha256 {sha256} && sync", PART_S)


def check_doctor(guest: Guest, log: Path) -> str:
    """Run `doctor` and check the lines that describe the machine. Raises StepError."""
    finish(guest, log, ".venv/bin/bashboard doctor", 900)
    lines = {line[:18].strip(): line[18:].strip() for line in log.read_text().splitlines() if len(line) > 18}
    if missing := [
        f"{name}: {lines.get(name)}" for name, word in DOCTOR_LINES.items() if word not in lines.get(name, "")
    ]:
        raise StepError(f"doctor shows something else: {'; '.join(missing)}")
    return ", ".join(lines[name].split("  (")[0] for name in DOCTOR_LINES)


def finish(guest: Guest, log: Path, command: str, timeout_s: float) -> str:
    """Run a command of the project to its end and return its last line. Raises StepError."""
    status = guest.run(script(guest, command), log, timeout_s)
    lines = log.read_text(errors="replace").splitlines()
    if status:
        failures = [line for line in lines if line.startswith(("FAILED", "ERROR"))]
        raise StepError("\n".join([*lines[-1:], f"status {status}; see {log}", *failures[:40]]))
    return lines[-1] if lines else ""


def pytest_stage(selection: str, setting: str = "") -> Callable[[Guest, Path], str]:
    """Return a stage that runs tests of the project. It fails if no test passed."""

    def stage(guest: Guest, log: Path) -> str:
        last = finish(guest, log, f"{setting} {PYTEST} {selection}", PART_S)
        if not re.search(r"\d+ passed", last):
            raise StepError(f"no test passed: {last}")
        return last.strip("= ")

    return stage


def part(folder: str, names: str, *, without: str = "", setting: str = "") -> Callable[[Guest, Path], str]:
    """Return a stage that runs the tests with a container in some files of a folder.

    `names` are the files' names after `test_`, with spaces between them. `without` is an expression of pytest for tests
    that are left out: an emulated guest needs minutes for each of them, or is too slow for them. `setting` is an
    environment variable with its value.
    """
    files = " ".join(f"tests/{folder}/test_{name}.py" for name in names.split())
    chosen = f" -k 'not ({without})'" if without else ""
    return pytest_stage(f"-m 'engine and not soak'{chosen} {files}", setting)


def load_podman(guest: Guest, log: Path) -> str:
    """Start podman's service and load the image there, which `load_image` left in the guest. Raises StepError."""
    load = '.venv/bin/bashboard image load "$file" --sha256 "$(sha256sum "$file" | cut -d" " -f1)"'
    return finish(guest, log, f"systemctl start podman.socket && file={SAVED} && {PODMAN} {load} && sync", PART_S)


def topic_evidence(guest: Guest, log: Path, copy: Path) -> str:
    """Execute the references in the guest and copy their evidence to this machine. Return the number of references."""
    text = finish(
        guest, log, f".venv/bin/python -m tests.vm.topic_evidence .bashboard/evidence.jsonl {VARIANTS}", PART_S
    )
    copy.write_text(guest.read(f"cat {HOME}/.bashboard/evidence.jsonl"))
    return text


_WAITING: Final = "waits_for_ever or did_not_end or still_starting or test_times_are_told"
SLOW: Final = f"{_WAITING} or test_entries_are_bounded or 29970 or 40000"
"""The tests of conformance for which an emulated guest is too slow.

They wait for the wall-clock limit, need a program to start within two seconds, or leave 20,000 files and more. The
runner reads the files of a job for at most 40 seconds, which is much longer than a real machine needs.
"""

STAGES: Final[Mapping[str, Callable[[Guest, Path], str]]] = {
    "conformance-machine": part("sandbox", "small_machine streams engine", without=SLOW),
    "conformance-files": part("sandbox", "changes layers trees archives", without=SLOW),
    "conformance-shell": part("sandbox", "shell_state command left_processes", without=SLOW),
    "conformance-clock": part("sandbox", "clock"),
    "hostile-memory": part("hostile", "exhaustion", without="test_time or test_forks or test_disk or test_output"),
    "hostile-kernel": part("hostile", "kernel shared_limits shared_resources"),
    "hostile-reach": part("hostile", "reach"),
    "hostile-left": part("hostile", "tampering back_to_back the_host"),
    "hostile-processes": part("hostile", "exhaustion", without="test_time or test_memory or test_output"),
    "survival": part("survival", "killed_containers leftovers will_not_start", without="comes_to_the_same"),
    "determinism": pytest_stage("tests/determinism"),
    "podman-image": load_podman,
    "podman-machine": part("sandbox", "small_machine streams engine", without=SLOW, setting=PODMAN),
    "podman-files": part("sandbox", "changes layers", without=SLOW, setting=PODMAN),
}
"""The stages with tests. They are small, because a stage that was interrupted begins anew."""

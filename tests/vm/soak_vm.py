"""Run the sandbox's tests in a Debian 13 guest under QEMU, and compare its evidence with this machine's.

    python -m tests.vm.soak_vm [--again STAGE ...] [--only STAGE ...]

The guest has systemd, cgroup v2, AppArmor and Debian's own Docker and podman. A stage that passed earlier with the same
inputs is not repeated, so an interrupted run continues where it stopped. The cache is `.bashboard/vm`.
"""

from __future__ import annotations

import argparse
import hashlib
import subprocess
import sys
import tarfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Final

from evaluator.sandbox.image_recipe import image_reference
from evaluator.suites.load import load_suite
from tests.vm import guest_disk, guest_tests
from tests.vm.guest_disk import StepError, run
from tests.vm.guest_machine import Guest, boot, slowness
from tests.vm.guest_stages import Stages, digest_of_files
from tests.vm.topic_evidence import compare

ROOT: Final = Path(__file__).parents[2]
CACHE: Final = ROOT / ".bashboard" / "vm"
REQUIREMENTS: Final = ROOT / "requirements-dev.txt"
COMMAND: Final = Path(sys.executable).with_name("bashboard")
SUITE: Final = ROOT / "fixtures" / "core"
IMAGE: Final = CACHE / "image.tar.gz"
EVIDENCE: Final = CACHE / "evidence-here.jsonl"
EVIDENCE_THERE: Final = CACHE / "evidence-guest.jsonl"


CODE: Final = ("evaluator/", "fixtures/", "tests/", "pyproject.toml")
"""The files that the stages depend on. The guest gets all files of the project."""


def pack_project(archive: Path) -> str:
    """Write the project's files, as they are now, to a tar archive, and return the digest of those in CODE."""
    listing = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        check=True,
    )
    names = sorted(name for name in listing.stdout.decode().split("\0") if name and (ROOT / name).is_file())
    with tarfile.open(archive, "w") as tar:
        for name in names:
            tar.add(ROOT / name, name)
    return digest_of_files(*(part for name in names if name.startswith(CODE) for part in (name, ROOT / name)))


def build(stages: Stages, archive: Path) -> str:
    """Build the guest's disk. Return the digest of its inputs, or an empty text if a step failed."""
    root, key = CACHE / "root", CACHE / "key"
    if not key.exists():
        run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", key], CACHE / "key.log")

    def bootstrap(log: Path) -> str:
        guest_disk.bootstrap(root, log)
        return f"Debian {(root / 'etc/debian_version').read_text().strip()}"

    def dependencies(log: Path) -> str:
        guest_disk.install_project(root, archive, log)
        return f"{REQUIREMENTS.name} in the guest's own Python"

    def disk(log: Path) -> str:
        guest_disk.write_disk(root, key.with_suffix(".pub"), CACHE, log)
        guest_disk.fresh_copy(CACHE, log)
        stages.forget(NAMES)  # their results belong to the earlier disk
        return f"{(CACHE / 'disk.raw').stat().st_blocks * 512 / 1e9:.1f} GB"

    inputs = ""
    for name, work, added in (
        ("bootstrap", bootstrap, guest_disk.RECIPE),
        ("dependencies", dependencies, REQUIREMENTS),
        ("disk", disk, key.with_suffix(".pub")),
    ):
        inputs = digest_of_files(inputs, added)
        if not stages.run(name, inputs, work):
            return ""
    return inputs


def write_evidence_here(log: Path) -> str:
    """Execute the references on this machine and save its image."""
    run([sys.executable, "-m", "tests.vm.topic_evidence", EVIDENCE, str(guest_tests.VARIANTS)], log)
    run([COMMAND, "image", "save", IMAGE, "--suite", "core"], CACHE / "save.log")
    return log.read_text().splitlines()[-1]


def load_image(guest: Guest, log: Path) -> str:
    """Load this machine's image in the guest. Raises StepError."""
    with IMAGE.open("rb") as file:
        sha256 = hashlib.file_digest(file, "sha256").hexdigest()
    return guest_tests.load_image(guest, log, IMAGE, sha256)


def compare_evidence(guest: Guest, log: Path) -> str:
    """Execute the references in the guest and compare their evidence with this machine's. Raises StepError."""
    text = guest_tests.topic_evidence(guest, log, EVIDENCE_THERE)
    comparison = compare(EVIDENCE, EVIDENCE_THERE)
    uncompared = [f"(not compared) {report}" for report in comparison.uncompared]
    log.write_text("\n\n".join([str(comparison), *comparison.differences, *uncompared]) + "\n")
    if not comparison.holds:
        raise StepError(f"{len(comparison.differences)} differ: {comparison}; see {log}")
    return f"{text}: {comparison}"


WORK: Final[Mapping[str, Callable[[Guest, Path], str]]] = {
    "image": load_image,
    "doctor": guest_tests.check_doctor,
    "evidence": compare_evidence,
    **guest_tests.STAGES,
}
NAMES: Final = tuple(WORK)
"""The stages in the guest, in their order."""


class Booting:
    """The guest, which is booted when a stage first needs it."""

    def __init__(self, stages: Stages, archive: Path, opened: ExitStack) -> None:
        self._stages, self._archive, self._opened = stages, archive, opened
        self.guest: Guest | None = None

    def ready(self) -> bool:
        """Return whether the guest runs, after booting it if necessary."""
        return self.guest is not None or self._stages.run("boot", "", self._boot)

    def _boot(self, _: Path) -> str:
        guest = boot(CACHE)
        self._opened.callback(guest.close)
        guest.slowness = self._stages.factor = slowness(guest)
        guest_tests.copy_project(guest, self._archive)
        self.guest = guest
        return f"{guest.accelerator}: CPU and wall limits are multiplied by {guest.slowness:.1f}"


def test_in_guest(stages: Stages, disk: str, project: str, archive: Path, names: Sequence[str]) -> None:
    """Run the stages in the guest. Without its image, no later stage can run.

    `disk` and `project` are the digests of the inputs of the guest's disk and of the project's code.
    """
    with ExitStack() as opened:
        booting, image = Booting(stages, archive, opened), image_reference(load_suite(SUITE).manifest)
        for name in names:
            inputs = digest_of_files(disk, image if name == "image" else project)
            if stages.done(name, inputs) is None and not booting.ready():
                return

            def work(log: Path, name: str = name) -> str:
                assert booting.guest is not None
                return WORK[name](booting.guest, log)

            if not stages.run(name, inputs, work) and name == "image":
                return


def main() -> int:
    """Run all stages, or those that are named. Return 1 if one failed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--again", nargs="+", default=[], metavar="STAGE", help="repeat a stage that passed")
    parser.add_argument(
        "--only", nargs="+", default=[], choices=NAMES, help="of the stages in the guest, run only these"
    )
    arguments = parser.parse_args()
    CACHE.mkdir(parents=True, exist_ok=True)
    guest_disk.install_tools()
    stages, archive = Stages(CACHE, ["boot", *arguments.again, *arguments.only]), CACHE / "project.tar"
    project = pack_project(archive)
    if (disk := build(stages, archive)) and stages.run("evidence-here", project, write_evidence_here):
        test_in_guest(stages, disk, project, archive, arguments.only or NAMES)
    print(stages.table())  # noqa: T201
    passed = {outcome.name for outcome in stages.outcomes if outcome.passed}
    return int(not passed.issuperset(arguments.only or NAMES))


if __name__ == "__main__":
    sys.exit(main())

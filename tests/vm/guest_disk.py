"""The guest's disk: a Debian 13 with systemd, AppArmor and Debian's own Docker and podman, made on this machine.

The root file system is bootstrapped from the mirror in this machine's apt configuration. The tests' dependencies are
installed in it natively, because the same work takes ten times as long in an emulated machine. An ext4 file system is
written from the folder, so no loop device and no mount is needed.
"""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from evaluator.sandbox.bootstrap import find_sources
from evaluator.sandbox.host import ThisMachine, install_packages

RELEASE: Final = "trixie"
PACKAGES: Final = (
    *("linux-image-amd64", "systemd", "systemd-sysv", "systemd-resolved", "dbus", "udev", "kmod", "apparmor"),
    *("docker.io", "docker-cli", "podman", "catatonit", "crun", "mmdebstrap", "debian-archive-keyring"),
    *("python3", "python3-venv", "make", "git", "npm", "openssh-server", "ca-certificates", "iproute2", "procps"),
    *("initramfs-tools", "e2fsprogs", "xz-utils", "util-linux", "gcc", "libc6-dev"),
)
TOOLS: Final = {
    "qemu-system-x86_64": "qemu-system-x86",
    "qemu-img": "qemu-utils",
    "mmdebstrap": "mmdebstrap",
    "mke2fs": "e2fsprogs",
    "ssh": "openssh-client",
}
"""The programs that this machine needs, and their packages."""

DISK_GB: Final = 24
HOME: Final = "/root/bashboard"
"""The folder of the project in the guest."""

_FILES: Final = {
    "etc/hostname": "guest\n",
    "etc/hosts": "127.0.0.1\tlocalhost guest\n",
    "etc/fstab": "/dev/vda / ext4 defaults 0 1\n",
    "etc/resolv.conf": "nameserver 10.0.2.3\n",  # QEMU's own name server, which asks this machine's
    "etc/systemd/network/10-any.network": "[Match]\nName=en* eth*\n[Network]\nDHCP=ipv4\n[DHCPv4]\nUseDNS=no\n",
    "etc/ssh/sshd_config.d/key.conf": "PermitRootLogin prohibit-password\nUseDNS no\nLoginGraceTime 0\n",
}
_CERTIFICATES: Final = "etc/ssl/certs/ca-certificates.crt"
_MODULES: Final = "virtio_pci\nvirtio_blk\next4\n"
"""All that the first RAM disk loads. The default one holds every driver, and an emulated machine unpacks it slowly."""

_PROFILES: Final = "! -name runc ! -name crun ! -name unprivileged_userns"
_SET_UP: Final = f"""
systemctl enable systemd-networkd ssh docker >/dev/null 2>&1
systemctl disable podman.socket podman-auto-update.timer apt-daily.timer apt-daily-upgrade.timer >/dev/null 2>&1 || :
systemctl mask systemd-networkd-wait-online.service >/dev/null 2>&1
# AppArmor compiles its profiles at boot: only those of the container engines are kept
find /etc/apparmor.d -maxdepth 1 -type f {_PROFILES} -delete
sed -i s/^MODULES=.*/MODULES=list/ /etc/initramfs-tools/initramfs.conf
printf '{_MODULES}' > /etc/initramfs-tools/modules
update-initramfs -u
ldconfig
touch /etc/.updated /var/.updated
"""

RECIPE: Final = repr((RELEASE, PACKAGES, DISK_GB, _FILES, _SET_UP))
"""Everything that decides the content of the disk, except the project and the mirror."""


class StepError(Exception):
    """A step of the build failed. The message contains the last lines of its output."""


def run(command: Sequence[str | Path], log: Path, timeout_s: float = 3600) -> None:
    """Run a program with its output in `log`. Raises StepError."""
    with log.open("ab") as output:
        ended = subprocess.run(
            command, stdin=subprocess.DEVNULL, stdout=output, stderr=output, timeout=timeout_s, check=False
        )
    if ended.returncode:
        lines = log.read_text(errors="replace").splitlines()[-15:]
        raise StepError("\n".join([f"{command[0]} ended with status {ended.returncode}:", *lines]))


def install_tools() -> None:
    """Install the programs that this machine lacks. Raises MissingError."""
    machine = ThisMachine()
    if missing := [package for program, package in TOOLS.items() if not machine.has(program)]:
        install_packages(machine, missing, print)


def bootstrap(root: Path, log: Path) -> None:
    """Make the root file system in the folder `root`. Raises StepError."""
    shutil.rmtree(root, ignore_errors=True)
    sources = [str(source) for source in find_sources(ThisMachine(), RELEASE)]
    if not sources:
        raise StepError(f"this machine's apt has no mirror of Debian {RELEASE}")
    command = ["mmdebstrap", "--variant=minbase", "--format=directory", "--skip=check/signed-by"]
    run([*command, f"--include={','.join(PACKAGES)}", RELEASE, root, *sources], log)
    for name, text in _FILES.items():
        (root / name).unlink(missing_ok=True)
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    shutil.copy(Path("/") / _CERTIFICATES, root / _CERTIFICATES)
    run(["chroot", root, "sh", "-ec", _SET_UP], log)


def install_project(root: Path, archive: Path, log: Path) -> None:
    """Unpack the project in the guest's root, and install it with the tests' pinned dependencies. Raises StepError."""
    home = root / HOME.removeprefix("/")
    home.mkdir(parents=True, exist_ok=True)
    run(["tar", "-C", home, "-xf", archive], log)
    shutil.copy("/etc/resolv.conf", root / "etc/resolv.conf")
    pip = f".venv/bin/python -m pip --quiet --disable-pip-version-check --cert /{_CERTIFICATES} --no-cache-dir install"
    script = (
        f"cd {HOME} && python3 -m venv .venv && {pip} --require-hashes -r requirements-dev.txt && "
        f"{pip} --no-deps --no-build-isolation --editable . && touch .venv/.run .venv/.test"
    )
    clean = ["env", "-i", "PATH=/usr/sbin:/usr/bin:/sbin:/bin", "HOME=/root", "LANG=C.UTF-8"]
    run(["chroot", root, *clean, "sh", "-ec", script], log)
    (root / "etc/resolv.conf").write_text(_FILES["etc/resolv.conf"])


def write_disk(root: Path, key: Path, folder: Path, log: Path) -> None:
    """Write the root file system to `folder` as a disk, with its kernel and first RAM disk. Raises StepError.

    `key` is the public key that may log in.
    """
    (root / "root/.ssh").mkdir(mode=0o700, exist_ok=True)
    shutil.copy(key, root / "root/.ssh/authorized_keys")
    for name in ("vmlinuz", "initrd.img"):
        shutil.copy(next((root / "boot").glob(f"{name}-*")), folder / name)
    disk = folder / "disk.raw"
    disk.unlink(missing_ok=True)
    with disk.open("wb") as file:
        file.truncate(DISK_GB << 30)
    run(["mke2fs", "-q", "-F", "-t", "ext4", "-d", root, disk], log)


def fresh_copy(folder: Path, log: Path) -> None:
    """Make the file to which the guest writes, on top of the disk. Raises StepError."""
    (folder / "guest.qcow2").unlink(missing_ok=True)
    backing = ["-b", str((folder / "disk.raw").resolve()), "-F", "raw"]
    run(["qemu-img", "create", "-q", "-f", "qcow2", *backing, folder / "guest.qcow2"], log)

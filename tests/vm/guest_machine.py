"""The running guest: QEMU under KVM if a kernel starts there, otherwise emulated, and a shell in it through ssh."""

from __future__ import annotations

import os
import shlex
import signal
import socket
import subprocess
import time
from contextlib import suppress
from pathlib import Path
from typing import Final

from tests.vm.guest_disk import StepError

ACCELERATORS: Final = {
    "kvm": ("-accel", "kvm", "-cpu", "host"),
    "tcg": ("-accel", "tcg,thread=multi,tb-size=1024", "-cpu", "max"),
}
"""The options of QEMU for each accelerator, in the order in which they are tried."""

KERNEL_S: Final = {"kvm": 45.0, "tcg": 300.0}
"""The wait for the kernel's first line. Some machines have a /dev/kvm under which no kernel gets that far."""

BOOT_S: Final = 1800.0
MEMORY_MB: Final = 6144
CPUS: Final = 2
COMMAND_LINE: Final = (
    "root=/dev/vda rw console=ttyS0 mitigations=off panic=-1 tsc=reliable clocksource=tsc systemd.show_status=0 "
    "systemd.default_timeout_start_sec=900 systemd.default_device_timeout_sec=900"
)
"""The clock is a 64-bit counter, because a guest that is stopped for a minute would lose a round of the others."""

_MEASURE: Final = """
import subprocess, time
def once():
    began = time.perf_counter()
    for _ in range(40):
        subprocess.run(["/bin/sh", "-c", ": | :"])
    sum(n * n % 7 for n in range(300_000))
    return time.perf_counter() - began
print(min(once() for _ in range(4)))
"""
"""A program that prints the seconds of some processes and of some arithmetic."""


class Guest:
    """One QEMU process. `folder` holds the disk, the kernel and the key."""

    def __init__(self, folder: Path, accelerator: str) -> None:
        self.folder, self.accelerator, self.slowness = folder, accelerator, 1.0
        self.console = folder / f"console-{accelerator}.log"
        self._port = _free_port()
        self.console.unlink(missing_ok=True)
        with (folder / "qemu.log").open("ab") as log:
            self._process = subprocess.Popen(
                self._command(), stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True
            )
        (folder / "qemu.pid").write_text(f"{self._process.pid}\n")

    def _command(self) -> list[str]:
        options = {
            "-machine": "pc,hpet=off",
            "-smp": str(CPUS),
            "-m": str(MEMORY_MB),
            "-kernel": str(self.folder / "vmlinuz"),
            "-initrd": str(self.folder / "initrd.img"),
            "-append": COMMAND_LINE,
            "-drive": f"file={self.folder / 'guest.qcow2'},if=virtio,cache=unsafe,discard=unmap",
            "-nic": f"user,model=virtio-net-pci,hostfwd=tcp:127.0.0.1:{self._port}-:22",
            "-serial": f"file:{self.console}",
            "-display": "none",
            "-monitor": "none",
        }
        flat = [word for option in options.items() for word in option]
        return ["nice", "-n", "19", "qemu-system-x86_64", *ACCELERATORS[self.accelerator], *flat, "-no-reboot"]

    def wait_for_kernel(self) -> bool:
        """Return whether the kernel printed its first line in time."""
        deadline = time.monotonic() + KERNEL_S[self.accelerator]
        while time.monotonic() < deadline and self._process.poll() is None:
            if self.console.exists() and b"Linux version" in self.console.read_bytes():
                return True
            time.sleep(0.5)
        return False

    def wait_for_shell(self) -> None:
        """Wait until the guest's system is up. Raises StepError."""
        deadline = time.monotonic() + BOOT_S
        while self.run("systemctl is-system-running --wait >/dev/null; systemctl is-active docker", timeout_s=300) != 0:
            if time.monotonic() > deadline or self._process.poll() is not None:
                tail = self.console.read_text(errors="replace").splitlines()[-15:]
                raise StepError("\n".join(["the guest did not come up; its console ends with:", *tail]))
            time.sleep(2)

    def _ssh(self, script: str) -> list[str]:
        quiet = ["StrictHostKeyChecking=no", "UserKnownHostsFile=/dev/null", "LogLevel=ERROR", "TCPKeepAlive=no"]
        options = [word for option in [*quiet, "ConnectTimeout=60", "BatchMode=yes"] for word in ("-o", option)]
        key = ["-i", str(self.folder / "key"), "-p", str(self._port)]
        return ["ssh", *options, *key, "root@127.0.0.1", f"bash -c {shlex.quote(script)}"]

    def run(self, script: str, log: Path | None = None, timeout_s: float = 600) -> int:
        """Run a script in the guest, with its output in `log`. Return its status, or 124 after the time limit."""
        with (log or Path(os.devnull)).open("ab") as output:
            with suppress(subprocess.TimeoutExpired):
                return subprocess.run(
                    self._ssh(script),
                    stdin=subprocess.DEVNULL,
                    stdout=output,
                    stderr=output,
                    timeout=timeout_s,
                    check=False,
                ).returncode
            return 124

    def read(self, script: str, timeout_s: float = 600) -> str:
        """Return the output of a script in the guest. Raises StepError if it fails."""
        ended = subprocess.run(
            self._ssh(script), stdin=subprocess.DEVNULL, capture_output=True, timeout=timeout_s, check=False
        )
        if ended.returncode:
            raise StepError(f"in the guest, {script!r} ended with status {ended.returncode}: {ended.stderr[-500:]!r}")
        return ended.stdout.decode()

    def send(self, file: Path, path: str) -> None:
        """Copy a file to a path in the guest. Raises StepError."""
        with file.open("rb") as data:
            ended = subprocess.run(self._ssh(f"cat > {path}"), stdin=data, capture_output=True, check=False)
        if ended.returncode:
            raise StepError(f"{file.name} could not be copied to the guest: {ended.stderr[-500:]!r}")

    def close(self) -> None:
        """Switch the guest off in order, so that its disk can be used again. Kill it if it does not end."""
        self.run("systemctl poweroff", timeout_s=60)
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(300)
        self.kill()

    def kill(self) -> None:
        """End the process of QEMU at once."""
        self._process.kill()
        self._process.wait()


def end_earlier(folder: Path) -> None:
    """End the guest that a killed run left. It would keep the disk locked."""
    with suppress(OSError, ValueError):
        process = int((folder / "qemu.pid").read_text())
        while str(folder).encode() in Path(f"/proc/{process}/cmdline").read_bytes():
            os.kill(process, signal.SIGTERM)
            time.sleep(0.2)


def boot(folder: Path) -> Guest:
    """Boot the guest with the first accelerator under which its kernel starts. Raises StepError."""
    end_earlier(folder)
    usable = [name for name in ACCELERATORS if name != "kvm" or os.access("/dev/kvm", os.R_OK | os.W_OK)]
    known = folder / "accelerator"
    for name in [known.read_text().strip()] if known.exists() else usable:
        guest = Guest(folder, name)
        if guest.wait_for_kernel():
            known.write_text(f"{name}\n")
            guest.wait_for_shell()
            return guest
        print(f"no kernel starts here under {name} in {KERNEL_S[name]:.0f} s")  # noqa: T201
        guest.kill()
    raise StepError(f"no kernel starts here; the console is in {folder}")


def slowness(guest: Guest) -> float:
    """Return the ratio of the guest's time to this machine's for the same small work, at least 1."""
    here = float(subprocess.run(["/usr/bin/python3", "-c", _MEASURE], capture_output=True, check=True).stdout)
    there = float(guest.read(f"python3 -c {shlex.quote(_MEASURE)}"))
    return max(1.0, there / here)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port

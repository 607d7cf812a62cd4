"""A private engine for tests that kill it, with its own socket, data, pid file and containerd namespace.

The names of the engine's processes and mounts contain its folder, so that the test can find and remove them.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
from pathlib import Path

import docker

from evaluator.sandbox.daemon import Daemon, launch, wait_for_engine
from evaluator.sandbox.engine import Engine


class PrivateEngine:
    """An engine with all its files in `folder`. The path must be short, since a socket's path has 107 bytes at most."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.host = f"unix://{folder}/d.sock"
        command = (
            *("dockerd", "--iptables=false", "--bridge=none", f"--host={self.host}", f"--pidfile={folder}/d.pid"),
            *(f"--data-root={folder}/data", f"--exec-root={folder}/exec", "--containerd-namespace=bashboard-test"),
            "--containerd-plugins-namespace=bashboard-test-plugins",
        )
        self._daemon = Daemon(command, self.host, folder / "d.pid", folder / "d.log")
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> docker.DockerClient:
        """Start the engine and wait until it answers."""
        self._process = launch(self._daemon)
        return wait_for_engine(self.host, self._process, str(self._daemon.log))

    def end(self, number: signal.Signals) -> None:
        """Send the engine a signal, and wait until the engine and its containerd end. Containers may keep running."""
        if self._process is not None:
            self._process.send_signal(number)
            self._process.wait(60)
            self._process = None
            self._kill_and_wait(b"containerd\0")
            # the next engine would take the old containerd for a running one until its process is reaped
            (self.folder / "exec" / "containerd" / "containerd.pid").unlink(missing_ok=True)

    def ensure(self) -> None:
        """Start the engine if it does not run."""
        if self._process is None or self._process.poll() is not None:
            self.start().close()

    def load(self, engine: Engine, image: str) -> None:
        """Copy an image from another engine."""
        client = self.start()
        try:
            client.images.load(engine.client.images.get(image).save(named=True))
        finally:
            client.close()

    def clear(self) -> None:
        """End the engine and remove its processes and mounts."""
        self.end(signal.SIGTERM)
        self._kill_and_wait(b"")
        mounts = [line.split()[1] for line in Path("/proc/self/mounts").read_text().splitlines()]
        for mount in reversed([path for path in mounts if path.startswith(f"{self.folder}/")]):
            subprocess.run(["umount", "--lazy", mount], check=False)

    def _kill_and_wait(self, name: bytes) -> None:
        deadline = time.monotonic() + 10
        while (pids := self._processes(name)) and time.monotonic() < deadline:
            for pid in pids:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            time.sleep(0.1)

    def _processes(self, name: bytes) -> list[int]:
        """Return the processes of this name with the folder in their command line, such as containerd and its shims."""
        pids = []
        for entry in Path("/proc").iterdir():
            with contextlib.suppress(OSError):
                line = (entry / "cmdline").read_bytes() if entry.name.isdecimal() else b""
                if line.startswith(name) and str(self.folder).encode() in line:
                    pids.append(int(entry.name))
        return [pid for pid in pids if pid != os.getpid()]

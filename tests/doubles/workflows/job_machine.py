"""The machine of a job: a working folder, Python, and an environment without any variable of the test.

It replaces a hosted machine. `bash`, `git` and the container engine are those of the present machine. The job downloads
nothing: Python is the present interpreter, and its `pip` is a double that uses the packages of the test's environment
if these have the pinned versions.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import sysconfig
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

PATH: Final = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
SHELLS: Final = {
    "": ("bash", "-e"),
    "bash": ("bash", "--noprofile", "--norc", "-eo", "pipefail"),
}
"""The commands with which GitHub starts the shell of a step. Only a step with `shell: bash` gets `pipefail`."""

STEP_S: Final = 600.0

_FOLDERS: Final = ("work", "temp", "tools", "home")


@dataclass(frozen=True, slots=True)
class JobMachine:
    """The machine of one job, in a folder of its own. `extra` has additional environment variables."""

    folder: Path
    extra: Mapping[str, str]

    @classmethod
    def fresh(cls, folder: Path, extra: Mapping[str, str]) -> JobMachine:
        """Empty the folder and return a machine that no job has used."""
        shutil.rmtree(folder, ignore_errors=True)
        for name in _FOLDERS:
            (folder / name).mkdir(parents=True)
        return cls(folder, extra)

    @property
    def workspace(self) -> Path:
        """The folder in which the steps of a job start."""
        return self.folder / "work"

    @property
    def temp(self) -> Path:
        """The folder of the runner's own files."""
        return self.folder / "temp"

    def environment(self) -> dict[str, str]:
        """Return the environment variables that the steps of every workflow have."""
        return {
            "PATH": PATH,
            "HOME": str(self.folder / "home"),
            "LANG": "C.UTF-8",
            "CI": "true",
            "GITHUB_ACTIONS": "true",
            "GITHUB_WORKSPACE": str(self.workspace),
            "RUNNER_OS": "Linux",
            "RUNNER_ARCH": "X64",
            "RUNNER_NAME": "runner",
            "RUNNER_ENVIRONMENT": "github-hosted",
            "RUNNER_TEMP": str(self.temp),
            "RUNNER_TOOL_CACHE": str(self.folder / "tools"),
            **self.extra,
        }

    def install_python(self) -> Path:
        """Make a Python environment with the present interpreter and the double of pip. Return its `bin` folder."""
        home = self.folder / "tools" / "python"
        packages = home / "lib" / f"python{sys.version_info.major}.{sys.version_info.minor}" / "site-packages"
        (packages / "pip").mkdir(parents=True)
        shutil.copy(Path(__file__).with_name("pip_double.py"), packages / "pip" / "__main__.py")
        (packages / "pip" / "__init__.py").touch()
        (packages / "pip" / "installed").write_text(sysconfig.get_path("purelib"))
        (packages / "pip" / "wheels").write_text(str(self.folder.with_name("wheels")))
        programs = home / "bin"
        programs.mkdir()
        base = Path(sys.base_prefix) / "bin" / f"python{sys.version_info.major}.{sys.version_info.minor}"
        (home / "pyvenv.cfg").write_text(f"home = {base.parent}\ninclude-system-site-packages = false\n")
        for name in ("python", "python3"):
            (programs / name).symlink_to(base)
        return programs

    def execute(self, script: str, shell: str, folder: str, environment: Mapping[str, str]) -> tuple[int, str]:
        """Run the script of a step. Return its exit code and the output of both streams. Kill a script that hangs."""
        file = self.temp / "script.sh"
        file.write_text(script)
        process = subprocess.Popen(
            [*SHELLS[shell], str(file)],
            cwd=self.workspace / folder,
            env=dict(environment),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            printed, _ = process.communicate(timeout=STEP_S)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            printed, _ = process.communicate()
            return 124, printed.decode(errors="replace") + "the step took too long and was killed\n"
        return process.returncode, printed.decode(errors="replace")

"""Run the server of llama.cpp on loopback, from the package xllamacpp: python -m tests.generation.llama_server MODEL

The process prints its address, and ends when its standard input is closed. So it ends even if the test is killed.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from types import TracebackType
from typing import Final

ROOT: Final = Path(__file__).parents[2]
KEY: Final = "the-only-key"
CONTEXT: Final = 2048
"""The longest prompt with its reply, in tokens."""
_STOP_S: Final = 60


class LlamaServer:
    """A server that serves a model inside its `with` block. Its log is the file `log`."""

    def __init__(self, model: Path, log: Path) -> None:
        self._model, self._log = model, log
        self.url = ""

    def __enter__(self) -> LlamaServer:
        command = [sys.executable, "-m", "tests.generation.llama_server", str(self._model)]
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(
                command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, text=True
            )
        assert self._process.stdout is not None
        address = self._process.stdout.readline().strip()
        assert address.startswith("http://127.0.0.1:"), self._log.read_text(errors="replace")[-4000:]
        self.url = f"{address}/v1"
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            self._process.communicate(timeout=_STOP_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.communicate()


def serve(model: str) -> None:
    """Serve a model with one thread until the standard input is closed."""
    from xllamacpp import CommonParams, Server

    parameters = CommonParams()
    parameters.model.path = model
    parameters.n_ctx = CONTEXT
    parameters.n_parallel = 1
    parameters.fit_params = False
    parameters.warmup = False
    parameters.api_keys = [KEY]
    parameters.n_threads_http = 4
    for threads in (parameters.cpuparams, parameters.cpuparams_batch):
        threads.n_threads = 1
    server = Server(parameters)
    sys.stdout.write(f"{server.listening_address}\n")
    sys.stdout.flush()
    sys.stdin.read()


if __name__ == "__main__":
    serve(sys.argv[1])

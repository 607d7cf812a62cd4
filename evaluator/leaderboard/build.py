"""Builds the site with MkDocs, and serves it on this machine.

MkDocs runs as a process of its own: it configures logging, warnings and the working directory of the
process it is in, and whatever it prints belongs in an error, not in ours.
"""

from __future__ import annotations

import contextlib
import functools
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from evaluator.errors import InfraError, MissingError

_QUIET = {"NO_MKDOCS_2_WARNING": "1", "DISABLE_MKDOCS_2_WARNING": "true"}
"""Silences the theme's notice about a successor of MkDocs, which is not about this site."""


def build_site(project: Path) -> Path:
    """Build the site of the project whose `mkdocs.yml` lies in `project`; return the folder it is in.

    Strict: a warning fails the build (MkDocs overlooks that where it is told to be quiet, so it is not). Raises
    MissingError where no pages have been written yet, and InfraError with what MkDocs said where it fails.
    """
    if not project.joinpath("site", "board", ".parts").is_dir():
        raise MissingError(f"{project / 'site' / 'board'} holds no pages yet; write them with: bashboard build")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--config-file", "mkdocs.yml"]
    done = subprocess.run(
        command, cwd=project, env={**os.environ, **_QUIET}, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise InfraError(f"the site could not be built; mkdocs said:\n{(done.stderr or done.stdout).strip()[-4000:]}")
    return project / "build" / "site"


class _Handler(SimpleHTTPRequestHandler):
    """Serves files without a word: a reader of this terminal waits for errors, not for addresses."""

    extensions_map: dict[str, str] = {  # noqa: RUF012 - the base class declares it so
        **SimpleHTTPRequestHandler.extensions_map,
        ".jsonl": "application/jsonl",
        ".js": "text/javascript",
        ".svg": "image/svg+xml",
    }

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the base class names it so
        """Say nothing."""


@contextlib.contextmanager
def site_server(folder: Path, port: int = 0) -> Iterator[str]:
    """Serve a built site on the loopback address while the block runs; give its address.

    `port` 0 takes a free one. Raises OSError where the port is taken.
    """
    handler = functools.partial(_Handler, directory=str(folder))
    server = ThreadingHTTPServer(("127.0.0.1", port), handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()

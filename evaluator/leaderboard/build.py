"""This module builds the site with MkDocs, and serves it on this machine.

MkDocs runs in a separate process, because it changes the logging, the warnings and the working directory of its
process. The site builder can also read the output of this process for an error message.
"""

from __future__ import annotations

import contextlib
import functools
import json
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
"""Turns off the theme's notice about a successor of MkDocs, which does not concern this site."""


def build_site(project: Path) -> Path:
    """Build the site from `mkdocs.yml` in the folder `project`, and return the site's folder.

    A warning fails the build. Raise MissingError if the pages do not exist yet, and InfraError with the output of
    MkDocs if the build fails.
    """
    if not project.joinpath("site", "board", ".parts").is_dir():
        raise MissingError(f"{project / 'site' / 'board'} holds no pages yet; write them with: bashboard build")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--config-file", "mkdocs.yml"]
    completed = subprocess.run(
        command,
        cwd=project,
        env={**os.environ, **_QUIET, "SOURCE_DATE_EPOCH": _seconds(project)},
        capture_output=True,
        text=True,
        check=False,
    )
    if completed.returncode:
        raise InfraError(
            f"the site could not be built; mkdocs said:\n{(completed.stderr or completed.stdout).strip()[-4000:]}"
        )
    return project / "build" / "site"


def _seconds(project: Path) -> str:
    """Return the time of the commit that the pages are made from. MkDocs writes it instead of the current time."""
    path = project / "site" / "board" / ".parts" / "_site.json"
    return str(json.loads(path.read_text("utf-8"))["seconds"]) if path.is_file() else "0"


class _Handler(SimpleHTTPRequestHandler):
    """An HTTP request handler for the built site. It logs no requests, so that the terminal shows only errors."""

    extensions_map: dict[str, str] = {  # noqa: RUF012 - the base class declares it so
        **SimpleHTTPRequestHandler.extensions_map,
        ".jsonl": "application/jsonl",
        ".js": "text/javascript",
        ".svg": "image/svg+xml",
    }

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the base class names it so
        """Do not log a request."""


@contextlib.contextmanager
def site_server(folder: Path, port: int = 0) -> Iterator[str]:
    """Serve a built site on the loopback address during the `with` block, and yield the address.

    A `port` of 0 selects a free port. Raise OSError if the port is in use.
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

"""This module builds the site with MkDocs, and serves it on this machine.

MkDocs runs in a separate process, because it changes the logging, the warnings and the working directory of its
process. The site builder can also read the output of this process for an error message.

The folder `.bashboard/site/mkdocs` keeps what MkDocs made, so that a build whose hand-written pages and parts are the
same does not run it again. The site is put together in a new folder, which takes the place of the old one at the end.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from concurrent.futures import Executor
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final

from evaluator.errors import InfraError, MissingError
from evaluator.files import exchange_folder
from evaluator.leaderboard.site_pages import write_site_pages

_QUIET = {"NO_MKDOCS_2_WARNING": "1", "DISABLE_MKDOCS_2_WARNING": "true"}
"""Turns off the theme's notice about a successor of MkDocs, which does not concern this site."""

_KEY: Final = ".key"
_MAKERS: Final = ("mkdocs", "mkdocs-material", "pymdown-extensions", "Markdown", "Pygments", "Jinja2")
"""The distributions on which the pages of MkDocs depend."""


def build_site(project: Path, workers: Executor | None = None) -> Path:
    """Build the site from `mkdocs.yml` in the folder `project`, and return the site's folder.

    A warning fails the build. Raise MissingError if the pages do not exist yet, and InfraError with the output of
    MkDocs if the build fails. After an error, the old site is unchanged. `workers` are processes that write pages.
    """
    board = project / "site" / "board"
    if not board.joinpath(".parts").is_dir():
        raise MissingError(f"{board} holds no pages yet; write them with: bashboard build")
    cache, site = project / ".bashboard" / "site", project / "build" / "site"
    cache.mkdir(parents=True, exist_ok=True)
    site.parent.mkdir(exist_ok=True)
    key = _mkdocs_key(project)
    made = cache / "mkdocs"
    if not (made / _KEY).is_file() or (made / _KEY).read_text() != key:
        _run_mkdocs(project, made, key)
    with tempfile.TemporaryDirectory(prefix=".site-", dir=site.parent) as scratch:
        fresh = Path(scratch, "fresh")
        shutil.copytree(made, fresh, ignore=shutil.ignore_patterns(_KEY))
        write_site_pages(board, fresh, workers)
        exchange_folder(fresh, site)
    return site


def _mkdocs_key(project: Path) -> str:
    """Return the digest of everything that MkDocs reads: its settings, the hand-written pages, parts and shells."""
    state = hashlib.sha256(" ".join(version(name) for name in _MAKERS).encode())
    state.update(os.environ.get("BASHBOARD_SITE_URL", "").encode())
    files = [project / "mkdocs.yml", Path(__file__).with_name("hook.py"), *sorted((project / "site").rglob("*"))]
    for path in files:
        name = path.relative_to(project).parts if path.is_relative_to(project) else (path.name,)
        is_board = name[:2] == ("site", "board") and name[2:3] != ("_shell",) and not path.name.startswith("_")
        if is_board or name[:2] == ("site", "frozen") or any(part.startswith(".board-") for part in name):
            continue
        if path.is_file():
            state.update(f"\0{'/'.join(name)}\0".encode())
            state.update(hashlib.sha256(path.read_bytes()).digest())
    return state.hexdigest()


def _run_mkdocs(project: Path, made: Path, key: str) -> None:
    """Build the pages of MkDocs into the folder `made`."""
    with tempfile.TemporaryDirectory(prefix="mkdocs-", dir=made.parent) as scratch:
        fresh = Path(scratch, "fresh")
        command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--config-file", "mkdocs.yml"]
        command += ["--site-dir", str(fresh.absolute())]
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
        (fresh / _KEY).write_text(key)
        exchange_folder(fresh, made)


def _seconds(project: Path) -> str:
    """Return the time of the commit that the pages are made from. MkDocs writes it instead of the current time."""
    path = project / "site" / "board" / ".parts" / "_site.json"
    return str(json.loads(path.read_text("utf-8"))["seconds"]) if path.is_file() else "0"


class _Handler(SimpleHTTPRequestHandler):
    """An HTTP request handler for the built site. It logs no requests, so that the terminal shows only errors."""

    extensions_map: dict[str, str] = {  # noqa: RUF012 - the base class declares it so
        **SimpleHTTPRequestHandler.extensions_map,
        ".gz": "application/gzip",
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

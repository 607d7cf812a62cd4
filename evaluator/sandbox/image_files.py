"""Sandbox images as files: saved by one machine and loaded by another, which then need not build them.

A file holds the images of one suite or of several, which share what they have in common. It is believed by its digest
alone, and that is compared before the engine sees a byte of it: an image is what commands run in and what watches them.
"""

from __future__ import annotations

import gzip
import hashlib
import tempfile
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import Any, BinaryIO, Final, cast

from docker.errors import APIError

from evaluator.errors import FormatError, ImageError, Problem, UsageError
from evaluator.sandbox.daemon import engine_errors
from evaluator.sandbox.engine import Engine

_PIECE: Final = 1 << 20
_LEVEL: Final = 1
"""Of gzip: an image of 413 MB takes 149 MB in 4.6 s; level 6 saves a twelfth of that and takes 14.6 s."""

_LOADED: Final = "Loaded image: "


class _Digesting:
    """A file that is only written to, and the digest of what was."""

    def __init__(self, file: BinaryIO) -> None:
        self._file, self.digest = file, hashlib.sha256()

    def write(self, data: bytes) -> int:
        self.digest.update(data)
        return self._file.write(data)

    def flush(self) -> None:
        self._file.flush()


def save_images(engine: Engine, references: Sequence[str], path: Path) -> str:
    """Write images that are there to one file under gzip, which takes its name when it is whole; its SHA-256.

    The same images give the same bytes as far as the engine does. Raises UsageError where the file cannot be written.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=path.parent, prefix=".image.", suffix=".new", delete=False) as file:
            written = Path(file.name)
            try:
                digesting = _Digesting(cast(BinaryIO, file))
                with gzip.GzipFile("", "wb", _LEVEL, cast(BinaryIO, digesting), mtime=0) as packed:
                    for piece in _exported(engine, references):
                        packed.write(piece)
                file.flush()
                written.chmod(0o644)
                written.replace(path)
            except BaseException:
                written.unlink(missing_ok=True)
                raise
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror or error}") from error
    return digesting.digest.hexdigest()


def _exported(engine: Engine, references: Sequence[str]) -> Iterator[bytes]:
    """The engine's archive of these images. Its client asks for one image at a time; the engine takes several."""
    api = engine.client.api
    address = f"{api.base_url}/v{api.api_version}/images/get"
    with (
        engine_errors(f"the engine could not save {', '.join(references)}"),
        api.get(address, params={"names": list(references)}, stream=True, timeout=api.timeout) as answer,
    ):
        if answer.status_code != 200:
            raise ImageError(f"the engine did not save {', '.join(references)}: {answer.text[:500]}")
        yield from answer.iter_content(_PIECE)


def load_images(engine: Engine, path: Path, sha256: str, expected: Collection[str]) -> list[str]:
    """Give the engine the images of a file whose SHA-256 is this; their references, all of which must be expected.

    Raises FormatError for another file, before the engine sees it, UsageError where it cannot be read, and ImageError
    where the engine does not take it or it holds other images, whose names are taken from them again.
    """
    try:
        with path.open("rb") as file:
            found = hashlib.file_digest(file, "sha256").hexdigest()
            if found != sha256:
                message = f"has the SHA-256 {found}: expected {sha256}; the engine was not given it"
                raise FormatError([Problem(path, 0, message)])
            file.seek(0)
            loaded = _load(engine, path, file)
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror or error}") from error
    strangers = [each for each in loaded if each not in expected]
    for each in strangers:
        with engine_errors(f"the engine could not remove {each}"):
            engine.client.images.remove(each, noprune=True)
    if strangers or not loaded:
        names = ", ".join(strangers) or "no image"
        raise ImageError(f"{path} holds {names}: expected {' or '.join(sorted(expected))}")
    return loaded


def _load(engine: Engine, path: Path, file: BinaryIO) -> list[str]:
    loaded: list[str] = []
    with engine_errors(f"the engine went away while it loaded {path}"):
        try:
            # all that it says is read, an error too: an answer that breaks off keeps its connection
            messages: list[dict[str, Any]] = list(engine.client.api.load_image(file, quiet=True))
            for message in messages:
                if "error" in message:
                    raise ImageError(f"the engine could not load {path}: {message['error']}")
                lines = str(message.get("stream", "")).splitlines()
                # podman puts a registry before its own names
                named = [line.removeprefix(_LOADED) for line in lines if line.startswith(_LOADED)]
                loaded += [name.strip().removeprefix("localhost/") for name in named]
        except APIError as error:
            raise ImageError(f"the engine would not load {path}: {error}") from error
    return loaded

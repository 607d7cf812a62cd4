"""Save sandbox images to a file, so that another machine can load the images instead of building them.

A file holds the images of one or several suites, and stores their common layers once. The file is trusted only if it
has the expected digest. The digest is checked before the engine reads the file. An image from an unknown source could
falsify evidence, because each image contains the program that runs and observes the commands.
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
from evaluator.sandbox.image_recipe import REPOSITORY

_PIECE: Final = 1 << 20
_LEVEL: Final = 1
"""The gzip level. It packs an image of 413 MB into 149 MB in 4.6 s. Level 6 saves a twelfth of that in 14.6 s."""

_LOADED: Final = "Loaded image: "


class _DigestingFile:
    """A file for writing that also computes the digest of the written bytes."""

    def __init__(self, file: BinaryIO) -> None:
        self._file, self.digest = file, hashlib.sha256()

    def write(self, data: bytes) -> int:
        self.digest.update(data)
        return self._file.write(data)

    def flush(self) -> None:
        self._file.flush()


def save_images(engine: Engine, references: Sequence[str], path: Path) -> str:
    """Write existing images to one gzip file and return the file's SHA-256. The file appears only when it is complete.

    The same images give the same file if the engine's export is reproducible. Raises UsageError if the file cannot be
    written.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=path.parent, prefix=".image.", suffix=".new", delete=False) as file:
            temporary = Path(file.name)
            try:
                output = _DigestingFile(cast(BinaryIO, file))
                with gzip.GzipFile("", "wb", _LEVEL, cast(BinaryIO, output), mtime=0) as packed:
                    for piece in _export(engine, references):
                        packed.write(piece)
                file.flush()
                temporary.chmod(0o644)
                temporary.replace(path)
            except BaseException:
                temporary.unlink(missing_ok=True)
                raise
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror or error}") from error
    return output.digest.hexdigest()


def _export(engine: Engine, references: Sequence[str]) -> Iterator[bytes]:
    """Request one archive of these images from the engine, and yield the archive's bytes in pieces.

    The function sends the request itself, because docker-py can request an archive of only one image.
    """
    api = engine.client.api
    address = f"{api.base_url}/v{api.api_version}/images/get"
    with (
        engine_errors(f"the engine could not save {', '.join(references)}"),
        api.get(address, params={"names": list(references)}, stream=True, timeout=api.timeout) as answer,
    ):
        if answer.status_code != 200:
            raise ImageError(f"the engine did not save {', '.join(references)}: {answer.text[:500]}")
        yield from answer.iter_content(_PIECE)


def load_images(
    engine: Engine, path: Path, sha256: str, expected: Collection[str], *, others: bool = False
) -> list[str]:
    """Load the images of a file into the engine and return their references, which must all be in `expected`.

    With `others`, the file may also hold images of suites whose files are not on this machine, so that the caller does
    not know the names of these images. The tags of these images are removed.

    Raises:
        FormatError: the file does not have the expected SHA-256. The engine has not read the file.
        UsageError: the file cannot be read.
        ImageError: the engine refuses the file, or the file holds images that are not in `expected`. The tags of these
            images are removed.
    """
    try:
        with path.open("rb") as file:
            actual = hashlib.file_digest(file, "sha256").hexdigest()
            if actual != sha256:
                message = f"has the SHA-256 {actual}: expected {sha256}; it was not loaded"
                raise FormatError([Problem(path, 0, message)])
            file.seek(0)
            loaded = _load(engine, path, file)
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror or error}") from error
    surplus = [reference for reference in loaded if reference not in expected]
    for reference in surplus:
        with engine_errors(f"the engine could not remove {reference}"):
            engine.client.images.remove(reference, noprune=True)
    unexpected = [name for name in surplus if not (others and name.startswith(f"{REPOSITORY}:"))]
    if unexpected or not loaded:
        names = ", ".join(unexpected) or "no image"
        raise ImageError(f"{path} holds {names}: expected {' or '.join(sorted(expected))}")
    return [reference for reference in loaded if reference not in surplus]


def _load(engine: Engine, path: Path, file: BinaryIO) -> list[str]:
    loaded: list[str] = []
    with engine_errors(f"the engine went away while it loaded {path}"):
        try:
            # read the answer to its end, also after an error: a partly read answer keeps its connection
            messages: list[dict[str, Any]] = list(engine.client.api.load_image(file, quiet=True))
            for message in messages:
                if "error" in message:
                    raise ImageError(f"the engine could not load {path}: {message['error']}")
                lines = str(message.get("stream", "")).splitlines()
                # podman prefixes its names with a registry
                names = [line.removeprefix(_LOADED) for line in lines if line.startswith(_LOADED)]
                loaded += [name.strip().removeprefix("localhost/") for name in names]
        except APIError as error:
            raise ImageError(f"the engine would not load {path}: {error}") from error
    return loaded

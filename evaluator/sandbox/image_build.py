"""Build a container image with the engine, from files in memory."""

from __future__ import annotations

import io
import tarfile
from collections.abc import Callable, Mapping
from typing import Final

from docker.errors import APIError

from evaluator.errors import ImageError
from evaluator.sandbox.daemon import engine_errors
from evaluator.sandbox.engine import Engine

SHOWN_LINES: Final = 20
"""The number of the build's last lines in an error message."""


def build_image(
    engine: Engine,
    context: Mapping[str, bytes],
    reference: str,
    arguments: Mapping[str, str],
    labels: Mapping[str, str],
    progress: Callable[[str], None],
) -> None:
    """Build an image from the files of `context`, one of which is the `Dockerfile`, and tag it with `reference`.

    `progress` gets each step. Raises ImageError if the build fails. The message ends with the last lines of the build's
    output. Raises EngineError if the engine fails.
    """
    lines: list[str] = []
    with engine_errors(f"the engine went away while it built {reference}"):
        try:
            stream = engine.client.api.build(
                fileobj=_pack(context),
                custom_context=True,
                tag=reference,
                buildargs=dict(arguments),
                labels=dict(labels),
                network_mode="host",
                rm=True,
                forcerm=True,
                decode=True,
            )
        except APIError as error:
            raise ImageError(f"the engine would not build {reference}: {error}") from error
        for message in stream:
            text = str(message.get("stream") or message.get("error") or "").rstrip()
            lines += [text] if text else []
            if text.startswith("Step "):
                progress(text)
            if "error" in message:
                raise ImageError(f"{reference} could not be built:\n" + "\n".join(lines[-SHOWN_LINES:]))


def _pack(context: Mapping[str, bytes]) -> io.BytesIO:
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w") as archive:
        for name, data in sorted(context.items()):
            entry = tarfile.TarInfo(name)
            entry.size, entry.mode = len(data), 0o644
            archive.addfile(entry, io.BytesIO(data))
    file.seek(0)
    return file

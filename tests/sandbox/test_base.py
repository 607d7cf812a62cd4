"""Tests of the sources of a Debian release's root file system, and of the record of its origin."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import os
import socket
import tarfile
import threading
import uuid
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar

import pytest

from evaluator.errors import ImageError, MissingError
from evaluator.sandbox.base import base_of, bootstrap, ensure_base, find_base, pull
from evaluator.sandbox.bootstrap import (
    MAX_AGE_S,
    AptSource,
    apt_settings,
    bootstrap_command,
    cached_archive,
    candidate_sources,
    find_sources,
    is_release,
    prepare,
    prepared_archive,
)
from evaluator.sandbox.engine import Engine, find_engine
from evaluator.sandbox.host import CompletedCommand
from evaluator.testing.host import ScriptedHost


def ignore(_: str) -> None:
    return


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache of this test's own, so that no archive of this machine's user is imported."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.mark.parametrize(
    ("attributes", "origin"),
    [
        ({"RepoDigests": ["debian@sha256:ab"]}, ("registry", "sha256:ab")),
        (
            {"RepoDigests": ["bashboard-base@sha256:ab", "mirror.example/library/debian@sha256:ab"]},
            ("registry", "sha256:ab"),
        ),
        ({"RepoDigests": [], "Config": {"Labels": {"bashboard.base": "trixie"}}}, ("mirror", "sha256:1")),
        ({"Config": {"Labels": {"bashboard.base": "bookworm"}}}, None),
        ({"RepoDigests": ["notdebian@sha256:ab"], "Config": {"Labels": None}}, None),
        ({"RepoDigests": None, "Config": None}, None),
    ],
)
def test_an_image_is_trusted_by_what_it_carries(attributes: dict[str, Any], origin: tuple[str, str] | None) -> None:
    """An image is trusted if it has a registry's digest or our label of the release. Our tag alone is not enough."""
    base = base_of({"Id": "sha256:1", **attributes}, "bashboard-base:trixie", "trixie")
    assert (base and (base.source, base.digest)) == origin


INDEXES = """\
http://mirror.example/debian/ bookworm main Debian
http://mirror.example/debian/ bookworm main Debian
http://mirror.example/debian/ bookworm contrib Debian
http://mirror.example/debian/ bookworm-updates main Debian
http://mirror.example/debian/ bookworm-backports main Debian
http://mirror.example/debian/ bookworm-proposed-updates main Debian
https://safe.example/debian-security/ stable-security main $(ORIGIN)
https://tools.example/linux/ bookworm main Tools
https://flat.example/ /  Flat
"""


def test_every_source_of_the_machine_has_its_counterpart_in_the_release() -> None:
    """A release's main, update and security packages come from the mirrors that the machine uses for them.

    Other components, foreign origins and flat sources are left out.
    """
    assert candidate_sources(CompletedCommand(0, INDEXES), "trixie") == [
        AptSource("http://mirror.example/debian", "trixie", ("main",)),
        AptSource("http://mirror.example/debian", "trixie-updates", ("main",)),
        AptSource("https://safe.example/debian-security", "trixie-security", ("main",)),
    ]


def test_a_machine_without_apt_has_no_sources() -> None:
    """A machine without apt has no mirror, and this is not an error."""
    machine = ScriptedHost({"apt-get indextargets": CompletedCommand(127, "apt-get: no such program")})
    assert find_sources(machine, "trixie") == []


@pytest.mark.parametrize(
    ("text", "suite", "accepted"),
    [
        ("Origin: Debian\nSuite: stable\nCodename: trixie\n", "trixie", True),
        ("Hash: SHA256\n\nOrigin: Debian\nCodename: trixie-security\n", "trixie-security", True),
        ("Origin: Debian\nCodename: forky\n", "trixie", False),
        ("Origin: Tools\nCodename: trixie\n", "trixie", False),
        ("<html>Origin: Debian</html>", "trixie", False),
        ("", "trixie", False),
    ],
)
def test_only_debians_own_release_is_taken(text: str, suite: str, accepted: bool) -> None:
    """A "not found" page and another project's packages are not accepted as a Debian release."""
    assert is_release(text, suite) is accepted


def test_settings_a_mirror_depends_on_go_along() -> None:
    """The machine's settings for disabled checks and for proxies are passed on. Its other settings are not."""
    dump = 'APT::Architecture "amd64";\nAcquire::Check-Date "false";\nAcquire::http::Proxy "http://localhost:3142";\n'
    assert apt_settings(ScriptedHost({"apt-config dump": CompletedCommand(0, dump)})) == [
        'Acquire::Check-Date "false";',
        'Acquire::http::Proxy "http://localhost:3142";',
    ]


@pytest.mark.parametrize(("scheme", "certificates"), [("http", False), ("https", True)])
def test_certificates_are_added_only_where_a_mirror_needs_them(scheme: str, certificates: bool) -> None:
    """Certificates are added only if a mirror uses HTTPS.

    Otherwise the list of packages, which is part of every key, equals the list of the registry's image.
    """
    sources = [AptSource(f"{scheme}://mirror.example/debian", "trixie", ("main",))]
    command = bootstrap_command("trixie", Path("/tmp/root.tar"), sources, [])
    assert ("--include=ca-certificates" in command) is certificates
    assert command[-3:] == ["trixie", "/tmp/root.tar", f"deb {scheme}://mirror.example/debian trixie main"]


class Registry(BaseHTTPRequestHandler):
    """An image registry with one image of one file. It implements the part of the protocol that a pull uses."""

    blobs: ClassVar[dict[str, tuple[str, bytes]]]

    def do_HEAD(self) -> None:
        self._answer(with_body=False)

    def do_GET(self) -> None:
        self._answer(with_body=True)

    def _answer(self, *, with_body: bool) -> None:
        kind, body = self.blobs.get(self.path.rsplit("/", 1)[-1], ("application/json", b"{}"))
        known = self.path == "/v2/" or self.path.rsplit("/", 1)[-1] in self.blobs
        self.send_response(200 if known else 404)
        self.send_header("Docker-Distribution-Api-Version", "registry/2.0")
        self.send_header("Docker-Content-Digest", digest(body))
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if with_body:
            self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        return


def digest(content: bytes) -> str:
    return f"sha256:{hashlib.sha256(content).hexdigest()}"


def published(tag: str) -> dict[str, tuple[str, bytes]]:
    """Return the blobs of an image with one file, /etc/hello, by digest. The manifest is also listed by its tag."""
    tar = io.BytesIO()
    with tarfile.open(fileobj=tar, mode="w") as archive:
        entry = tarfile.TarInfo("etc/hello")
        entry.size = 3
        archive.addfile(entry, io.BytesIO(b"hi\n"))
    layer = gzip.compress(tar.getvalue(), mtime=0)
    rootfs = {"type": "layers", "diff_ids": [digest(tar.getvalue())]}
    config = json.dumps({"architecture": "amd64", "os": "linux", "config": {}, "rootfs": rootfs}).encode()
    kinds = ("application/vnd.docker.container.image.v1+json", "application/vnd.docker.image.rootfs.diff.tar.gzip")
    manifest_kind = "application/vnd.docker.distribution.manifest.v2+json"
    parts = [
        {"mediaType": kind, "size": len(blob), "digest": digest(blob)}
        for kind, blob in zip(kinds, (config, layer), strict=True)
    ]
    manifest = json.dumps(
        {"schemaVersion": 2, "mediaType": manifest_kind, "config": parts[0], "layers": parts[1:]}
    ).encode()
    blobs = {digest(blob): ("application/octet-stream", blob) for blob in (config, layer)}
    return blobs | dict.fromkeys((tag, digest(manifest)), (manifest_kind, manifest))


@pytest.fixture
def engine() -> Iterator[Engine]:
    """The engine of this machine."""
    try:
        engine = find_engine(os.environ)
    except MissingError as error:
        pytest.skip(str(error).splitlines()[0])
    yield engine
    engine.client.close()


@pytest.fixture
def repository(engine: Engine) -> Iterator[str]:
    """A repository name in the engine for this test. Its images are removed after the test."""
    name = f"bashboard-test-{uuid.uuid4().hex[:8]}"
    yield name
    for image in engine.client.images.list(name):
        engine.client.images.remove(image.id, force=True)


@pytest.fixture
def registry() -> Iterator[str]:
    """The address of a local registry that has debian:trixie-slim."""
    handler = type("Handler", (Registry,), {"blobs": published("trixie-slim")})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.mark.engine
def test_the_registrys_image_is_used_and_its_digest_recorded(engine: Engine, repository: str, registry: str) -> None:
    """The registry's image becomes the base, and its digest is recorded. A second call needs no request to the
    registry.
    """
    if engine.name == "podman":
        pytest.skip("podman speaks plain HTTP to no registry that its configuration does not name")
    machine = ScriptedHost()
    base = ensure_base(engine, "trixie", ignore, machine=machine, repository=repository, image=f"{registry}/debian")
    manifest = published("trixie-slim")["trixie-slim"][1]
    assert (base.source, base.digest) == ("registry", digest(manifest))
    assert base.reference == f"{repository}:trixie"
    messages: list[str] = []
    assert ensure_base(engine, "trixie", messages.append, repository=repository, image="127.0.0.1:1/debian") == base
    assert (messages, machine.calls) == ([], [])


@pytest.mark.engine
def test_an_unknown_image_is_refused_with_the_registrys_reason(engine: Engine, registry: str) -> None:
    """If the registry does not have an image, its reason is returned in one line."""
    reason = pull(engine, f"{registry}/debian:nowhere", ignore)
    assert reason
    assert "\n" not in reason


@pytest.mark.engine
def test_a_registry_that_accepts_and_says_nothing_is_given_up(engine: Engine) -> None:
    """The wait for a registry that accepts connections but never answers ends at the limit of the first answer."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"127.0.0.1:{silent.getsockname()[1]}"
        assert pull(engine, f"{address}/debian:trixie-slim", ignore, first_answer_s=0.5) == "no answer within 0 s"


def machine_with_mirror(answers: dict[str, CompletedCommand]) -> ScriptedHost:
    """Return a machine with one mirror in apt.

    `answers` sets the results of its programs. Without them, the downloader writes nothing.
    """
    indexes = CompletedCommand(0, "http://mirror.example/debian/ noble main Ubuntu\n")
    return ScriptedHost({"apt-get indextargets": indexes, **answers}, programs=["apt-get"])


@pytest.mark.engine
def test_a_machine_whose_apt_lacks_the_release_gets_the_line_to_type(engine: Engine, repository: str) -> None:
    """If neither the registry nor the mirror has the release, no image is built.

    The error ends with the command to run.
    """
    machine = machine_with_mirror({})
    with pytest.raises(MissingError) as caught:
        bootstrap(engine, "trixie", ignore, machine, repository, "no such host")
    assert str(caught.value).endswith(f"{engine.name} pull debian:trixie-slim")
    assert "no such host" in str(caught.value)
    assert find_base(engine, "trixie", repository) is None


class MirroredMachine(ScriptedHost):
    """A machine with a mirror of trixie.

    Its downloader writes an InRelease file. Its mmdebstrap writes a root archive, or fails if there is none.
    """

    def __init__(self, root: bytes | None) -> None:
        super().__init__(programs=["mmdebstrap", "/usr/share/keyrings/debian-archive-keyring.gpg", "apt-get"])
        self.root = root

    def run(self, *argv: str, timeout_s: float = 900) -> CompletedCommand:
        super().run(*argv, timeout_s=timeout_s)
        match argv:
            case ["apt-get", "indextargets", *_]:
                return CompletedCommand(0, "http://mirror.example/debian/ bookworm main Debian\n")
            case [_, *_, "download-file", _, target]:
                Path(target).write_text("Origin: Debian\nCodename: trixie\n")
            case ["mmdebstrap", *options]:
                if self.root is None:
                    return CompletedCommand(25, "I: starting\nE: cannot sign in to the mirror\n")
                Path(options[-2]).write_bytes(self.root)
        return CompletedCommand(0, "")


def test_a_machine_without_an_engine_gets_its_packages_and_an_archive() -> None:
    machine = MirroredMachine(b"a root file system")
    (archive,) = prepare(machine, ["trixie"], {}, ignore)
    assert prepared_archive("trixie") == archive
    assert archive.read_bytes() == b"a root file system"
    (installed,) = (call for call in machine.calls if call.startswith("apt-get install"))
    assert installed.endswith(" docker.io mmdebstrap debian-archive-keyring")
    assert prepare(machine, ["trixie"], {}, ignore) == []


@pytest.mark.parametrize("reason", ["an engine", "another user", "a named engine"])
def test_nothing_is_prepared_beside(reason: str) -> None:
    machine = MirroredMachine(b"a root file system")
    if reason == "an engine":
        machine.programs = frozenset({*machine.programs, "dockerd"})
    machine.is_root = reason != "another user"
    environment = {"DOCKER_HOST": "tcp://127.0.0.1:1"} if reason == "a named engine" else {}
    assert prepare(machine, ["trixie"], environment, ignore) == []
    assert machine.calls == []


def test_a_failed_bootstrap_leaves_no_archive(cache: Path) -> None:
    with pytest.raises(ImageError, match="cannot sign in to the mirror"):
        prepare(MirroredMachine(None), ["trixie"], {}, ignore)
    assert [path for path in cache.rglob("*") if path.is_file()] == []


def test_an_old_archive_is_made_again() -> None:
    machine = MirroredMachine(b"a root file system")
    (archive,) = prepare(machine, ["trixie"], {}, ignore)
    old = archive.stat().st_mtime - MAX_AGE_S - 60
    os.utime(archive, (old, old))
    assert prepared_archive("trixie") is None
    assert prepare(machine, ["trixie"], {}, ignore) == [archive]


@pytest.mark.engine
def test_a_root_from_the_mirror_is_imported_labelled_and_trusted(engine: Engine, repository: str) -> None:
    """A root archive from the mirror is imported with our label and is trusted afterwards.

    The engine's import is real, and only the archive is made by a fake program.
    """
    tar = io.BytesIO()
    with tarfile.open(fileobj=tar, mode="w") as archive:
        archive.addfile(tarfile.TarInfo("hello"))
    machine = MirroredMachine(tar.getvalue())
    base = ensure_base(engine, "trixie", ignore, machine=machine, repository=repository, image="127.0.0.1:1/debian")
    assert (base.source, base.digest) == ("mirror", base.image_id)
    attributes = engine.client.images.get(base.reference).attrs
    assert attributes["Config"]["Labels"] == {"bashboard.base": "trixie"}
    assert attributes["Config"]["Cmd"] == ["bash"]
    assert find_base(engine, "trixie", repository) == base


@pytest.mark.engine
def test_a_bootstrap_that_fails_is_an_image_error_with_its_last_words(engine: Engine, repository: str) -> None:
    """A failed bootstrap raises an error with the last message of mmdebstrap, and leaves no image."""
    with pytest.raises(ImageError, match="cannot sign in to the mirror"):
        bootstrap(engine, "trixie", ignore, MirroredMachine(None), repository, "no such host")
    assert find_base(engine, "trixie", repository) is None


@pytest.mark.engine
def test_a_prepared_archive_is_imported_and_deleted(engine: Engine, repository: str) -> None:
    """An archive that was made before the engine ran is imported, and mmdebstrap does not run again."""
    tar = io.BytesIO()
    with tarfile.open(fileobj=tar, mode="w") as archive:
        archive.addfile(tarfile.TarInfo("prepared"))
    prepare(MirroredMachine(tar.getvalue()), ["trixie"], {}, ignore)
    machine = MirroredMachine(None)
    base = ensure_base(engine, "trixie", ignore, machine=machine, repository=repository, image="127.0.0.1:1/debian")
    assert base.source == "mirror"
    assert machine.calls == []
    assert not cached_archive("trixie").exists()


@pytest.mark.engine
def test_a_foreign_image_under_our_tag_is_replaced(engine: Engine, repository: str) -> None:
    """An image that another user tagged with our name is not used as the base, and is replaced."""
    tar = io.BytesIO()
    with tarfile.open(fileobj=tar, mode="w") as archive:
        archive.addfile(tarfile.TarInfo("foreign"))
    engine.client.api.import_image_from_data(tar.getvalue(), repository=f"{repository}:trixie")
    assert find_base(engine, "trixie", repository) is None
    foreign = engine.client.images.get(f"{repository}:trixie")
    base = ensure_base(
        engine,
        "trixie",
        ignore,
        machine=MirroredMachine(tar.getvalue()),
        repository=repository,
        image="127.0.0.1:1/debian",
    )
    assert find_base(engine, "trixie", repository) == base
    engine.client.images.remove(foreign.id)

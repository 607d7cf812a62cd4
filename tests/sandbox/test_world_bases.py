"""Tests of worlds on further bases: other distributions' images from a registry, and the fall-back without it.

The registry is Debian's own on loopback. Its images are made here from the suite's base, with another identity. No test
uses an image of Ubuntu, Fedora or Alpine, because the test machines reach no public registry.
"""

from __future__ import annotations

import socket
import subprocess
import time
import uuid
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

import pytest
import requests

from evaluator.errors import MissingError
from evaluator.records import Base, SuiteManifest, WorldManifest
from evaluator.sandbox.base import ensure_base
from evaluator.sandbox.container import WorkerPlan
from evaluator.sandbox.engine import Engine
from evaluator.sandbox.host import ThisMachine, install_packages
from evaluator.sandbox.image import SuiteImage, ensure_image, repair_image
from evaluator.sandbox.image_build import build_image
from evaluator.sandbox.image_recipe import image_reference, world_base_reference
from evaluator.sandbox.requests import layer_digest
from evaluator.sandbox.world_bases import REGISTRY, ensure_world_base, find_world_base
from tests.sandbox_harness import TINY, SandboxHarness

UBUNTU = Base(distribution="ubuntu", release="noble-20240429")
ALPINE = Base(distribution="alpine", release="3.20.0")
FEDORA = Base(distribution="fedora", release="41")

IDENTITY = b"ARG ROOT\nFROM ${ROOT}\nRUN echo ID=%s > /etc/os-release && touch -d '2100-01-01' /srv\n"
APK = b"""#!/bin/sh
[ "$*" = 'info -v' ] && printf 'musl-1.2.5-r0\\nbusybox-extras-1.36.1-r28\\n'
"""
"""A stand-in for Alpine's package manager. The real one exists only in images of Alpine."""


def ignore(_: str) -> None:
    return


@pytest.fixture(scope="module")
def registry(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of an empty registry."""
    machine = ThisMachine()
    if not machine.has("docker-registry"):
        try:
            install_packages(machine, ["docker-registry"], ignore)
        except MissingError as error:
            pytest.skip(str(error))
    with socket.create_server(("127.0.0.1", 0)) as free:
        address = f"127.0.0.1:{free.getsockname()[1]}"
    folder = tmp_path_factory.mktemp("registry")
    storage = f"storage:\n  filesystem:\n    rootdirectory: {folder}\n"
    (folder / "config.yml").write_text(f"version: 0.1\n{storage}http:\n  addr: {address}\n")
    with (folder / "log").open("wb") as log:
        server = subprocess.Popen(["docker-registry", "serve", folder / "config.yml"], stdout=log, stderr=log)
    try:
        _wait_for(address, server, folder / "log")
        yield address
    finally:
        server.terminate()
        server.wait()


def _wait_for(address: str, server: subprocess.Popen[bytes], log: Path) -> None:
    for _ in range(300):
        try:
            if requests.get(f"http://{address}/v2/", timeout=5).ok:
                return
        except requests.ConnectionError:
            assert server.poll() is None, log.read_text()
            time.sleep(0.1)
    raise AssertionError(log.read_text())


def publish(engine: Engine, registry: str, base: Base, context: Mapping[str, bytes]) -> None:
    """Build an image from the suite's base, push it to the registry, and remove it from the engine."""
    reference = f"{registry}/{base.image}"
    root = ensure_base(engine, "trixie", ignore).reference
    build_image(engine, context, reference, {"ROOT": root}, {}, ignore)
    messages = engine.client.api.push(*reference.rsplit(":", 1), stream=True, decode=True)
    assert not [message for message in messages if "error" in message]
    engine.client.images.remove(reference)


@pytest.fixture(scope="module")
def published(engine: Engine, registry: str) -> Iterator[str]:
    """The address of a registry with an image of Ubuntu's name, and one of Alpine's name without apt."""
    publish(engine, registry, UBUNTU, {"Dockerfile": IDENTITY % b"ubuntu"})
    alpine = IDENTITY % b"alpine" + b"RUN rm /usr/bin/apt-get\nCOPY apk /sbin/apk\nRUN chmod 755 /sbin/apk\n"
    publish(engine, registry, ALPINE, {"Dockerfile": alpine, "apk": APK})
    yield registry
    for base in (UBUNTU, ALPINE):
        for reference in (world_base_reference(base), f"{registry}/{base.image}"):
            if engine.client.images.list(reference):
                engine.client.images.remove(reference, noprune=True)


@pytest.fixture(scope="module")
def suite(manifest: SuiteManifest) -> SuiteManifest:
    """A suite with three further bases and the packages of core, so that the stages of its image exist already."""
    absent = FEDORA.model_copy(update={"release": f"absent-{uuid.uuid4().hex[:8]}"})  # no other suite has this base
    return manifest.model_copy(update={"bases": {"noble": UBUNTU, "small": ALPINE, "absent": absent}})


@pytest.fixture(scope="module")
def image_with_bases(engine: Engine, suite: SuiteManifest, published: str) -> Iterator[SuiteImage]:
    """The suite's image, with two of the three bases."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(REGISTRY, published)
        yield ensure_image(engine, suite, ignore)
    engine.client.images.remove(image_reference(suite))


@pytest.fixture(scope="module")
def harness(engine: Engine, suite: SuiteManifest, image_with_bases: SuiteImage) -> Iterator[SandboxHarness]:
    """A worker of the suite."""
    harness = SandboxHarness(engine, WorkerPlan(image_with_bases, suite))
    yield harness
    harness.close()


@pytest.mark.parametrize(
    ("base", "identity"), [("noble", b"ID=ubuntu\n"), ("small", b"ID=alpine\n"), (None, b"ID=debian\n")]
)
def test_a_world_has_the_files_of_its_base(harness: SandboxHarness, base: str | None, identity: bytes) -> None:
    """A world on a further base shows this base's identity, and a world without one shows the suite's."""
    evidence = harness.show("grep ^ID= /etc/os-release", world=replace(TINY, base=base)).evidence
    assert evidence.stdout.data == identity
    assert (evidence.stderr.data, evidence.changes) == (b"", ())


def test_a_missing_base_falls_back_and_is_named(
    harness: SandboxHarness, suite: SuiteManifest, image_with_bases: SuiteImage
) -> None:
    """A base that no registry has is replaced by the suite's base. The image names it, and its fingerprint differs."""
    evidence = harness.show("grep ^ID= /etc/os-release", world=replace(TINY, base="absent")).evidence
    assert evidence.stdout.data == b"ID=debian\n"
    assert image_with_bases.missing_bases == ("absent",)
    complete = replace(image_with_bases, packages=tuple(p for p in image_with_bases.packages if "missing" not in p))
    assert complete.fingerprint != image_with_bases.fingerprint


def test_the_fingerprint_covers_the_packages_of_each_base(image_with_bases: SuiteImage) -> None:
    """The list of packages has those of each base, with the base's name."""
    assert {"small/musl=1.2.5-r0", "small/busybox-extras=1.36.1-r28"} <= set(image_with_bases.packages)
    assert any(package.startswith("noble/bash=") for package in image_with_bases.packages)
    assert any(package.startswith("bash=") for package in image_with_bases.packages)


def test_a_further_base_is_as_pinned_as_the_suites_own(harness: SandboxHarness) -> None:
    """On a further base, the clock, the host's name, the devices and the age of files are those of the suite's base."""
    command = """date; hostname 2>&- || cat /etc/hostname; ls /dev; cat /etc/hosts; ls -d /packages /prepare* 2>&-
    find / -xdev -newermt "$(date)" -not -path '/dev*'; echo "$RANDOM"; env"""
    ours, theirs = (harness.show(command, world=replace(TINY, base=base)).evidence for base in (None, "noble"))
    assert ours.stdout.data == theirs.stdout.data
    assert b"LD_PRELOAD" not in ours.stdout.data


def test_two_bases_give_a_world_two_cache_keys() -> None:
    """A world's layer depends on its base. Without a base, it has the digest that it had before bases existed."""
    assert layer_digest(replace(TINY, base="noble")) != layer_digest(TINY)


def test_an_image_is_repaired_when_a_registry_has_the_missing_base(
    engine: Engine, manifest: SuiteManifest, published: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An image without a base stays as it is until a registry has the base, and is then built again with it."""
    late = UBUNTU.model_copy(update={"release": f"late-{uuid.uuid4().hex[:8]}"})
    suite = manifest.model_copy(update={"bases": {"late": late}})
    monkeypatch.setenv(REGISTRY, "127.0.0.1:1")
    try:
        before = ensure_image(engine, suite, ignore)
        assert before.missing_bases == ("late",)
        assert repair_image(engine, suite, ignore) == before
        publish(engine, published, suite.bases["late"], {"Dockerfile": IDENTITY % b"late"})
        monkeypatch.setenv(REGISTRY, published)
        assert ensure_image(engine, suite, ignore) == before
        after = repair_image(engine, suite, ignore)
        assert after.missing_bases == ()
        assert after.fingerprint != before.fingerprint
    finally:
        for reference in (image_reference(suite), world_base_reference(suite.bases["late"])):
            if engine.client.images.list(reference):
                engine.client.images.remove(reference, noprune=True)


def test_packages_that_cannot_be_installed_leave_the_base_out(
    engine: Engine, published: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A base whose packages do not exist is missing, with the last lines of the package manager as the reason."""
    monkeypatch.setenv(REGISTRY, published)
    base = ALPINE.model_copy(update={"packages": ("no-such-package",)})
    apk_fails = find_world_base(engine, "small", base)
    assert apk_fails.reference is None
    made = ensure_world_base(engine, "small", UBUNTU.model_copy(update={"packages": ("no-such-package",)}), ignore)
    assert made.reference is None
    assert "no-such-package" in made.why


def test_an_image_that_no_registry_gave_is_no_base(
    engine: Engine, registry: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An image that a user of the engine made under a distribution's name is not used as a base."""
    base = Base(distribution="fedora", release=f"made-{uuid.uuid4().hex[:8]}")
    root = ensure_base(engine, "trixie", ignore).reference
    build_image(engine, {"Dockerfile": IDENTITY % b"forged"}, f"{registry}/{base.image}", {"ROOT": root}, {}, ignore)
    monkeypatch.setenv(REGISTRY, registry)
    try:
        found = ensure_world_base(engine, "forged", base, ignore)
        assert found.reference is None
        assert base.image in found.why
    finally:
        engine.client.images.remove(f"{registry}/{base.image}")


def test_bases_need_their_format() -> None:
    """A manifest of an earlier format cannot declare bases, and the suite's own base is a release of Debian."""
    with pytest.raises(ValueError, match="base: expected format = 3 or higher, found 2"):
        WorldManifest.model_validate(
            {"format": 2, "title": "t", "variants": [{"name": "a", "seed": 1}], "base": "noble"}
        )


def test_the_suites_own_base_is_debian(manifest: SuiteManifest) -> None:
    """A suite on another distribution is refused with the place for it, and so are bases in an earlier format."""
    values = manifest.model_dump(exclude_defaults=True)
    with pytest.raises(ValueError, match=r"base: expected a release of Debian.*found ubuntu noble-20240429"):
        SuiteManifest.model_validate({**values, "base": UBUNTU})
    with pytest.raises(ValueError, match="bases: expected format = 6 or higher"):
        SuiteManifest.model_validate({**values, "format": 5, "bases": {"noble": UBUNTU}})


SHELL = r"""
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>
int main(int argc, char **argv) {
    printf("%d %s %lld %ld %s\n", argc, argv[2], (long long)time(0), sysconf(_SC_PHYS_PAGES), getenv("LD_PRELOAD"));
}
"""


@pytest.mark.soak
def test_programs_of_musl_are_pinned(
    engine: Engine, manifest: SuiteManifest, published: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a base with the loader of musl, a shell gets its command, and it sees the suite's clock and memory.

    The image is Debian with musl, and its bash is a program that musl loads, because no registry here has Alpine.
    """
    base = Base(distribution="alpine", release=f"musl-{uuid.uuid4().hex[:8]}")
    suite = manifest.model_copy(update={"bases": {"musl": base}})
    packages = b"musl-tools gcc binutils libc6-dev"
    install = b"RUN apt-get -qq update && apt-get -qq install -y --no-install-recommends " + packages
    compiled = b"\nCOPY shell.c /shell.c\nRUN musl-gcc -o /usr/bin/bash /shell.c\n"
    context = {"Dockerfile": IDENTITY % b"alpine" + install + compiled, "shell.c": SHELL.encode()}
    publish(engine, published, base, context)
    monkeypatch.setenv(REGISTRY, published)
    try:
        harness = SandboxHarness(engine, WorkerPlan(ensure_image(engine, suite, ignore), suite))
        try:
            shown = harness.show("the command", world=replace(TINY, base="musl", build=b":", cwd="/")).evidence
        finally:
            harness.close()
        pages = (4 << 30) // 4096
        expected = f"3 the command {int(suite.clock.timestamp())} {pages} /usr/lib/libpin.so\n"
        assert (shown.stdout.data.decode(), shown.stderr.data) == (expected, b"")
    finally:
        for reference in (image_reference(suite), world_base_reference(base)):
            if engine.client.images.list(reference):
                engine.client.images.remove(reference, noprune=True)

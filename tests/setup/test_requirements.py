"""Tests of the pinned requirements: they are complete, have hashes and no addresses, and agree with pyproject.toml."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
GROUPS = PROJECT["dependency-groups"]
DECLARED = {
    "requirements.txt": [*PROJECT["project"]["dependencies"], *GROUPS["build"]],
    "requirements-dev.txt": [*PROJECT["project"]["dependencies"], *GROUPS["build"], *GROUPS["dev"]],
    "requirements-fuzz.txt": GROUPS["fuzz"],
    "requirements-llama.txt": GROUPS["llama"],
    "requirements-embed.txt": GROUPS["embed"],
    "requirements-installer.txt": GROUPS["installer"],
}
FILES = list(DECLARED)


def entries(name: str) -> list[str]:
    """Return each requirement with its hashes as one logical line."""
    text = (ROOT / name).read_text().replace("\\\n", " ")
    return [line for line in text.splitlines() if line and not line.startswith("#")]


def pins(name: str) -> list[Requirement]:
    return [Requirement(entry.split(" --hash=")[0].strip()) for entry in entries(name)]


def names(name: str) -> set[str]:
    return {pin.name for pin in pins(name)}


@pytest.mark.parametrize("name", FILES)
def test_every_pin_is_exact_and_has_hashes(name: str) -> None:
    """Every requirement has an exact version and hashes, so pip installs exactly the resolved packages."""
    for entry in entries(name):
        assert re.match(r"[a-z0-9-]+==[^ ]+ ", entry), entry
        assert re.search(r" --hash=sha256:[0-9a-f]{64}", entry), entry


@pytest.mark.parametrize("name", FILES)
def test_no_address_is_named(name: str) -> None:
    """A requirements file contains no address, because each machine chooses its own package index."""
    assert not re.search(r"://|--(extra-)?index|--find-links| @ ", (ROOT / name).read_text())


@pytest.mark.parametrize("name", FILES)
def test_every_declared_dependency_is_pinned_within_its_bounds(name: str) -> None:
    """Every dependency in pyproject.toml is pinned within its bounds, so `make lock` was run after the last change."""
    pinned: dict[str, list[str]] = {}
    for pin in pins(name):
        pinned.setdefault(canonicalize_name(pin.name), []).append(next(iter(pin.specifier)).version)
    for declared in map(Requirement, DECLARED[name]):
        versions = pinned.get(canonicalize_name(declared.name), [])
        assert versions, f"{declared} is not in {name}; run: make lock"
        assert all(declared.specifier.contains(version) for version in versions), f"{declared} against {versions}"


def test_the_tests_run_on_the_versions_that_are_shipped() -> None:
    """The development requirements contain all shipped requirements with the same versions."""
    shipped, developed = ({str(pin) for pin in pins(name)} for name in FILES[:2])
    assert shipped <= developed


def test_the_fuzzer_is_no_dependency_of_the_quick_tests() -> None:
    """The fuzzer is not a development requirement, because it is large and has no wheel for some machines."""
    developed, fuzzer = names("requirements-dev.txt"), names("requirements-fuzz.txt")
    assert fuzzer == {"atheris"}
    assert not fuzzer & developed


def test_the_server_of_the_long_tests_replaces_no_pinned_version() -> None:
    """The server of llama.cpp is no development requirement. What it shares with the others has the same version."""
    own = {"gguf", "xllamacpp"}
    shared = {(pin.name, str(pin.specifier)) for pin in pins("requirements-llama.txt") if pin.name not in own}
    assert not own & names("requirements-dev.txt")
    assert shared <= {(pin.name, str(pin.specifier)) for pin in pins("requirements-dev.txt")}


def test_the_extra_is_pinned_without_a_framework() -> None:
    """The extra `embed` has the packages of its group. Numpy reads the weights, so nothing else is installed."""
    model = names("requirements-embed.txt")
    assert PROJECT["project"]["optional-dependencies"]["embed"] == GROUPS["embed"]
    assert model == {Requirement(declared).name for declared in GROUPS["embed"]}

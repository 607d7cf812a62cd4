"""Define the declaration of an external suite: its publisher's sources, its licence, and an index of its tasks.

The repository holds the declaration and the index, but none of the suite's texts.
"""

from __future__ import annotations

import re
from typing import Annotated, ClassVar, Literal, Self

from pydantic import AfterValidator, Discriminator, Field, StringConstraints, Tag, model_validator

from evaluator.records.record import Digest, Identifier, Record, Slug, VersionText
from evaluator.records.submissions import Link, ShortText
from evaluator.records.suites import OutputMode


def _git_address(value: str) -> str:
    if not re.fullmatch(r"(?:https?|git|file)://[!-~]{1,500}", value):
        raise ValueError(
            "expected the address of a Git repository that begins with https://, http://, git:// or file://"
        )
    return value


class GitSource(Record):
    """One commit of a Git repository."""

    git: Annotated[str, AfterValidator(_git_address)]
    commit: Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{40}$")]


class PackageSource(Record):
    """One wheel of a Python package index: the package, the version, and the SHA-256 of the wheel's bytes."""

    package: Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$")]
    version: Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9.+!_-]{0,99}$")]
    sha256: Digest


def _kind_of_source(value: object) -> str:
    fields = value if isinstance(value, dict) else vars(value)
    return "package" if "package" in fields else "git"


Source = Annotated[
    Annotated[GitSource, Tag("git")] | Annotated[PackageSource, Tag("package")], Discriminator(_kind_of_source)
]
"""One source of an external suite. The field `package` tells a package from a repository."""


class Attribution(Record):
    """The people who made an external suite, and the paper that describes the suite."""

    authors: Annotated[str, StringConstraints(min_length=1, max_length=500)]
    paper: Annotated[str, StringConstraints(min_length=1, max_length=500)] | None = None
    address: Link


class ExternalSuite(Record):
    """`fixtures/external/<name>.toml`: the declaration of a suite that another publisher made.

    `version` is the version that a submission names, and `earlier_versions` lists older versions that a submission may
    still answer. `licence` is an SPDX expression. `texts` says whether the licence allows the site to show the suite's
    instructions and references. `digest` is the SHA-256 of the list of imported files. The list has the form of
    `sha256sum`: the digest and the name of each file, sorted by name. Every entry of `sources` holds the same files.
    The import uses the first source that answers.

    If `sound_references` is true, the index leaves out each task with a reference that fails, shows nothing or
    needs the network.
    """

    newest_format: ClassVar[int] = 1

    format: Literal[1]
    name: Slug
    title: ShortText
    version: VersionText
    earlier_versions: tuple[VersionText, ...] = ()
    licence: Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9.+-]+(?: (?:AND|OR|WITH) [A-Za-z0-9.+-]+)*$")]
    texts: bool
    digest: Digest
    sound_references: bool = False
    attribution: Attribution
    sources: Annotated[tuple[Source, ...], Field(min_length=1)]


class IndexedTask(Record):
    """One line of `fixtures/external/<name>.tasks.jsonl`: a task of an external suite, without its texts.

    `digest` is the digest of the imported task. `output` and `variants` are the fields of the task that are known only
    after its references were executed. If `left_out` gives a reason, the suite does not contain the task.
    """

    task: Identifier
    digest: Digest
    output: OutputMode
    variants: tuple[Slug, ...] = ()
    left_out: ShortText | None = None

    @model_validator(mode="after")
    def _has_distinct_variants(self) -> Self:
        if len(set(self.variants)) != len(self.variants):
            raise ValueError("variants: expected each variant once")
        return self

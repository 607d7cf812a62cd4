"""Define the files of a suite: its manifest and its tasks. `worlds` defines the files of its worlds."""

from __future__ import annotations

from collections.abc import Collection
from enum import StrEnum
from typing import Annotated, ClassVar, Final, Literal, Self

from pydantic import Field, StringConstraints, model_validator

from evaluator.records.record import (
    Bytes,
    Digest,
    Identifier,
    Record,
    Slug,
    VersionText,
    WholeSecond,
    canonical_json,
    digest_of,
    version_numbers,
)

MAX_INSTRUCTION: Final = 6000
"""The most characters of an instruction."""

MAX_SHORT_INSTRUCTION: Final = 2000
"""The most characters of an instruction before format 7 of suite.toml."""


class Topic(StrEnum):
    """The subject of a task. The board shows accuracy by topic."""

    FILES = "files"
    TEXT = "text"
    SEARCH = "search"
    ARCHIVES = "archives"
    PERMISSIONS = "permissions"
    PROCESSES = "processes"
    SYSTEM = "system"
    SCRIPTS = "scripts"


class Tier(StrEnum):
    """The level of a task: everyday work, advanced work, or work that takes a senior administrator long."""

    EVERYDAY = "everyday"
    ADVANCED = "advanced"
    EXPERT = "expert"


class OutputMode(StrEnum):
    """The way in which the standard output of a command is compared with a reference's output."""

    EXACT = "exact"
    LINES = "lines"
    SET = "set"
    NONE = "none"


class Observation(StrEnum):
    """An aspect of a run that a task may compare in addition to standard output and file changes."""

    EXIT = "exit"
    STDERR = "stderr"
    SHELL = "shell"
    PROCESSES = "processes"
    MTIME = "mtime"


class Instructions(StrEnum):
    """The precision of a task's instruction, which decides the rules of the judge.

    A precise instruction determines the behaviour. An open instruction leaves several right behaviours, so a reference
    is an example of a right command, and may be wrong itself.
    """

    PRECISE = "precise"
    OPEN = "open"


class Limits(Record):
    """The resources that one command may use in one variant of a world. The wall time limit is ten times `cpu_s`."""

    cpu_s: Annotated[float, Field(gt=0, le=60)] = 2.0
    memory_mb: Annotated[int, Field(ge=64, le=4096)] = 512
    processes: Annotated[int, Field(ge=16, le=4096)] = 256
    disk_mb: Annotated[int, Field(ge=1, le=1024)] = 64
    inodes: Annotated[int, Field(ge=100, le=1_000_000)] = 30_000
    output_kb: Annotated[int, Field(ge=1, le=1024)] = 256

    @property
    def wall_s(self) -> float:
        """Return the wall time limit in seconds. It is so high that a busy machine does not cause timeouts."""
        return 10 * self.cpu_s


class Base(Record):
    """The root file system of a task: a distribution's release, and packages in addition to the essential packages.

    For Debian, `release` is a code name. For other distributions, it is the tag of the image in the image registry.
    """

    distribution: Literal["debian", "ubuntu", "fedora", "alpine"] = "debian"
    release: Annotated[str, StringConstraints(pattern=r"^[a-z0-9][a-z0-9.-]{0,63}$")] = "trixie"
    packages: tuple[Annotated[str, StringConstraints(pattern=r"^[a-z0-9][a-z0-9+.-]+$")], ...] = ()

    @property
    def image(self) -> str:
        """Return the name and tag of the distribution's image in the image registry."""
        return f"{self.distribution}:{self.release}{'-slim' if self.distribution == 'debian' else ''}"

    def __str__(self) -> str:
        """Return the distribution and the release, such as "debian trixie"."""
        return f"{self.distribution} {self.release}"


class TimeLine(Record):
    """The estimate of a person's time for a task: `constant_s` + `size_s` · size, in seconds.

    The size of a task is the number of tokens of its shortest reference plus a twelfth of the number of words of its
    instruction. `measured_tasks` is the number of tasks with measured times to which `bashboard study fit` fitted the
    line. It is 0 for a line that was never fitted.
    """

    constant_s: Annotated[float, Field(ge=0, le=600)] = 7.0
    size_s: Annotated[float, Field(gt=0, le=60)] = 3.0
    measured_tasks: Annotated[int, Field(ge=0)] = 0


class SuiteSource(Record):
    """The origin of an external suite: the publisher's name and version for the suite, and the licence.

    `digest` is the digest of the suite's source file, if there was only one file.
    """

    name: Annotated[str, StringConstraints(min_length=1, max_length=200)]
    version: Annotated[str, StringConstraints(min_length=1, max_length=100)]
    licence: Annotated[str, StringConstraints(min_length=1, max_length=200)]
    digest: Digest | None = None


class SuiteManifest(Record):
    """`suite.toml`: a named, versioned set of tasks and worlds, and the environment in which commands run.

    `earlier_versions` lists older versions that a submission may still answer. `foreign` is true for an external suite
    that `bashboard suite add` made on this machine. Its content comes from another publisher, so the project must not
    publish the content. The rules for the project's own suites produce only warnings for an external suite.

    Format 2 added `foreign` and `source`. Format 3 added `since` of a task and the number of measurements of a timing.
    Format 4 added `variants` of a task. Format 5 added `instructions`, the precision of the tasks' instructions.
    Format 6 added `driver` and `answer` of a task, and `bases`: further base images, by the name that a world's `base`
    gives. If no image registry has such an image, its worlds use the suite's base instead.
    Format 7 added `tier` of a task, instructions of more than 2,000 characters, `human_time`, the estimate of a
    person's time for tasks without a measured time, and `canary`, a random identifier that stands beside the tasks
    wherever they are shown, so that a training corpus with the tasks can be recognised by it.
    Format 8 added `wall_s` of a task, and `moved`: suites with tasks that this suite had before a version. It maps the
    name of each such suite to this version.
    """

    newest_format: ClassVar[int] = 8

    format: Literal[1, 2, 3, 4, 5, 6, 7, 8]
    name: Slug
    version: VersionText
    earlier_versions: tuple[VersionText, ...] = ()
    title: str
    description: str
    shell: Literal["bash"] = "bash"
    base: Base
    limits: Limits = Limits()
    clock: WholeSecond
    environment: dict[Annotated[str, StringConstraints(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")], str]
    user: str = "root"
    cwd: str
    scratch: tuple[str, ...] = ("/tmp", "/var/tmp", "~/.cache")  # noqa: S108 - paths inside a task's world
    foreign: bool = False
    source: SuiteSource | None = None
    instructions: Instructions = Instructions.PRECISE
    bases: Annotated[dict[Slug, Base], Field(max_length=8)] = Field(default_factory=dict)
    human_time: TimeLine = TimeLine()
    canary: Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$")] | None = None
    moved: dict[Slug, VersionText] = Field(default_factory=dict)

    def mark_missing_bases(self, digest: str, missing: Collection[str]) -> str:
        """Return a fingerprint: a digest whose last two digits name the further bases that an image lacks.

        Each bit of the two digits is a base of `bases`, in the order of their names. So a fingerprint alone tells on
        which worlds commands ran on the suite's base instead. A suite without further bases keeps the digest.
        """
        if not self.bases:
            return digest
        bits = sum(1 << index for index, name in enumerate(sorted(self.bases)) if name in missing)
        return f"{digest[:-2]}{bits:02x}"

    def missing_bases(self, fingerprint: str) -> tuple[str, ...]:
        """Return the names of the further bases that the image with this fingerprint lacks."""
        bits = int(fingerprint[-2:] or "0", 16)
        return tuple(name for index, name in enumerate(sorted(self.bases)) if bits >> index & 1)

    def replaced_bases(self, fingerprint: str) -> str:
        """Return the further bases that the suite's base replaces in an image, as the end of a phrase, or nothing."""
        missing = ", ".join(str(self.bases[name]) for name in self.missing_bases(fingerprint))
        return f" instead of {missing}" if missing else ""

    @model_validator(mode="after")
    def _bases_need_format_6(self) -> Self:
        if self.bases and self.format < 6:
            raise ValueError(f"bases: expected format = 6 or higher, found {self.format}")
        if self.base.distribution != "debian" or not self.base.release.isalpha():
            raise ValueError(
                f"base: expected a release of Debian, such as trixie, found {self.base}; declare other distributions "
                "in [bases.NAME], and name them in world.toml"
            )
        return self

    @model_validator(mode="after")
    def _moved_needs_format_8(self) -> Self:
        if self.moved and self.format < 8:
            raise ValueError(f"moved: expected format = 8 or higher, found {self.format}")
        return self

    @model_validator(mode="after")
    def _foreign_has_source(self) -> Self:
        if self.foreign and self.format < 2:
            raise ValueError(f"foreign: expected format = 2 or higher, found {self.format}")
        if self.foreign is not (self.source is not None):
            raise ValueError("foreign and [source] belong together: expected both or neither")
        if self.instructions is Instructions.OPEN and self.format < 5:
            raise ValueError(f"instructions: expected format = 5 or higher, found {self.format}")
        return self


class Timing(Record):
    """The time that a person takes for the task, in seconds, and its source.

    An empirical time is the median of `measurements` measurements. An estimated time has no measurements.
    """

    human_s: Annotated[float, Field(gt=0, allow_inf_nan=False)]
    provenance: Literal["empirical", "estimated"]
    measurements: Annotated[int, Field(ge=1)] | None = None

    @model_validator(mode="after")
    def _estimates_rest_on_none(self) -> Self:
        if self.measurements is not None and self.provenance == "estimated":
            raise ValueError("measurements: expected none for an estimated time")
        return self


class Task(Record):
    """One line of `tasks/<topic>.jsonl`: an instruction with its references.

    Outputs of one reference may differ between runs only if `volatile` gives a reason. `text_files` lists files that
    are compared in the same way as standard output. `since` is the suite version that added or reworded the task, or
    None for the suite's first version. A submission that answers an earlier version is not asked the task. `tier` is
    the task's level, in a suite with tiers. `variants` lists the variants of the world in which the task runs. If the
    list is empty, the task runs in all variants. `wall_s` is the limit of wall-clock time in seconds, derived from the
    slowest reference. Without it, the limit is that of the suite.

    A task with a `driver` asks for a script. The runner writes the candidate to the path `answer` and executes the
    driver, which calls the script: several times, with arguments, sourced, as another user or in another directory.
    The output, exit status and changes of the task are those of the driver.
    """

    id: Identifier
    tier: Tier | None = None
    nl: Annotated[str, StringConstraints(min_length=1, max_length=MAX_INSTRUCTION)]
    references: Annotated[tuple[Bytes, ...], Field(min_length=1)]
    near_misses: tuple[Bytes, ...] = ()
    world: Identifier
    output: OutputMode
    observe: tuple[Observation, ...] = ()
    topic: Topic
    difficulty: Annotated[int, Field(ge=1, le=5)]
    setup: Bytes | None = None
    verify: Bytes | None = None
    driver: Bytes | None = None
    answer: Annotated[str, StringConstraints(pattern=r"^(/[^/\x00]+)+$", max_length=200)] | None = None
    text_files: tuple[str, ...] = ()
    timing: Timing | None = None
    volatile: str | None = None
    since: VersionText | None = None
    variants: tuple[Slug, ...] = ()
    wall_s: Literal[10, 20, 30] | None = None

    @model_validator(mode="after")
    def _driver_calls_an_answer(self) -> Self:
        if (self.driver is None) is not (self.answer is None):
            raise ValueError("driver and answer belong together: expected both or neither")
        if self.answer is not None and {".", ".."} & set(self.answer.split("/")):
            raise ValueError(f"answer: expected a path without . and .., found {self.answer}")
        return self

    def is_asked_of(self, version: str) -> bool:
        """Return whether the task is asked of a submission that answers this version of the suite."""
        return self.since is None or version_numbers(self.since) <= version_numbers(version)

    @property
    def digest(self) -> str:
        """Return the digest by which adjudications name the task. A reworded task has another digest."""
        excluded = {"timing", "difficulty", "topic", "since", "variants", "tier", "wall_s"}
        return digest_of(canonical_json(self.model_dump(mode="json", exclude=excluded, exclude_defaults=True)))

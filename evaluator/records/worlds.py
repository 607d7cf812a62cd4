"""Define the file of a world: its variants, and what an edition of the suite replaces in it."""

from __future__ import annotations

from typing import Annotated, ClassVar, Final, Literal, Self

from pydantic import Field, StringConstraints, model_validator

from evaluator.records.record import Record, Slug, WholeSecond


class Variant(Record):
    """One variant of a world: the variant's name, and the seed that the world's `build.sh` gets as `$SEED`.

    The world's `build.sh` gets `like` as `$VARIANT`, or the variant's name if there is no `like`. `clock` is the time
    at which commands start in this variant. Without `clock` it is the suite's clock.

    A contested variant holds objects for which an open instruction does not say whether they count: links, hidden
    files, deeper folders, names with blanks. Two right commands may differ there.
    """

    name: Slug
    seed: int
    contested: bool = False
    like: Slug | None = None
    clock: WholeSecond | None = None


MAX_NAMES: Final = 70
"""The most names of a world that an edition replaces: each gets another beginning, so that their order stays."""

ReplaceableName = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9]{2,31}$")]
HiddenPath = Annotated[str, StringConstraints(pattern=r"^(/[A-Za-z0-9._+-]+)+$", max_length=200)]
ReplaceableNumber = Annotated[str, StringConstraints(pattern=r"^[1-9][0-9]{0,8}$")]


class WorldManifest(Record):
    """The content of `world.toml`, which describes the files of a world. Each variant is one version of them.

    The first variant is the world as its author published it. `base` names one of the bases of `suite.toml`. Without
    `base`, the world uses the suite's base.

    `fresh` names the variant that a new variant with a fresh seed is like. A world without `fresh` gets none.
    `names` lists the words that an edition of the suite replaces in the world and in its tasks. `numbers` maps the
    numbers that an edition replaces to the range from which the edition draws another number.

    `hidden` lists paths that commands do not see, such as a program that a package needs and answers must not use. The
    world's `build.sh` sees them.

    `order` lists all variants in the order in which commands run in them. The variant that shows most errors comes
    first, because a command that fails there does not run in the others. Without `order`, it is that of `variants`.

    Format 2 added `contested` of a variant. Format 3 added `base`. Format 4 added `hidden`, `fresh`, `names`,
    `numbers`, and `like` and `clock` of a variant. Format 5 added `order`.
    """

    newest_format: ClassVar[int] = 5

    format: Literal[1, 2, 3, 4, 5]
    title: str
    variants: Annotated[tuple[Variant, ...], Field(min_length=1)]
    cwd: str | None = None
    user: str | None = None
    base: Slug | None = None
    hidden: Annotated[tuple[HiddenPath, ...], Field(max_length=100)] = ()
    fresh: Slug | None = None
    names: Annotated[tuple[ReplaceableName, ...], Field(max_length=MAX_NAMES)] = ()
    numbers: dict[ReplaceableNumber, tuple[int, int]] = Field(default_factory=dict)
    order: tuple[Slug, ...] = ()

    @property
    def execution_order(self) -> tuple[str, ...]:
        """Return the names of all variants in the order in which commands run in them."""
        names = tuple(variant.name for variant in self.variants)
        return (*self.order, *(name for name in names if name not in self.order)) if self.order else names

    @model_validator(mode="after")
    def _order_names_variants(self) -> Self:
        if self.order and self.format < 5:
            raise ValueError(f"order: expected format = 5 or higher, found {self.format}")
        own = {variant.name for variant in self.variants}
        if unknown := sorted(set(self.order) - own):
            raise ValueError(f"order: expected names of variants, found {', '.join(unknown)}")
        if len(set(self.order)) < len(self.order):
            raise ValueError("order: expected each variant once")
        return self

    @model_validator(mode="after")
    def _editions_need_format_4(self) -> Self:
        fields = {"fresh": self.fresh, "names": self.names, "numbers": self.numbers, "hidden": self.hidden}
        fields |= {
            f"variants.{name}": next((value for each in self.variants if (value := getattr(each, name))), None)
            for name in ("like", "clock")
        }
        new = next((name for name, value in fields.items() if value), None)
        if self.format < 4 and new is not None:
            raise ValueError(f"{new}: expected format = 4 or higher, found {self.format}")
        return self

    @model_validator(mode="after")
    def _hidden_paths_are_plain(self) -> Self:
        if any({".", ".."} & set(path.split("/")) for path in self.hidden):
            raise ValueError("hidden: expected paths without . and ..")
        return self

    @model_validator(mode="after")
    def _fresh_is_like_a_variant(self) -> Self:
        own = {variant.name for variant in self.variants}
        for field, name in (("fresh", self.fresh), *(("variants.like", variant.like) for variant in self.variants)):
            if name is not None and name not in own:
                raise ValueError(f"{field}: expected one of {', '.join(sorted(own))}, found {name}")
        return self

    @model_validator(mode="after")
    def _replaced_words_are_distinct(self) -> Self:
        twice = sorted(name for name in set(self.names) if self.names.count(name) > 1)
        if twice:
            raise ValueError(f"names: expected each name once, found {', '.join(twice)} twice")
        for number, (low, high) in self.numbers.items():
            if not low <= int(number) <= high or low == high:
                raise ValueError(f"numbers.{number}: expected a range around {number}, found {low} to {high}")
        return self

    @model_validator(mode="after")
    def _base_needs_format_3(self) -> Self:
        if self.base is not None and self.format < 3:
            raise ValueError(f"base: expected format = 3 or higher, found {self.format}")
        return self

    @model_validator(mode="after")
    def _contested_needs_format_2(self) -> Self:
        if self.format < 2 and any(variant.contested for variant in self.variants):
            raise ValueError(f"variants.contested: expected format = 2 or higher, found {self.format}")
        if self.variants[0].contested:
            raise ValueError("variants: expected an uncontested first variant, because it is the published world")
        return self

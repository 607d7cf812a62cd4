"""Define the record of the owners of submission names. An owner is the GitHub account that first used the name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import Field

from evaluator.records.record import Record, Slug

AccountId = Annotated[int, Field(gt=0, strict=True)]
"""The numeric id of a GitHub account."""


class Owners(Record):
    """`submissions/owners.json`: the numeric id of the GitHub account that owns each submission's name.

    None means that the project owns the name. The publish workflow adds a name when the first submission with this name
    is merged. If a submission is withdrawn, its name stays with the owner.
    """

    format: Literal[1]
    owners: Mapping[Slug, AccountId | None]

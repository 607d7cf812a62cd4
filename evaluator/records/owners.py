"""Whose a submission's name is: the account that offered it first, by the number that stays when it is renamed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import Field

from evaluator.records.record import Record, Slug

AccountId = Annotated[int, Field(gt=0, strict=True)]
"""The numeric id of a GitHub account."""


class Owners(Record):
    """`submissions/owners.json`: the numeric GitHub account that each submission's name belongs to.

    None is the project's own. The publish workflow adds a name when it is merged first; a name that is withdrawn
    stays its owner's.
    """

    format: Literal[1]
    owners: Mapping[Slug, AccountId | None]

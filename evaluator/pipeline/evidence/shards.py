"""Shares of the work, so that several machines do all of it between them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final, NamedTuple

from evaluator.errors import UsageError

_FORM: Final = re.compile(r"([0-9]{1,4})/([0-9]{1,4})")


class Shard(NamedTuple):
    """The `number`-th of `shards` parts, from 1 on."""

    number: int
    shards: int

    @classmethod
    def parse(cls, text: str) -> Shard:
        """What `2/5` means. Raises UsageError."""
        found = _FORM.fullmatch(text)
        number, shards = map(int, found.groups()) if found else (0, 0)
        if not 1 <= number <= shards:
            raise UsageError(f"--shard {text}: expected i/n with i from 1 to n, such as 2/5")
        return cls(number, shards)

    def of(self, slugs: Iterable[str]) -> list[str]:
        """This part of the names, sorted. For the same names the parts have no name in common and leave none out."""
        return sorted(set(slugs))[self.number - 1 :: self.shards]

"""Facts about a build of the site that no board states: its address, its source, its commit, and what changed."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from evaluator.records import BoardChange

SHORT: Final = 7
"""Digits of a commit that a page shows."""


@dataclass(frozen=True, slots=True)
class SiteFacts:
    """The facts of one build.

    `address` is the site's address with a slash at its end, and `source` the repository's, each empty if it is unknown.
    `commit` and `time` are those of the commit that the site is built from. Without Git they are None. `modified` tells
    if files differ from the commit. `changes` has the newest changes of all boards, the latest first, and `complete`
    tells if the earlier ones are known too.
    """

    address: str = ""
    source: str = ""
    commit: str | None = None
    time: datetime | None = None
    modified: bool = False
    changes: tuple[BoardChange, ...] = ()
    complete: bool = True

    @property
    def day(self) -> str:
        """Return the day of the commit, such as 2026-11-23, or an empty text."""
        return self.time.strftime("%Y-%m-%d") if self.time else ""

    def commit_address(self, commit: str | None) -> str:
        """Return the address of a commit in the repository, or an empty text if the repository is unknown."""
        return f"{self.source}/commit/{commit}" if self.source and commit else ""

    def as_json(self, **others: str) -> str:
        """Return the facts for the theme's templates, and the seconds of the commit for MkDocs."""
        values = {
            "address": self.address,
            "source": self.source,
            "commit": (self.commit or "")[:SHORT],
            "commit_address": self.commit_address(self.commit),
            "day": self.day,
            "modified": self.modified,
            "seconds": int(self.time.timestamp()) if self.time else 0,
            **others,
        }
        return json.dumps(values, sort_keys=True) + "\n"

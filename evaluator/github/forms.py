"""Addresses of the repository's issue forms, with fields filled in: GitHub takes a field's value by its id."""

from __future__ import annotations

import re
from typing import Final
from urllib.parse import urlencode

APPEAL_FORM: Final = "appeal.yml"
"""The form's file in `.github/ISSUE_TEMPLATE/`."""


def appeal_address(
    server: str,
    repository: str,
    *,
    submission: str | None = None,
    suite: str | None = None,
    task: str | None = None,
    rank: int | None = None,
) -> str:
    """Where a verdict is appealed: the form, with what is known filled in.

    `server` is such as `https://github.com`, `repository` is `owner/name`. Raises ValueError where either is none.

    >>> appeal_address("https://github.com", "a/b", submission="mine", suite="core", task="text-001", rank=1)
    'https://github.com/a/b/issues/new?template=appeal.yml&submission=mine&suite=core&task=text-001&rank=1'
    """
    if not re.fullmatch(r"https?://[\w.:-]+", server, re.ASCII):
        raise ValueError(f"{server!r} is no server's address: expected one such as https://github.com")
    if not re.fullmatch(r"[\w.-]+/[\w.-]+", repository, re.ASCII):
        raise ValueError(f"{repository!r} is no repository: expected owner/name")
    fields = {"submission": submission, "suite": suite, "task": task, "rank": rank}
    known = {name: str(value) for name, value in fields.items() if value is not None}
    return f"{server}/{repository}/issues/new?{urlencode({'template': APPEAL_FORM, **known})}"


def split_address(address: str) -> tuple[str, str] | None:
    """Server and repository of a repository's web address; None where it is no such address.

    >>> split_address("https://github.com/owner/name.git"), split_address("")
    (('https://github.com', 'owner/name'), None)
    """
    found = re.fullmatch(r"(https?://[\w.:-]+)/([\w.-]+/[\w.-]+?)(?:\.git)?/?", address, re.ASCII)
    return (found[1], found[2]) if found else None

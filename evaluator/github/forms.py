"""Build web addresses that open an issue form. Each query parameter has the id and the initial value of one field."""

from __future__ import annotations

import re
from typing import Final
from urllib.parse import urlencode

APPEAL_FORM: Final = "appeal.yml"
"""The file name of the form in `.github/ISSUE_TEMPLATE/`."""


def appeal_address(
    server: str,
    repository: str,
    *,
    submission: str | None = None,
    suite: str | None = None,
    task: str | None = None,
    rank: int | None = None,
) -> str:
    """Return the address of the appeal form with initial values for the given fields.

    `server` is a web address such as `https://github.com`, `repository` is `owner/name`. Raises ValueError if the
    server or the repository is invalid.

    >>> appeal_address("https://github.com", "a/b", submission="mine", suite="core", task="text-001", rank=1)
    'https://github.com/a/b/issues/new?template=appeal.yml&submission=mine&suite=core&task=text-001&rank=1'
    """
    if not re.fullmatch(r"https?://[\w.:-]+", server, re.ASCII):
        raise ValueError(f"{server!r} is not a server's address: expected one such as https://github.com")
    if not re.fullmatch(r"[\w.-]+/[\w.-]+", repository, re.ASCII):
        raise ValueError(f"{repository!r} is not a repository: expected owner/name")
    fields = {"submission": submission, "suite": suite, "task": task, "rank": rank}
    known = {name: str(value) for name, value in fields.items() if value is not None}
    return f"{server}/{repository}/issues/new?{urlencode({'template': APPEAL_FORM, **known})}"


def split_address(address: str) -> tuple[str, str] | None:
    """Split a repository's web address into server and `owner/name`. Return None for any other address.

    >>> split_address("https://github.com/owner/name.git"), split_address("")
    (('https://github.com', 'owner/name'), None)
    """
    match = re.fullmatch(r"(https?://[\w.:-]+)/([\w.-]+/[\w.-]+?)(?:\.git)?/?", address, re.ASCII)
    return (match[1], match[2]) if match else None

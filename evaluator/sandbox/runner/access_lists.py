"""Read the POSIX access control lists (ACLs) of a path. They give rights that the mode of the path does not show.

A directory has two lists: its own one, and a default one for new files in it. The kernel stores both as extended
attributes. The usual entries (owner, group, others) of a path's own list are in the mode, so such a list needs no
attribute.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Mapping
from typing import Any, Final

AccessLists = dict[str, str]
"""The lists that a path has, by field of the evidence: `acl` and `default_acl`."""

_FIELDS: Final = {"system.posix_acl_access": "acl", "system.posix_acl_default": "default_acl"}
_VERSION: Final = struct.pack("<I", 2)
_ENTRY: Final = struct.Struct("<HHI")
_TAGS: Final = {1: "user:", 2: "user", 4: "group:", 8: "group", 16: "mask:", 32: "other:"}
_NAMED: Final = (2, 8)
MAX_ENTRIES: Final = 1000
"""The most entries of a list that are recorded. A longer list ends with `...`."""


def access_lists(directory: int, name: bytes) -> AccessLists:
    """Return the lists of the entry `name` in an open directory. A link has none."""
    path = b"/proc/self/fd/%d/%s" % (directory, name)
    try:
        names = [name for name in os.listxattr(path, follow_symlinks=False) if name in _FIELDS]
        return {_FIELDS[name]: list_text(os.getxattr(path, name, follow_symlinks=False)) for name in names}
    except OSError:  # the file system has no extended attributes, or the entry has too many
        return {}


def lists_in(details: Mapping[str, Any]) -> AccessLists:
    """Return the lists among the fields of a path."""
    return {name: details[name] for name in _FIELDS.values() if name in details}


def list_text(value: bytes) -> str:
    """Return a list as text, with entries such as `user:1000:r-x` or `mask::rwx`.

    >>> list_text(_VERSION + _ENTRY.pack(2, 5, 1000) + _ENTRY.pack(16, 7, 0xFFFFFFFF))
    'user:1000:r-x,mask::rwx'
    """
    if not value.startswith(_VERSION) or (len(value) - len(_VERSION)) % _ENTRY.size:
        return value.hex()
    entries = list(_ENTRY.iter_unpack(value[len(_VERSION) :]))
    texts = [
        f"{_TAGS.get(tag, f'{tag}:')}{f':{number}' if tag in _NAMED else ''}:{_rights(rights)}"
        for tag, rights, number in entries[:MAX_ENTRIES]
    ]
    return ",".join([*texts, *(["..."] if len(entries) > MAX_ENTRIES else [])])


def _rights(bits: int) -> str:
    return "".join(letter if bits & mask else "-" for letter, mask in (("r", 4), ("w", 2), ("x", 1)))

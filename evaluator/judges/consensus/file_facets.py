"""Define the properties of a path that the judge compares."""

from __future__ import annotations

from evaluator.judges.consensus.effects import Facet


class FileFacet(Facet):
    """The compared properties of a path, in the order in which differences are reported."""

    KIND = 0
    TARGET = 1
    CONTENT = 2
    PACKING = 3
    MEMBER = 4
    MODE = 5
    OWNER = 6
    MTIME = 7
    ACL = 8
    LINKS = 9
    MEMBER_OWNER = 10
    MEMBER_TIME = 11
    MEMBER_ORDER = 12
    AFTER_END = 13
    SET_TIME = 14

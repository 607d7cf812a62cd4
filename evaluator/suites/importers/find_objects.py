"""This module derives, from a `find` command, objects that satisfy the command's predicates.

The objects make the command print something, if it can. Predicates that no file can satisfy by design, such as `-inum`
and `-fstype`, are ignored. The derived shell lines call the functions in `FIND_FUNCTIONS`.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from evaluator.suites.importers.file_modes import example_mode
from evaluator.suites.importers.find_expression import Alternative, FindPredicate, read_find_expression
from evaluator.suites.importers.regex_example import NoExampleError, regex_example

FIND_FUNCTIONS: Final = """
object() { # kind path size target; an existing object stays, with its own properties
  [ -e "$2" ] || [ -L "$2" ] && return 1
  case $2 in */*) mkdir -p -- "${2%/*}" ;; esac
  case $1 in
  d) mkdir -p -- "$2" ;;
  l) ln -s -- "$4" "$2" ;;
  s) perl -MSocket -e 'socket(S, 1, 1, 0); bind(S, pack_sockaddr_un($ARGV[0]))' "$2" ;;
  b | c) mknod "$2" "$1" 7 99 ;;
  *) echo "$2" > "$2"; [ -z "$3" ] || truncate -s "$3" -- "$2" ;;
  esac
} 2>/dev/null
after() { at=$(date -d "$1" +%s) && echo $(( at + $2 )); } 2>/dev/null
when() { [ -n "$3" ] && touch -h "-$1" -d "@$3" -- "$2"; } 2>/dev/null
"""

ELSEWHERE: Final = "/srv/found"
"""The folder for objects of a search in all folders."""

LARGE: Final = 1 << 20
"""The size in bytes from which a file is large."""

_UNITS: Final = {"c": 1, "w": 2, "b": 512, "": 512, "k": 1024, "M": 1 << 20, "G": 1 << 30}
_NUMBER: Final = re.compile(r"([+-]?)(\d+)([cwbkMG]?)")
_DAY_S: Final = 86_400
_MINUTE_S: Final = 60
_HOURS_S: Final = 4 * 3600
"""The part of a day by which an object is older than whole days. With it, `-daystart` makes no difference."""

_AGES: Final = {
    "-mtime": ("m", _DAY_S),
    "-ctime": ("m", _DAY_S),
    "-mmin": ("m", _MINUTE_S),
    "-cmin": ("m", _MINUTE_S),
    "-atime": ("a", _DAY_S),
    "-amin": ("a", _MINUTE_S),
}
_NEWER: Final = re.compile(r"-newer[aBcm]t")
_BESIDE: Final = frozenset({"-newer", "-anewer", "-cnewer"})
_NAMES: Final = frozenset({"-name", "-iname"})
_PATHS: Final = frozenset({"-path", "-ipath", "-wholename", "-iwholename"})
_REGEXES: Final = frozenset({"-regex", "-iregex"})
_KINDS: Final = frozenset("fdlsbc")
_OWNERS: Final = {"-user": "", "-uid": "", "-nouser": "", "-group": ":", "-gid": ":", "-nogroup": ":"}
_NOBODY: Final = "54321"
"""A number without a user and without a group."""

_EXTENDED: Final = ("posix-e", "egrep", "awk", "gnu-awk", "posix-awk")
_NOT_CREATED: Final = ("/proc", "/sys", "/dev", "/run")
_BRACKETS: Final = re.compile(r"\[([!^]?)([^\]]+)\]")


@dataclass(slots=True)
class _Object:
    """An object to create. A time is an age in seconds, or shell text. `owners` are users and groups, as for chown."""

    number: int
    root: str
    kind: str = "f"
    name: str | None = None
    path: str | None = None
    size: int | None = None
    target: str = "nowhere"
    extended: bool = False
    depth: int = 1
    flat: bool = False
    mode: int | None = None
    links: int = 0
    same: str | None = None
    owners: list[str] = field(default_factory=list)
    times: dict[str, str] = field(default_factory=dict)
    before: list[str] = field(default_factory=list)

    def place(self) -> str:
        """Return the object's path. An object that may be at any depth is in a folder of its own."""
        if self.path is not None:
            return self.path
        name = self.name or f"found{self.number}"
        depth = max(self.depth - 1, 0 if self.flat else 1)
        below = [f"t{self.number}", *(f"level{level}" for level in range(2, depth + 1))][:depth]
        return "/".join([self.root.rstrip("/"), *below, name])


def find_object_lines(command: str, number: int, home: str) -> list[str]:
    """Return shell lines that create an object for each alternative of a `find` command. `number` names the objects."""
    expression = read_find_expression(command)
    if expression is None:
        return []
    lines: list[str] = []
    for index, alternative in enumerate(expression.alternatives):
        made = _object(alternative, expression.roots[0], number * 10 + index, home)
        if made is not None:
            lines += _lines(made)
    return lines


def is_awkward(lines: Sequence[str]) -> bool:
    """Return whether shell lines of this module create an object that a command which reads all files does not expect.

    Such an object is a large file, a link without a target, a socket or a device.
    """
    if any(line.startswith("object ") and line.split()[1] not in ("f", "d") for line in lines):
        return True
    sizes = [size for line in lines if line.startswith("object f ") for size in shlex.split(line)[3:4]]
    return any(size.isdecimal() and int(size) >= LARGE for size in sizes)


def _object(alternative: Alternative, root: str, number: int, home: str) -> _Object | None:
    if any(predicate.name == "-prune" and not predicate.negated for predicate in alternative):
        return None
    start = _start(root, number, home)
    if start.startswith(_NOT_CREATED):
        return None
    made = _Object(number, start)
    try:
        # a pattern of a whole path may leave the last part to the name
        for predicate in sorted(alternative, key=lambda predicate: predicate.name in _PATHS | _REGEXES):
            _apply(predicate, made, root)
    except (NoExampleError, ValueError):
        return None
    return made if _is_possible(made) else None


def _is_possible(made: _Object) -> bool:
    return made.kind in _KINDS and not made.place().startswith(_NOT_CREATED) and len(made.place()) < 200


def _start(root: str, number: int, home: str) -> str:
    if root == "/":
        return ELSEWHERE
    root = home + root[1:] if root.startswith("~") else root
    return example_name(root, number).removesuffix("/.")


def example_name(pattern: str, number: int) -> str:
    """Return a name that matches a pattern of the shell. The number makes the names of different commands differ."""
    plain = _BRACKETS.sub(lambda match: "z" if match[1] else match[2][0], pattern.replace("\\", ""))
    return plain.replace("*", f"m{number}").replace("?", "a")


def _apply(predicate: FindPredicate, made: _Object, root: str) -> None:
    """Change an object so that a predicate holds. Most negated predicates hold without a change."""
    name, value, negated = predicate
    if name in _BESIDE or _NEWER.fullmatch(name):
        _apply_newer(predicate, made)
    elif negated:
        _apply_negated(name, made)
    elif name in _AGES:
        letter, unit = _AGES[name]
        made.times[letter] = _age(value, unit, made.times.get(letter))
    elif name in ("-type", "-xtype"):
        _apply_kind(name, value, made)
    elif name in _NAMES:
        made.name = made.name or example_name(value, made.number).rpartition("/")[2]
    elif name in _PATHS or name in _REGEXES:
        made.path = _whole_path(predicate, made, root)
    else:
        _apply_property(predicate, made, root)


def _apply_negated(name: str, made: _Object) -> None:
    if name == "-empty":
        made.size = made.size or 5
    elif name == "-perm" and made.mode is None:
        made.mode = 0o600


def _apply_kind(name: str, value: str, made: _Object) -> None:
    if name == "-xtype":
        made.target = {"d": ".", "f": "/etc/hostname"}.get(value[:1], made.target)
        made.kind = "l" if value[:1] == "l" else made.kind
    else:
        made.kind = value[:1]


def _apply_property(predicate: FindPredicate, made: _Object, root: str) -> None:
    name, value, _ = predicate
    if name == "-size":
        made.size = _size(value, made.size)
    elif name == "-perm":
        made.mode = example_mode(value, made.mode or 0)
    elif name == "-empty":
        made.size = 0
    elif name in ("-lname", "-ilname"):
        made.kind, made.target = "l", example_name(value, made.number)
    elif name in _OWNERS:
        made.owners.append(_OWNERS[name] + (value.lstrip("+-") or _NOBODY))
    elif name == "-links":
        sign, count = _signed(value)
        made.links = count + (sign == "+") - 1
    elif name == "-samefile":
        made.same = value
    else:
        _apply_option(predicate, made, root)


def _apply_option(predicate: FindPredicate, made: _Object, root: str) -> None:
    name, value, _ = predicate
    if name == "-regextype":
        made.extended = value.startswith(_EXTENDED)
    elif name == "-mindepth":
        made.depth = max(made.depth, int(value))
    elif name == "-maxdepth":
        made.flat = int(value) <= 1
        made.path = made.root if value == "0" and "*" in root else made.path


def _apply_newer(predicate: FindPredicate, made: _Object) -> None:
    """Give an object a time after or before another time. A file that a predicate names gets a fixed time itself."""
    name, value, negated = predicate
    if name in _BESIDE:
        age = _DAY_S if negated else 20 * _DAY_S
        made.before.append(f"object f {shlex.quote(value)}; when m {shlex.quote(value)} $(( CLOCK - {age} ))")
        made.times.setdefault("m", f"$(( CLOCK - {3 * _DAY_S} ))")
    elif not negated or "m" not in made.times:
        letter = "a" if name[-2] == "a" else "m"
        seconds = -3600 if negated else 3600
        made.times[letter] = f'"$(after {shlex.quote(value)} {seconds})"'


def _whole_path(predicate: FindPredicate, made: _Object, root: str) -> str:
    """Return a path that matches the pattern of a predicate on whole paths. Such a path begins with the root."""
    name, value, _ = predicate
    start = next((start for start in (root, root.replace(".", "\\.")) if value.startswith(start)), "")
    inner, before = value[len(start) :], root if start else ""
    if value.startswith((".*", ".+", "*")):
        inner, before = value, f"{made.root.rstrip('/')}/t{made.number}/"
    elif not start:
        raise ValueError(f"no path under {root} matches {value}")
    text = regex_example(inner, extended=made.extended) if name in _REGEXES else example_name(inner, made.number)
    path = before + text
    if made.name and value.endswith("*"):
        path = f"{path.rpartition('/')[0]}/{made.name}"
    return path.rstrip("/")


def _signed(value: str) -> tuple[str, int]:
    match = _NUMBER.fullmatch(value)
    if match is None:
        raise ValueError(f"{value} is not a number")
    return match[1], int(match[2])


def _age(value: str, unit: int, earlier: str | None) -> str:
    """Return a time that satisfies a predicate on an age, as shell text. An earlier predicate decides before `-N`."""
    sign, count = _signed(value)
    if sign == "-" and earlier is not None:
        return earlier
    units = count + (sign == "+") - (sign == "-")
    part = _HOURS_S if unit == _DAY_S else -30
    return f"$(( CLOCK - {max(units * unit + part, 20)} ))"


def _size(value: str, earlier: int | None) -> int | None:
    match = _NUMBER.fullmatch(value)
    if match is None:
        raise ValueError(f"{value} is not a size")
    count, unit = int(match[2]), _UNITS[match[3]]
    if match[1] == "-":
        return earlier if earlier is not None else max(count - 1, 0) * unit
    return (count + (match[1] == "+")) * unit


def _lines(made: _Object) -> Iterator[str]:
    place = shlex.quote(made.place())
    size = "" if made.size is None else str(made.size)
    yield from made.before
    if made.same is not None:
        yield f"object f {shlex.quote(made.same)}"
        yield f"mkdir -p -- {shlex.quote(made.place().rpartition('/')[0])}; ln -- {shlex.quote(made.same)} {place}"
        return
    changes = [f"chown -h {shlex.quote(owner)} -- {place} 2>/dev/null" for owner in made.owners]
    if made.mode is not None:
        changes.append(f"chmod {made.mode:o} -- {place}")
    if made.kind != "d":
        changes += [f"ln -- {place} {place}.link{number}" for number in range(1, min(made.links, 9) + 1)]
    times = [f"when {letter} {place} {time}" for letter, time in sorted(made.times.items())]
    if times and "a" not in made.times:
        times.append(f"when a {place} {made.times['m']}")
    then = "; ".join([*changes, *times]) or ":"
    yield f"object {made.kind} {place} {size or repr('')} {shlex.quote(made.target)} && {{ {then}; }}"

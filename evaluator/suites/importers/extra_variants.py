"""This module adds variants to an imported world. It derives them from the searches of each task's references.

The publisher's world shows whether a command finds the right objects. It rarely shows whether a command finds too many.
Therefore each task gets objects similar to those that its references search for. The publisher's variant stays
unchanged. A task does not run in variants in which its references disagree. Each kind of object has its own variant, so
that a disagreement excludes only one variant:

    near   more objects that match, and lines that nearly match
    missed objects with names that nearly match, inside and outside the folder of the search
    deep   objects that match, in subfolders
    edges  sizes, ages and modes that just satisfy or just violate a predicate, and names with swapped letter case
    kinds  folders and links with matching names
    odd    blanks in names, hidden files, empty lines and files, duplicates, unusual white space

Nothing is derived from candidates or mutants. Existing objects are not replaced. Lines are added only to files that
references name.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from string import ascii_lowercase
from typing import Final

from evaluator.records import Variant
from evaluator.suites.importers.draft import CLOCK, DEFAULT_VARIANTS, CommandReader
from evaluator.suites.importers.search_spec import LARGEST, USUAL_AGE_S, SearchSpec, TaskSearches, task_searches
from evaluator.suites.importers.setup_functions import FUNCTIONS

NEAR: Final = "near"
MISSED: Final = "missed"
DEEP: Final = "deep"
EDGES: Final = "edges"
KINDS: Final = "kinds"
ODD: Final = "odd"
EXTRA_NAMES: Final = (NEAR, MISSED, DEEP, EDGES, KINDS, ODD)
CONTESTED: Final = frozenset({DEEP, KINDS, ODD})
"""The variants with deeper folders, with links and folders, and with hidden files and names with blanks."""

VARIANTS: Final = (
    *DEFAULT_VARIANTS,
    *(Variant(name=name, seed=1, contested=name in CONTESTED) for name in EXTRA_NAMES),
)
"""All variants of an extended world, the publisher's first."""

_BRACKETS: Final = re.compile(r"\[([!^]?)([^\]]+)\]")
_MOST_PATTERNS: Final = 4
_SIZES: Final = (900, 1100, 10_300, 2_100_000)
"""Sizes in bytes that sort differently as text, as numbers, and in human-readable units."""

_BULKS: Final = (("big", 9000), ("bigger", 40_000), ("biggest", 120_000))
"""Names and sizes in bytes of files that occupy disk blocks, for references that print disk usage."""

_PLAIN_LINES: Final = ("10 ten x", "9 nine y", "zeta,b,c", "k:v:w", "zeta,b,c", "1 a/b/c.d")


def extra_setup(references: Sequence[bytes], read: CommandReader) -> bytes | None:
    """Return the set-up that creates a task's extra objects, or None if its references search for nothing.

    The set-up does nothing in the publisher's own variant of the world.
    """
    searches = task_searches(references, read)
    quoted = b"\n".join(references).decode(errors="replace")
    cases = {name: [*_searched(name, searches, quoted), *_added(name, searches)] for name in EXTRA_NAMES}
    cases = {name: lines for name, lines in cases.items() if lines}
    if not cases:
        return None
    head = f"{FUNCTIONS}CLOCK={int(CLOCK.timestamp())} start=$PWD\n"
    blocks = [f"{name})\n" + "\n".join(lines) + "\n;;" for name, lines in cases.items()]
    return f"{head}case $VARIANT in\n{chr(10).join(blocks)}\nesac 2>/dev/null\nexit 0\n".encode()


def variants_with_objects(setup: bytes | None) -> tuple[str, ...]:
    """Return the name of the publisher's variant, and of every extra variant in which `setup` creates objects."""
    text = setup.decode() if setup else ""
    return (DEFAULT_VARIANTS[0].name, *(name for name in EXTRA_NAMES if f"\n{name})\n" in text))


def _searched(name: str, searches: TaskSearches, text: str) -> Iterator[str]:
    makers = {NEAR: _near, MISSED: _missed, DEEP: _deep, EDGES: _edges, KINDS: _kinds, ODD: _odd}
    for search in searches.searches:
        lines = list(makers[name](search, searches, text))
        if not lines:
            continue
        for root in search.roots:
            yield f"if [ -d {shlex.quote(root)} ] && cd {shlex.quote(root)}; then made=()"
            yield from lines
            yield from _finish(search, sized=name != EDGES)
            yield 'fi; cd "$start"'


def _finish(search: SearchSpec, *, sized: bool) -> Iterator[str]:
    """Yield shell commands that give new objects the mode and age of a search. If `sized`, they also set the size."""
    if search.size is not None and sized:
        yield f'for one in "${{made[@]}}"; do [ -f "$one" ] && truncate -s {search.size} -- "$one"; done'
    if search.modes:
        yield f"all chmod {search.modes[0]:o} --"
    yield f"all dated {search.age_s}; packed; all dated {search.age_s}; spread"
    yield f"dated {USUAL_AGE_S} ."


def _named(pattern: str, star: str) -> str:
    """Return a name that matches a pattern. `star` replaces each `*`. A pattern with folders gives a relative path."""
    plain = _BRACKETS.sub(lambda match: "z" if match[1] else match[2][0], pattern.replace("\\", ""))
    star = f"{star}.txt" if pattern == "*" else star
    return plain.replace("*", star).replace("?", "a").removeprefix("./").lstrip("/") or star


def _patterns(search: SearchSpec) -> tuple[str, ...]:
    return search.patterns[:_MOST_PATTERNS] or ("*",)


def _put(search: SearchSpec, path: str, text: str) -> str:
    path = shlex.quote(path)
    if search.kind == "d":
        return f"folder {path}"
    return f"link . {path}" if search.kind == "l" else f"put {path} {shlex.quote(text)}"


def _lines(lines: Iterable[str]) -> str:
    return "".join(f"{line}\n" for line in lines)


def _near_words(words: Sequence[str]) -> list[str]:
    """Return lines with each word, and lines with a slightly longer or shorter word."""
    lines = []
    for word in words:
        lines += [f"{word} {word} and {word}", f"x{word}y", word[1:], word[:-1], f"pre {word}", f"{word} post"]
    return lines


def _near(search: SearchSpec, searches: TaskSearches, text: str) -> Iterator[str]:
    for pattern in _patterns(search):
        for letter, content in zip(ascii_lowercase, _texts(searches), strict=False):
            yield _put(search, _named(pattern, f"alt{letter}"), content)
    if len(search.roots) > 1:
        yield 'put differing.txt "$PWD"; put same.txt same'
    if search.disk:
        yield from (f"bulky {_named(_patterns(search)[0], name)} {size}" for name, size in _BULKS)
    if not search.ages:
        yield "spread=700"


def _missed(search: SearchSpec, searches: TaskSearches, text: str) -> Iterator[str]:
    one = _lines((*searches.words[:1], *_PLAIN_LINES)[:1])
    for pattern in _patterns(search):
        for miss in _misses(pattern):
            yield _put(search, miss, one)
        if search.patterns or len(search.roots) == 1:
            yield _put(search, f"../beside/{_named(pattern, 'alt')}", one)
        if _is_quoted(pattern, text):
            here = (_put(search, _named(pattern, star), one) for star in ("here", "there"))
            yield f'( cd "$start"; {"; ".join(here)} )'


def _texts(searches: TaskSearches) -> list[str]:
    return [*(f"{line}\n" for line in _near_words(searches.words[:2])), *map(_rows, (1, 2, 9, 10, 11))]


def _is_quoted(pattern: str, text: str) -> bool:
    """Return whether a pattern is quoted everywhere in a text, so that Bash does not expand it to file names."""
    plain = re.escape(pattern)
    quoted = re.findall(rf"['\"]{plain}['\"]", text)
    anywhere = re.findall(rf"(?<![\w*/]){plain}(?![\w*])", text)
    return "*" in pattern and "/" not in pattern and 0 < len(quoted) == len(anywhere)


def _deep(search: SearchSpec, searches: TaskSearches, text: str) -> Iterator[str]:
    full = _lines([*_near_words(searches.words), *_PLAIN_LINES])
    for pattern in _patterns(search):
        for letter, content in zip(ascii_lowercase, _texts(searches), strict=False):
            yield _put(search, f"in_{letter}/{_named(pattern, 'one')}", content)
        for folder in ("s1/s2", "s1/s2/s3", "s1/s2/s3/s4"):
            yield _put(search, f"{folder}/{_named(pattern, 'deep')}", full)
    if not search.ages:
        yield "spread=700"


def _misses(pattern: str) -> Iterator[str]:
    """Yield names that nearly match a pattern. For example, they have an additional ending or swapped letter case."""
    name = _named(pattern, "miss")
    if pattern == "*":
        return
    yield f"{name}.bak"
    folder, slash, last = name.rpartition("/")
    yield f"{folder}{slash}{last.swapcase()}"
    stem, dot, ending = last.rpartition(".")
    yield f"{folder}{slash}{stem.swapcase()}{dot}{ending}"
    if not pattern.startswith("*"):
        yield f"{folder}{slash}x{last}"
    if "*." in pattern:
        yield _named(pattern.replace("*.", "*"), "miss")
    if "." in name:
        yield name.rpartition(".")[0] + ".zzz"


def _rows(count: int) -> str:
    """Return `count` different lines that begin with numbers. `sort` and `sort -n` order these lines differently."""
    return _lines(f"{(row * 7) % 13} row{row % 3} {row * count}" for row in range(count))


def _edges(search: SearchSpec, searches: TaskSearches, text: str) -> Iterator[str]:
    pattern = _patterns(search)[0]
    size = "" if search.size is None else search.size

    def path(number: int, mark: str) -> str:
        name = _named(pattern, f"{mark}{number}")
        return shlex.quote(name if "*" in pattern else f"{mark}{number}/{name}")

    sizes = dict.fromkeys(edge for bound in search.sizes for edge in bound.edges() if edge <= LARGEST)
    for number, edge in enumerate((*sizes, *_SIZES)):
        yield f"sized {path(number, 'size')} {edge}"
    if search.kind == "f":
        yield f"text={shlex.quote(_lines(searches.words or _PLAIN_LINES[:1]))}; owned {path(0, 'owned')}"
        ages = dict.fromkeys(edge for bound in search.ages for edge in bound.edges())
        yield from (f"aged {path(number, 'age')} {age} {size}" for number, age in enumerate(ages))
        modes = enumerate(_modes(search))
        yield from (f"moded {path(number, 'mode')} {mode:o} {search.age_s} {size}" for number, mode in modes)
    for number, other in enumerate(search.beside):
        yield f'o=$(cd "$start"; stat -c %Y -- {shlex.quote(other)}) && for d in -1 0 1; do n={path(number, "new")}$d;'
        yield '  [ -e "$n" ] || { into "$n"; echo new > "$n"; touch -d "@$(( o + d ))" -- "$n"; }; done'
    yield from _other_case(search, searches)


def _modes(search: SearchSpec) -> Iterator[int]:
    """Yield each file mode that a search requests, followed by all modes that differ from it in one bit."""
    for mode in search.modes:
        yield mode
        for bit in (0o1, 0o4, 0o10, 0o40, 0o100, 0o200, 0o400):
            yield mode ^ bit


def _other_case(search: SearchSpec, searches: TaskSearches) -> Iterator[str]:
    """Yield shell commands that create files with swapped letter case, in the name or in the words of a search."""
    case = [word.swapcase() for word in searches.words if word.swapcase() != word]
    for pattern in _patterns(search):
        name = _named(pattern, "Case")
        if pattern != "*":
            folder, slash, last = name.rpartition("/")
            yield _put(search, f"{folder}{slash}{last.swapcase()}", _lines(searches.words or _PLAIN_LINES[:1]))
        for number, word in enumerate(case):
            yield _put(search, f"w{number}/{_named(pattern, 'word')}", _lines([word, "another line"]))
            yield _put(search, _named(pattern, f"word{number}"), _lines([word, "another line"]))
    yield from (_put(search, name, "same name\n") for name in ("Twice.txt", "sub/tWICE.txt") if not search.patterns)


def _kinds(search: SearchSpec, searches: TaskSearches, text: str) -> Iterator[str]:
    content = _lines([*searches.words, *_PLAIN_LINES[:3]])
    for number, pattern in enumerate(_patterns(search)):
        folder, link, file = (shlex.quote(_apart(pattern, star)) for star in ("folder", "link", "file"))
        inside = shlex.quote(f"{_apart(pattern, 'folder')}/inside.dat")
        yield f"put target{number}.dat {shlex.quote(content)}"
        if search.kind != "d":
            yield f"folder {folder}; put {inside} {shlex.quote(content)}; into {inside}"
        if search.kind != "l":
            yield f'link "$PWD/target{number}.dat" {link}'
        if search.kind != "f":
            yield f"put {file} {shlex.quote(content)}"
        if search.kind == "d":
            yield f"folder {shlex.quote(_apart(pattern, 'vacant'))}"
        if search.kind == "l":
            yield f"link . {shlex.quote(_apart(pattern, 'more'))}"
    if not search.ages and search.kind != "d":
        yield "folder ancient; dated 40000000 ancient; made=(${made[@]/ancient/}); spread=700"


def _apart(pattern: str, star: str) -> str:
    """Return a path whose last part matches a pattern. Without `*`, a new folder makes the path unique."""
    name = _named(pattern, star)
    return name if "*" in pattern else f"of_{star}/{name}"


def _odd(search: SearchSpec, searches: TaskSearches, text: str) -> Iterator[str]:
    content = _lines([*searches.words, "", *_PLAIN_LINES])
    for pattern in _patterns(search):
        name = _named(pattern, "two words")
        yield _put(search, name if "*" in pattern else f"two words/{name}", _lines((*searches.words, "one")[:1]))
        yield _put(search, _apart(pattern, "copy1"), content)
        yield _put(search, _apart(pattern, "copy2"), content)
        yield _put(search, _apart(pattern, "empty"), "")
        folder, slash, last = _named(pattern, "hidden").rpartition("/")
        yield _put(search, f"{folder}{slash}.{last.lstrip('.')}", content)
        yield _put(search, f".inside/{_named(pattern, 'hid')}", content)
    yield "folder vacant; folder vacant2/vacant3"


def _added(name: str, searches: TaskSearches) -> Iterator[str]:
    """Yield shell commands that change the files of a task's references in variant `name`."""
    makers = {NEAR: _near_lines, EDGES: _edge_lines, ODD: _odd_lines}
    lines = makers[name](searches) if name in makers else []
    yield from (f"add {shlex.quote(file)} {shlex.quote(_lines(lines))}" for file in searches.files if lines)
    if name == ODD:
        yield from (f"target {shlex.quote(file)}" for file in searches.targets)
    if name == KINDS:
        yield from (f"paths {shlex.quote(file)}" for file in searches.files)
        yield from (f"join {shlex.quote(one)} {shlex.quote(other)}" for one, other in pairwise(searches.files))


def _near_lines(searches: TaskSearches) -> list[str]:
    words = searches.words
    joined = [" ".join((*words[:i], word[1:], *words[i + 1 :])) for i, word in enumerate(words)]
    return [*joined, " ".join(words), *_near_words(words), *_PLAIN_LINES, *(f"row {row}" for row in range(12))]


def _edge_lines(searches: TaskSearches) -> list[str]:
    words = searches.words
    case = [" ".join((*words[:i], word.swapcase(), *words[i + 1 :])) for i, word in enumerate(words)]
    case += [word.swapcase() for word in words]
    lengths = [
        (f"{length} " + "ab " * length)[: length + step] for length in searches.lengths for step in (-1, 0, 1, 2)
    ]
    return [*case, *lengths, "Apple", "apple", "banana", "Banana", "100", "20", "3"]


def _odd_lines(searches: TaskSearches) -> list[str]:
    words = [f"\t{word}" for word in searches.words]
    return [*words, "", "   ", "\t", "twice", "twice", "", "ends in blanks  ", "carriage return\r", "cr\rinside", "end"]

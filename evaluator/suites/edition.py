"""Make an edition of a suite: the same tasks in other words, so that no answer can be known by heart.

An edition replaces the names and numbers that the worlds declare, in their build scripts and in the instructions,
references, near misses, drivers and verifiers of their tasks. All dates move by a multiple of 28 years, after which the
Gregorian calendar repeats: days of the week and leap years stay. Each variant is built with another seed. So every task
asks for the same work with another right answer.

The seed decides everything. Without the seed, nobody can compute the edition from the public suite.
"""

from __future__ import annotations

import hashlib
import itertools
import random
import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Final

from evaluator.errors import FormatError, Problem, UsageError
from evaluator.records import Task, WorldManifest
from evaluator.suites.load import Suite, SuiteWorld

MIN_SEED: Final = 16
"""The least number of characters of a seed, so that nobody can guess it."""

CALENDAR_YEARS: Final = 28
"""The number of years after which the calendar repeats, as long as no century without a leap day lies between."""

ATTEMPTS: Final = 100
"""The number of words that are tried with one beginning."""

SHIFTS: Final = (1, 2)
"""The multiples of 28 years by which an edition may move dates."""

_YEAR: Final = re.compile(r"(?<![0-9A-Za-z.])(?!1970|2000)(?:19[7-9][0-9]|20[0-3][0-9])(?![0-9])")
"""A year. The numbers 1970 and 2000 are rarely years of a date: the epoch begins in 1970, and 2000 is round."""

_CONSONANTS: Final = "bdfgklmnprstvz"
_VOWELS: Final = "aeiou"
_STARTS: Final = [consonant + vowel for consonant in _CONSONANTS for vowel in _VOWELS]
_SEED: Final = re.compile(r"[!-~]+")

Texts = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class WordMap:
    """The replacements in one world: names and numbers, and the years by which dates move."""

    names: Texts
    numbers: Texts
    years: int

    @property
    def replacements(self) -> Texts:
        """Return the names and numbers with their replacements."""
        return {**self.names, **self.numbers}


_NAME_BEGIN: Final = r"(?:(?<![0-9A-Za-z])|(?<=\\[bnrt]))"
"""A name also begins after an escape: `printf 'done\\nfitter'` has the name `fitter`."""


class Replacer:
    """Replaces the words of one world in texts. A name is also replaced as `Name` and `NAME`."""

    def __init__(self, words: WordMap) -> None:
        forms = {form(old): form(new) for old, new in words.names.items() for form in (str, str.capitalize, str.upper)}
        self._names, self._numbers, self._years = forms, words.numbers, words.years
        self._name = _alternatives(forms, _NAME_BEGIN, "(?![0-9A-Za-z])")
        self._number = _alternatives(words.numbers, "(?<![0-9A-Za-z.])", "(?![0-9A-Za-z.]|[.][0-9])")

    def text(self, text: str) -> str:
        """Return a text with all words replaced."""
        if self._name:
            text = self._name.sub(lambda match: self._names[match[0]], text)
        if self._number:
            text = self._number.sub(lambda match: self._numbers[match[0]], text)
        return _YEAR.sub(lambda match: str(int(match[0]) + self._years), text) if self._years else text

    def data(self, data: bytes) -> bytes:
        """Return bytes with all words replaced. Bytes that are not UTF-8 stay as they are."""
        return self.text(data.decode(errors="surrogateescape")).encode(errors="surrogateescape")


def _alternatives(words: Iterable[str], before: str, after: str) -> re.Pattern[str] | None:
    ordered = sorted(words, key=lambda word: (-len(word), word))
    return re.compile(f"{before}(?:{'|'.join(map(re.escape, ordered))}){after}") if ordered else None


@dataclass(frozen=True)
class Edition:
    """An edition: the suite in other words, and the replacements by world."""

    suite: Suite
    words: Mapping[str, WordMap]

    @cached_property
    def _replacers(self) -> Mapping[str, Replacer]:
        return {world: Replacer(words) for world, words in self.words.items()}

    def translate(self, task: Task, command: bytes) -> bytes:
        """Return a command for a task of the public suite, in the words of the edition. For controls only."""
        return self._replacers[task.world].data(command)


def make_edition(suite: Suite, seed: str) -> Edition:
    """Return the edition of a suite with this seed.

    Raises UsageError for a seed that anybody could guess, and FormatError if a world's words cannot be replaced.
    """
    check_seed(seed)
    shift = CALENDAR_YEARS * _random(seed, "years").choice(SHIFTS)
    problems: list[Problem] = []
    words = {name: _draw_words(suite, world, seed, shift, problems) for name, world in suite.worlds.items()}
    if problems:
        raise FormatError(problems)
    replacers = {name: Replacer(own) for name, own in words.items()}
    worlds = {name: _world(world, seed, replacers[name], shift) for name, world in suite.worlds.items()}
    tasks = tuple(_task(task, replacers[task.world]) for task in suite.tasks)
    manifest = suite.manifest.model_copy(update={"clock": _moved(suite.manifest.clock, shift)})
    return Edition(replace(suite, manifest=manifest, worlds=worlds, tasks=tasks, retired={}), words)


def check_seed(seed: str) -> None:
    """Raise UsageError if a seed is short or has other characters than visible ASCII characters."""
    if len(seed) < MIN_SEED or not _SEED.fullmatch(seed):
        raise UsageError(
            f"the seed has {len(seed)} characters: expected at least {MIN_SEED} visible ASCII characters without "
            "blanks, such as the output of: openssl rand -hex 16"
        )


def _random(seed: str, *purpose: str) -> random.Random:
    """Return a generator of random numbers that depends on the seed and the purpose alone."""
    digest = hashlib.sha256("\n".join((seed, *purpose)).encode()).digest()
    return random.Random(digest)  # noqa: S311 - the seed is the secret, and nothing here is a key


def _moved(clock: Any, years: int) -> Any:
    return clock.replace(year=clock.year + years)


def _world(world: SuiteWorld, seed: str, replacer: Replacer, years: int) -> SuiteWorld:
    manifest = world.manifest
    variants = tuple(
        variant.model_copy(
            update={
                "seed": _random(seed, world.name, variant.name, "seed").getrandbits(47),
                "clock": None if variant.clock is None else _moved(variant.clock, years),
            }
        )
        for variant in manifest.variants
    )
    fields: dict[str, Any] = {
        "title": replacer.text(manifest.title),
        "cwd": manifest.cwd and replacer.text(manifest.cwd),
        "user": manifest.user and replacer.text(manifest.user),
        "variants": variants,
        "names": (),
        "numbers": {},
    }
    return replace(
        world,
        manifest=WorldManifest.model_validate({**dict(manifest), **fields}),
        build=replacer.data(world.build),
        start=None if world.start is None else replacer.data(world.start),
    )


def _task(task: Task, replacer: Replacer) -> Task:
    scripts = {
        name: replacer.data(script)
        for name in ("setup", "verify", "driver")
        if (script := getattr(task, name)) is not None
    }
    return task.model_copy(
        update={
            "nl": replacer.text(task.nl),
            "references": tuple(map(replacer.data, task.references)),
            "near_misses": tuple(map(replacer.data, task.near_misses)),
            "text_files": tuple(map(replacer.text, task.text_files)),
            "answer": task.answer and replacer.text(task.answer),
            **scripts,
        }
    )


def _draw_words(suite: Suite, world: SuiteWorld, seed: str, years: int, problems: list[Problem]) -> WordMap:
    """Draw the replacements of a world. Add a problem for each declared word that occurs nowhere."""
    manifest = suite.folder / "worlds" / world.name / "world.toml"
    texts = _texts(suite, world)
    taken = {word.lower() for word in re.findall(r"[A-Za-z]+", texts)}
    problems += [
        Problem(manifest, _line_of(manifest, name), f"names: {name} occurs nowhere in the world: expected a word of it")
        for name in world.manifest.names
        if not re.search(rf"(?i)(?<![0-9a-z]){name}(?![0-9a-z])", texts)
    ]
    generator = _random(seed, world.name, "names")
    return WordMap(
        _draw_names(world.manifest.names, taken, generator),
        _draw_numbers(world.manifest.numbers, _random(seed, world.name, "numbers")),
        years,
    )


def _texts(suite: Suite, world: SuiteWorld) -> str:
    """Return all texts in which an edition replaces words of a world."""
    tasks = [task for task in suite.tasks if task.world == world.name]
    scripts = [world.build, world.start or b""]
    for task in tasks:
        scripts += [*task.references, *task.near_misses, task.setup or b"", task.verify or b"", task.driver or b""]
        scripts += [task.nl.encode(), (task.answer or "").encode(), *map(str.encode, task.text_files)]
    whole = b"\n".join(scripts).decode(errors="replace")
    return "\n".join((whole, world.manifest.title, world.manifest.cwd or "", world.manifest.user or ""))


def _line_of(path: Path, word: str) -> int:
    """Return the number of the first line of a file that holds a word, or 0."""
    lines = path.read_text("utf-8").splitlines() if path.is_file() else []
    return next((number for number, line in enumerate(lines, 1) if f'"{word}"' in line), 0)


def _draw_names(names: Iterable[str], taken: set[str], generator: random.Random) -> dict[str, str]:
    """Draw a new word of the same length for each name. The new words have the alphabetical order of the names.

    A name that begins with another name keeps this relation: if `render` becomes `lomiva`, `renderd` becomes `lomivad`.
    """
    ordered = sorted(names)
    stems = [name for name in ordered if not any(name != other and name.startswith(other) for other in ordered)]
    starts = sorted(generator.sample(_STARTS, len(stems)))
    drawn: dict[str, str] = {}
    for stem, start in zip(stems, starts, strict=True):
        drawn[stem] = _word(start, len(stem), generator, taken | set(drawn.values()))
    for name in ordered:
        if name not in drawn:
            stem = max((stem for stem in stems if name.startswith(stem)), key=len)
            drawn[name] = drawn[stem] + name[len(stem) :]
    return drawn


def _word(start: str, length: int, generator: random.Random, taken: Collection[str]) -> str:
    """Return a pronounceable word that is not taken. It begins with `start` if there is such a word."""
    for attempt in itertools.count():
        word = start if attempt < ATTEMPTS else generator.choice(_CONSONANTS) + generator.choice(_VOWELS)
        while len(word) < length:
            word += generator.choice(_CONSONANTS if word[-1] in _VOWELS else _VOWELS)
        if word not in taken:
            return word
    raise AssertionError


def _draw_numbers(numbers: Mapping[str, tuple[int, int]], generator: random.Random) -> dict[str, str]:
    """Draw another number from the range of each number. Two numbers never become the same one."""
    drawn: dict[str, str] = {}
    for number, (low, high) in numbers.items():
        free = [str(value) for value in range(low, high + 1) if str(value) not in {number, *drawn.values()}]
        drawn[number] = generator.choice(free)
    return drawn

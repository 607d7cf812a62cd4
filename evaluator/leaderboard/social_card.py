"""Draw the cards of suites and submissions: the picture of 1200 by 630 pixels that other sites show for a link.

Drawing a card as SVG takes about 50 ms, too long for a thousand cards of which each new submission changes many. So the
letters of ASCII are drawn once, and a card is put together from them in about 5 ms. A line with other letters is drawn
as a whole. The font is Liberation Sans, which vl-convert brings along, so a card looks the same on every machine.
"""

from __future__ import annotations

import functools
import html
import math
from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

import numpy as np
import vl_convert

from evaluator.leaderboard.board import BoardIndex
from evaluator.leaderboard.formats import percent, spread
from evaluator.leaderboard.html_text import plain_text
from evaluator.leaderboard.light_theme import light_rgb
from evaluator.leaderboard.page_head import rank_text, shortened
from evaluator.leaderboard.png_image import Pixels, read_rgba, write_indexed
from evaluator.records import Standing
from evaluator.wording import pluralize

WIDTH: Final = 1200
HEIGHT: Final = 630
MARGIN: Final = 80

_PAPER: Final = light_rgb("paper")
_COLOURS: Final = {name: light_rgb(name) for name in ("ink", "quiet", "accent", "line")} | {"soft": (196, 221, 217)}
_LEVELS: Final = 15
"""Shades between the paper and a colour, so that letters have smooth edges."""

_LETTERS: Final = "".join(map(chr, range(ord(" "), 0x7F))) + "–…·"
_DIGITS: Final = "0123456789.% "
_BIG: Final = 140
"""The size of the score, whose font has only digits."""
_ROW: Final = 14
_FONT: Final = "Liberation Sans"


class CardText(NamedTuple):
    """The texts of a card, from top to bottom. `share` has the low end, the value and the high end of the bar."""

    label: str
    name: str
    score: str
    note: str
    rank: str
    share: tuple[float, float, float] | None = None


class _Font(NamedTuple):
    """The letters of a font at one size: the darkness of each one's pixels, from 0 to 15, and its width in pixels."""

    size: int
    letters: Mapping[str, Pixels]
    widths: Mapping[str, float]


def submission_card_text(index: BoardIndex, standing: Standing) -> CardText:
    """Return the texts of a submission's card."""
    interval = spread(percent(standing.accuracy_low), percent(standing.accuracy_high))
    return CardText(
        label=_label(index),
        name=standing.system,
        score=f"{percent(standing.accuracy)} %",
        note=f"execution accuracy, 95 % interval {interval}",
        rank=rank_text(standing, len(index.ranked)),
        share=(standing.accuracy_low, standing.accuracy, standing.accuracy_high),
    )


def suite_card_text(index: BoardIndex) -> CardText:
    """Return the texts of a suite's card. The bar is the leader's."""
    tasks = pluralize(len(index.board.tasks), "task")
    if not index.ranked:
        return CardText(_label(index), "English in, working Bash out", tasks, "no system is ranked yet", "")
    best = index.ranked[0]
    return CardText(
        label=_label(index),
        name=f"{shortened(best.system, 60)} leads",
        score=f"{percent(best.accuracy)} %",
        note=f"execution accuracy on {tasks}",
        rank=pluralize(len(index.ranked), "ranked system"),
        share=(best.accuracy_low, best.accuracy, best.accuracy_high),
    )


def _label(index: BoardIndex) -> str:
    return f"Bashboard · {index.board.name} {index.board.manifest.version}"


def draw_card(text: CardText) -> bytes:
    """Return a card as a PNG image."""
    canvas = np.zeros((HEIGHT, WIDTH), np.uint8)
    _fill(canvas, "accent", 0, 0, WIDTH, 12)
    _write(canvas, text.label, 38, 400, "accent", 96)
    lines = list(_lines(text.name, _font(60, 700)))[:2]
    for number, line in enumerate(lines):
        _write(canvas, line, 60, 700, "ink", 190 + 72 * number)
    _write(canvas, text.score, _BIG, 700, "ink", 420)
    _write(canvas, text.note, 38, 400, "quiet", 484)
    _write(canvas, text.rank, 38, 700, "ink", 540)
    if text.share:
        low, middle, high = (MARGIN + round(share * (WIDTH - 2 * MARGIN)) for share in text.share)
        _fill(canvas, "line", MARGIN, 574, WIDTH - MARGIN, 582)
        _fill(canvas, "soft", low, 568, max(high, low + 2), 588)
        _fill(canvas, "accent", max(MARGIN, middle - 5), 562, min(WIDTH - MARGIN, middle + 5), 594)
    return write_indexed(canvas, _palette())


def _palette() -> list[tuple[int, int, int]]:
    shades = [_PAPER]
    for red, green, blue in _COLOURS.values():
        for level in range(1, _LEVELS + 1):
            part = level / _LEVELS
            mixed = (
                round(paper + part * (colour - paper)) for paper, colour in zip(_PAPER, (red, green, blue), strict=True)
            )
            shades.append((next(mixed), next(mixed), next(mixed)))
    return shades


def _fill(canvas: Pixels, colour: str, left: int, top: int, right: int, bottom: int) -> None:
    canvas[top:bottom, left:right] = _first_shade(colour) + _LEVELS - 1


def _first_shade(colour: str) -> int:
    return 1 + _LEVELS * list(_COLOURS).index(colour)


def _write(canvas: Pixels, text: str, size: int, weight: int, colour: str, baseline: int) -> None:
    """Write one line of text. What is too long for the card is left out."""
    font = _font(size, weight)
    line = next(_lines(text, font), "")
    if all(letter in font.letters for letter in line):
        place = float(MARGIN)
        for letter in line:
            _stamp(canvas, font.letters[letter], colour, round(place) - _pad(size), baseline - _above(size))
            place += font.widths[letter]
    else:
        _stamp(canvas, _drawn_line(line, size, weight), colour, MARGIN - _pad(size), baseline - _above(size))


def _stamp(canvas: Pixels, drawing: Pixels, colour: str, left: int, top: int) -> None:
    region = canvas[top : top + drawing.shape[0], left : left + drawing.shape[1]]
    drawing = drawing[: region.shape[0], : region.shape[1]]
    np.copyto(region, drawing + np.uint8(_first_shade(colour) - 1), where=drawing > 0)


def _lines(text: str, font: _Font) -> Iterator[str]:
    """Yield the lines of a text that fit on a card, two at most. An ellipsis ends a line that is cut."""
    words, line = " ".join(plain_text(text).split()).split(" "), ""
    for number, word in enumerate(words):
        longer = f"{line} {word}" if line else word
        if _width(longer, font) <= WIDTH - 2 * MARGIN:
            line = longer
            continue
        rest = " ".join(words[number:])
        if line:
            yield line
            yield _cut(rest, font)
        else:
            yield _cut(rest, font)
        return
    yield line


def _cut(text: str, font: _Font) -> str:
    text = text[:200]
    if _width(text, font) <= WIDTH - 2 * MARGIN:
        return text
    while text and _width(f"{text}…", font) > WIDTH - 2 * MARGIN:
        text = text[:-1]
    return f"{text.rstrip()}…"


def _width(text: str, font: _Font) -> float:
    """Return the width of a text. A letter that is not in the font may be as wide as it is high."""
    return sum(font.widths.get(letter, float(font.size)) for letter in text)


def _pad(size: int) -> int:
    return math.ceil(size / 5)


def _above(size: int) -> int:
    return math.ceil(1.05 * size)


@functools.cache
def _font(size: int, weight: int) -> _Font:
    """Draw all letters once, alone and before a bar. The place of the bar tells the width of the letter."""
    wide, high = math.ceil(1.8 * size) + 2 * _pad(size), math.ceil(1.4 * size)
    drawn = _DIGITS if size == _BIG else _LETTERS
    bare = {letter: 2 * number for number, letter in enumerate(drawn)}
    cells = [text for letter in drawn for text in (letter, f"{letter}|")] + ["|"]
    sheet = _drawing(
        "".join(
            _svg_text(text, number % _ROW * wide + _pad(size), number // _ROW * high + _above(size), size, weight)
            for number, text in enumerate(cells)
        ),
        wide * _ROW,
        high * math.ceil(len(cells) / _ROW),
    )

    def cell(number: int) -> Pixels:
        top, left = number // _ROW * high, number % _ROW * wide
        return sheet[top : top + high, left : left + wide]

    def bar(number: int) -> float:
        """Return the place of the bar, the last thing in a cell: the middle of its dark columns."""
        columns = cell(number).max(axis=0)
        last = int(np.flatnonzero(columns)[-1])
        first = last
        while first > 0 and columns[first - 1]:
            first -= 1
        weights = columns[max(first, last - math.ceil(size / 6)) : last + 1].astype(float)
        return last - len(weights) + 1 + float((weights * np.arange(len(weights))).sum() / weights.sum())

    start = bar(len(cells) - 1)
    widths = {letter: bar(number + 1) - start for letter, number in bare.items()}
    letters = {letter: cell(number)[:, : math.ceil(1.25 * size) + 2 * _pad(size)] for letter, number in bare.items()}
    return _Font(size, letters, widths)


@functools.lru_cache(maxsize=256)
def _drawn_line(text: str, size: int, weight: int) -> Pixels:
    """Draw one line of a text with any letters."""
    drawing = _svg_text(text, _pad(size), _above(size), size, weight)
    return _drawing(drawing, WIDTH - 2 * MARGIN + 2 * _pad(size), math.ceil(1.4 * size))


def _svg_text(text: str, left: int, baseline: int, size: int, weight: int) -> str:
    style = f'font-family="{_FONT}" font-size="{size}" font-weight="{weight}" xml:space="preserve"'
    return f'<text x="{left}" y="{baseline}" {style}>{html.escape(plain_text(text))}</text>'


def _drawing(content: str, width: int, height: int) -> Pixels:
    """Return the darkness of a drawing's pixels, from 0 to 15."""
    frame = f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}">{content}</svg>'
    alpha = read_rgba(vl_convert.svg_to_png(frame, 1, 72))[:height, :width, 3]
    return np.round(alpha / 255 * _LEVELS).astype(np.uint8)

"""The Jinja environment of the pages. It escapes every value and removes the layout of templates.

Templates in `templates/` hold all markup. Line breaks and indentation make a template readable, but the page does not
need them. The environment removes a line break and its indentation next to a tag, next to a statement, and between two
expressions. Anywhere else, one space replaces them. If the page needs a line break, the template contains the
expression `{{ "\n" }}`.
"""

from __future__ import annotations

import functools
import html
import re
from pathlib import Path
from typing import Any, Final

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from jinja2.ext import Extension
from markupsafe import Markup

from evaluator.leaderboard import formats, html_text
from evaluator.records import MethodRuns, Standing, TierStanding
from evaluator.submissions.names import is_local
from evaluator.wording import format_p_value, pluralize

_TEMPLATES: Final = Path(__file__).with_name("templates")
_LAYOUT: Final = re.compile(
    r"(\{\{(?:[^}]|\}(?!\}))*+(?:\}\})?+|\{%(?:[^%]|%(?!\}))*+(?:%\})?+|\{\#(?:[^#]|\#(?!\}))*+(?:\#\})?+)"
    r"|(?<!\s)[^\S\n]*+\n\s*"
)
"""A line break with its layout, or a tag of Jinja. A tag without an end extends to the end of the template."""


class _Layout(Extension):
    """A Jinja extension that removes line breaks and indentation from a template.

    A comment keeps each removed line break, so that tracebacks show the right line numbers.
    """

    def preprocess(self, source: str, name: str | None, filename: str | None = None) -> str:
        """Return a template's source without layout. Line breaks stay only in comments, statements and expressions."""

        def join(match: re.Match[str]) -> str:
            if match[1]:
                return match[1]
            before, after = match.string[: match.start()][-2:], match.string[match.end() :][:2]
            in_text = not before.endswith((">", "%}", "#}")) and not after.startswith(("<", "{%", "{#"))
            space = " " if before and after and in_text and (before, after) != ("}}", "{{") else ""
            return space + "{#" + "\n" * match[0].count("\n") + "#}"

        return _LAYOUT.sub(join, source.strip())


def _data_value(value: str | float | None) -> Markup:
    """Return the `data-value` attribute of a table cell, or an empty text for None.

    Scripts use it to sort and filter the table.
    """
    if value is None:
        return Markup()
    text = f"{value:.6g}" if isinstance(value, float) else html.escape(str(value))
    return Markup(f' data-value="{text}"')  # noqa: S704 - escaped above


@functools.cache
def _verdict(outcome: str) -> Markup:
    return macro("verdict", outcome)


def _interval_style(standing: Standing | TierStanding | MethodRuns) -> str:
    """Return the CSS properties for the drawing of a system's accuracy interval. Their values are in per cent.

    A standing on a tier and the mean over runs have no upper bound for undecided tasks. Then the drawing ends at the
    accuracy.
    """
    upper = standing.accuracy_upper if isinstance(standing, Standing) else standing.accuracy
    shares = {
        "low": standing.accuracy_low,
        "mid": standing.accuracy,
        "high": standing.accuracy_high,
        "upper": upper,
    }
    return ";".join(f"--{name}:{formats.percent(share)}" for name, share in shares.items())


ENVIRONMENT: Final = Environment(
    loader=FileSystemLoader(_TEMPLATES),
    extensions=[_Layout],
    autoescape=True,
    undefined=StrictUndefined,
    auto_reload=False,
)
ENVIRONMENT.filters |= {
    "visible": html_text.inline,
    "instruction": html_text.instruction,
    "command": html_text.command,
    "web_link": html_text.web_link,
    "plain": html_text.plain_text,
    "data_value": _data_value,
    "verdict": _verdict,
    "begins_group": formats.begins_group,
    "p_value": format_p_value,
    "pluralize": pluralize,
    "interval_style": _interval_style,
    "is_local": is_local,
} | {
    name: getattr(formats, name)
    for name in (
        "decimal",
        "dollars",
        "integer",
        "percent",
        "percentage",
        "percentages",
        "points",
        "latency",
        "quantity",
        "signed",
        "size",
    )
}
ENVIRONMENT.globals |= {"spread": formats.spread}


def load_templates() -> None:
    """Compile all templates. A new process does this before it has pages to make."""
    for name in ENVIRONMENT.list_templates():
        ENVIRONMENT.get_template(name)


def render(template: str, **values: Any) -> str:
    """Render a template and return its HTML. `template` is the name of a file in `templates/`."""
    return ENVIRONMENT.get_template(template).render(values)


def macro(name: str, *arguments: Any) -> Markup:
    """Call a macro of the template file `macros.html`, and return its HTML."""
    rendered: Markup = getattr(ENVIRONMENT.get_template("macros.html").module, name)(*arguments)
    return rendered

"""The environment of the templates removes layout and escapes values."""

from __future__ import annotations

import pytest
from jinja2 import UndefinedError

from evaluator.leaderboard.environment import ENVIRONMENT, render


@pytest.mark.parametrize(
    ("source", "page"),
    [
        ("<ul>\n  <li>a</li>\n</ul>\n", "<ul><li>a</li></ul>"),
        ("<p>two\n  words</p>", "<p>two words</p>"),
        ("{{ 1 }}\n{{ 2 }}", "12"),
        ("number {{ 1 }}\n  of\n  {{ 2 }}", "number 1 of 2"),
        ("{% if true %}\n  a\n{% endif %}\nb", "ab"),
        ('<p>a</p>{{ "\\n" }}\n<p>b</p>', "<p>a</p>\n<p>b</p>"),
        ("{# a\n note #}\na {{\n 1\n}} b", "a 1 b"),
    ],
)
def test_layout_is_not_part_of_the_page(source: str, page: str) -> None:
    assert ENVIRONMENT.from_string(source).render() == page


@pytest.mark.parametrize("name", ENVIRONMENT.list_templates())
def test_every_template_compiles(name: str) -> None:
    ENVIRONMENT.get_template(name)


def test_an_error_names_the_line_of_the_template() -> None:
    """Removed layout still counts as lines, so a traceback names the right line of the file."""
    with pytest.raises(UndefinedError) as error:
        ENVIRONMENT.from_string("<p>\n  a\n</p>\n{{ missing }}").render()
    lines = [entry.lineno + 1 for entry in error.traceback if str(entry.path).endswith("<template>")]
    assert lines == [4]
    assert "missing" in str(error.value)


def test_values_are_escaped_by_default() -> None:
    assert ENVIRONMENT.from_string("{{ text }}").render(text="<b>") == "&lt;b&gt;"


def test_a_value_that_is_not_passed_is_an_error() -> None:
    with pytest.raises(UndefinedError):
        render("compare.html")

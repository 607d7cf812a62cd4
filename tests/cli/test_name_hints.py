"""Error messages about unknown names."""

from __future__ import annotations

from evaluator.wording import name_hint


def test_a_hint_shows_hidden_characters_of_names() -> None:
    """A pull request chooses the names of folders. A terminal must not act on them."""
    assert name_hint("x", ["\x1b[2J", "\u202ea", "b"], "list") == "; there are: \\x1b[2J, \\u202ea, b"

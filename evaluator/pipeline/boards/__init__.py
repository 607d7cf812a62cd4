"""This package turns verdicts into boards, comparisons, explanations, previews and the public site."""

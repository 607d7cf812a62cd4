"""Boards from verdicts: standings, comparisons, explanations, previews and the site."""

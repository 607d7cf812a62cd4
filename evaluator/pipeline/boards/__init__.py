"""Verdicts to boards: standings, comparisons, explanations, previews and the site of them."""

"""This package makes boards, comparisons, explanations, previews and the public site from verdicts."""

"""Verdicts out of evidence that is there: what they stand on, how they follow, and whether published ones do."""

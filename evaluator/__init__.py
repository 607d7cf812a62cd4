"""Bashboard: natural-language-to-Bash systems, re-executed, judged and ranked."""

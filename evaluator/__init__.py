"""Bashboard, a leaderboard that re-executes, judges and ranks natural-language-to-Bash systems."""

"""Bashboard, a leaderboard for natural-language-to-Bash systems. It executes and judges all submitted commands."""

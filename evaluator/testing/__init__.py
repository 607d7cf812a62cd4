"""Replacements for real components in tests, so that the tests need no patches."""

"""Replacements for real components, for use in tests. With them, a test does not need to patch the code under test."""

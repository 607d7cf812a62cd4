"""Suites on disk: loading them, and finding what does not hold in them."""

"""This package verifies, audits, mutates and imports suites, validates judges, and measures human time."""

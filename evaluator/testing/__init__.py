"""Test doubles that the package ships, so that a test has nothing to patch."""

"""Doubles of external services: a GitHub server, a workflow runner, model servers and container engines."""

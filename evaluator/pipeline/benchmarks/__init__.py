"""Benchmarks of this project's own speed, which the `bashboard bench` commands run."""

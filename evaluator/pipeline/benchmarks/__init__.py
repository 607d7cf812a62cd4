"""This package measures the speed of the project itself. The `bashboard bench` commands run its benchmarks."""

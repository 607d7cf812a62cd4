"""Doubles of the outside world that run for real: a GitHub, a runner of workflows, model servers, engines."""

"""Quality checks: verify, audit, mutate and import suites, validate judges, and measure human time."""

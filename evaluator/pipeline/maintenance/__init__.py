"""What keeps suites and judges honest: verified, mutated, measured, and brought here from elsewhere."""

"""Evidence and sandbox images between machines: bundles, their branch, executing, fetching and importing."""

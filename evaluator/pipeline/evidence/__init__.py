"""How evidence and images travel: bundles, the branch that keeps them, executing and importing them."""

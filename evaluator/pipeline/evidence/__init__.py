"""Transfer of evidence and sandbox images between machines: production, bundles, their branch, fetch and import."""

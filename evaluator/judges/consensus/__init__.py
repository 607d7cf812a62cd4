"""The judge `consensus`: execution evidence compared with that of every reference, step by step."""

"""How fast the board itself is: what the `bashboard bench` commands run."""

"""Compute the NLC2CMD score of two commands, with a reader that works like the competition's program of 2020."""

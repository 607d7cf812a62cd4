"""Compute the score of the NLC2CMD competition for two commands, which are read like in the competition of 2020."""

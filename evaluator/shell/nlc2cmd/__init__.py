"""Compute the score of the NLC2CMD competition for two commands. They are read as in the competition of 2020."""

"""Compute the score of the NLC2CMD competition of 2020 for two commands. Commands are read as in the competition."""

"""The NLC2CMD score of two commands, and a reader that follows the reference program of the 2020 competition."""

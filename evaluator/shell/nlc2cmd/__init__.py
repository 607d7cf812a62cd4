"""The NLC2CMD score of two commands, and a reader that works like the reference program of the 2020 competition."""

"""The NLC2CMD score of two commands, and the reader of commands that the 2020 competition used."""

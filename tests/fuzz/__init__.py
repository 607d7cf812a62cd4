"""Coverage-guided fuzzing of every parser that reads the bytes of a contributor or of a command.

`python -m tests.fuzz` lists the targets with the line coverage of their corpora. `python -m tests.fuzz TARGET` fuzzes
one target with atheris.
"""

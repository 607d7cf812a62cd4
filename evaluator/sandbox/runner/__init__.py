"""The runner: the program inside a worker's container that reads jobs and answers with evidence.

It uses only the standard library, because it is copied into the image and runs under the image's Python.
It reads one line of JSON, executes one job and writes one line. Everything that a command leaves behind is
untrusted. So the runner reads directories by descriptor, never follows links, and limits sizes and depths.
"""

PROTOCOL = 3
"""A part of every evidence key. Raise it when the same command may give different evidence."""

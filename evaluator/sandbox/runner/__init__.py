"""The runner: the program inside a worker's container that reads jobs and answers with evidence.

The runner uses only the standard library, because it is copied into the sandbox image and runs under the image's
Python. It reads one line of JSON, executes the job in it (one command), and writes one line of JSON with the evidence.
All files that a command leaves are untrusted. So the runner reads directories by descriptor, never follows links, and
limits sizes and depths.
"""

PROTOCOL = 10
"""A part of every evidence key. Raise it when the same command may give different evidence."""

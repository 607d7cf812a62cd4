"""The runner: what stands inside a worker's container, reads jobs and answers with evidence.

It uses nothing but the standard library, because it is copied into the image and runs under the image's
Python. One line of JSON in, one line out, one job at a time. Everything a command leaves behind is an
attacker's: directories are read by descriptor, links are never followed, sizes and depths are capped.
"""

PROTOCOL = 2
"""Part of every evidence key: raise it when the same command may give other evidence."""

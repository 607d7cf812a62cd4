"""This package grades commands. It executes commands that have no evidence, and asks the judge and the panel."""

"""This package grades commands.

It executes commands that have no evidence, and gets verdicts from the judge and the panel.
"""

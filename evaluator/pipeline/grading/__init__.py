"""This package grades commands. It executes commands without evidence, and gets verdicts from judge and panel."""

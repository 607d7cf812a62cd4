"""This package grades commands. It executes commands without evidence, and asks the judge and the panel."""

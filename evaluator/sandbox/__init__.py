"""The execution of commands: the container engine, the images, the runner in a container, and the runner's evidence.

This package does not judge. A command goes in as data, and its evidence comes out as a record. A failure of a
command is evidence. A failure of the engine is an `InfraError`.
"""

"""The execution of commands: the container engine, the images, the runner inside, and the evidence that it returns.

This package does not judge. A command goes in as data, and its evidence comes out as a record. A failure of a
command is evidence. A failure of the engine is an `InfraError`.
"""

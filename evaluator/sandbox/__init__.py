"""Where commands are executed: the container engine, the images, the runner inside, the evidence it brings back.

This room knows nothing of judging. A command goes in as data and its evidence comes out as a record; a command
that misbehaves is evidence, an engine that misbehaves is an `InfraError`.
"""

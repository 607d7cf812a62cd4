"""This package produces evidence and moves evidence and sandbox images between machines."""

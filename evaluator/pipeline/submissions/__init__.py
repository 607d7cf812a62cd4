"""This package creates submission folders, writes prompts, imports model replies, and checks submissions."""

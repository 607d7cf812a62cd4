"""Find what is valid in an answer and was surely not meant: marks of a chat, and characters that look like others."""

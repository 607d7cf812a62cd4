"""This package works with corpora of pairs: an instruction in natural language, and a Bash command for it.

A corpus is a file of JSON lines `{"nl": …, "command": …}`. `pair_lines` reads and writes such files. `corpus_rules` has
the rules by which a publisher counted and filtered its corpus. `corpus_statistics` counts, and `corpus_split` makes
training, development and test sets. The functions take and return plain sequences. They execute no command.
"""

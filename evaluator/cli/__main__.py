"""The entry point of `python -m evaluator.cli`, which is the same as the `bashboard` command."""

from evaluator.cli import main

main()

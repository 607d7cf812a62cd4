"""`python -m evaluator.cli` is the `bashboard` command."""

from evaluator.cli import main

main()

"""What the repository's workflows do, a command each: pull requests answered, verdicts published and made anew."""

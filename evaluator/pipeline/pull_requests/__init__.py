"""What strangers ask of the repository: pull requests answered, and appeals."""

"""Reports on contributors' pull requests, and appeals against verdicts."""

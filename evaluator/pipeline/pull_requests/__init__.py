"""This package writes reports on contributors' pull requests, and answers appeals against verdicts."""

"""Generate a submission with a model: from a suite's tasks to the files of the submission."""

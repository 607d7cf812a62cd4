"""What a submitter does: a folder begun, prompts, the check of what is in it."""

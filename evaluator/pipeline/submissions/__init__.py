"""The contributor's steps: create a submission folder, write prompts, import model replies, and check the result."""

"""Ask a model for the answers of a submission: prompts, examples, the methods of the field, and parsing of replies."""

"""A client for GitHub's REST API, and the Markdown that workflows publish with it."""

"""A client for GitHub's REST API, and the Markdown texts that workflows publish on GitHub."""

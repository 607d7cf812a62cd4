"""Everything that speaks to GitHub."""

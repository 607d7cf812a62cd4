"""This package makes the output for readers: standings, charts, pages and downloads."""

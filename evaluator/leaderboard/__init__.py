"""The output for readers: standings, charts, pages and downloads."""

"""What readers see: standings, charts, pages and downloads."""

"""Parsers of lines, JSON, TOML and fields in contributed files. Each reports problems with their positions."""

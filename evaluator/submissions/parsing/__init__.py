"""Parsers of lines, JSON, TOML and fields in contributed files. Each parser reports problems with their positions."""

"""Runs workflow files of a repository over the GitHub double."""

"""Doubles that the package ships, so that tests of any room need patch nothing."""

"""Test doubles. The package contains them, so that tests need no patching."""

"""Make a broken transcript valid."""

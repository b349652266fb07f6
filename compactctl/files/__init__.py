"""Files: read, write, pack."""

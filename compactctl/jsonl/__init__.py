"""JSON lines as they are found."""

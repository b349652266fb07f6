"""A transcript: entries, links, rewriting."""

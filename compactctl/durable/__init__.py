"""Durable records and the sources they point to: what travels beside the messages unharmed."""

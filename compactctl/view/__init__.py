"""The view that a model is sent, and what it tells."""

"""What tests share: ways to say a view, to run a command, and what the laws draw from."""

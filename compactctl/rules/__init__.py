"""What a provider accepts."""

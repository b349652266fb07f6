"""The protocol between an agent and its provider: what must hold, and where one may cut."""

"""Worlds, policies to compare, and replays that say how fresh each keeps the copy."""

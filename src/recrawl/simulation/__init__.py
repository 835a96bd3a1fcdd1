"""Simulated worlds, policies to compare, and replays that measure how fresh each keeps the copy."""

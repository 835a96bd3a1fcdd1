"""Keeps a copy of the web fresh on a budget."""

"""Change rates as they are shown to people."""

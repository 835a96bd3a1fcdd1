"""The crawler: the loop, what it decides by, and what it tells."""

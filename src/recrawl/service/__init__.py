"""The crawler at work: settings, the loop, and what it tells of itself."""

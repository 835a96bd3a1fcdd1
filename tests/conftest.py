"""Settings for all tests."""

from hypothesis import settings

# A kernel's first call compiles it, which no deadline can foresee.
settings.register_profile("recrawl", deadline=None)
settings.load_profile("recrawl")

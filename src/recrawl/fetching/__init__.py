"""The lessees: they visit the pages that the engine lends them, and report what they found."""

"""The engine: the one owner of frontier, leases, host pacing and recording."""

"""The crawler: an engine and its workers, assembled, started and stopped."""

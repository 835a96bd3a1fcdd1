"""A list of pages that is filtered and sorted in memory."""

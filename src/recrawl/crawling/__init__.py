"""Pages of the web: their addresses, how they are fetched politely, and whether they changed."""

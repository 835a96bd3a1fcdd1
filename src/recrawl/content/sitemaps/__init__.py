"""Read sitemaps and feeds."""

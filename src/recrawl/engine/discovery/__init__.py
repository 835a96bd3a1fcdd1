"""Bring in pages: those that users add, links, sitemaps and feeds."""

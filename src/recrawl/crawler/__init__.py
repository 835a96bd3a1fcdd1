"""The crawler: the crawl loop, the parts it runs, and what it reports."""

"""What is known about pages and the crawl, for people: explanations, lists, status, texts."""

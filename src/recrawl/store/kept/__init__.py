"""What a crawl keeps for the next one, beside pages: about hosts, and what first visits cost."""

"""From a crawl log to beliefs, a plan, and the price of freshness."""

"""A small web served on this machine, whose pages change at known rates, to judge a crawl by."""

"""A little web on this machine whose pages change at rates that are known, to watch a crawl by."""

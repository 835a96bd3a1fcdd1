"""What a page says: text, blocks, noise, links, sitemaps, and how two versions compare."""

"""Page content: text, blocks, boilerplate, noise, links, sitemaps, and comparing two versions."""

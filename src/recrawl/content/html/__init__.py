"""Parse HTML: outline, links, text."""

"""Where pages, their copies and the log of visits are kept: one file, safe at any instant."""

"""One polite, safe request at a time: fetching, robots.txt, pacing and limits."""

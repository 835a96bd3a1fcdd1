"""The HTTP client: polite and safe fetching, robots.txt, pacing and limits."""

import logging

# An application that does not configure logging should see nothing on its standard error.
logging.getLogger(__name__).addHandler(logging.NullHandler())

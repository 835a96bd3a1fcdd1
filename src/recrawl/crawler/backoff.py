"""Hosts that fail: how long to leave them alone."""

from typing import final

from recrawl.records import Response

#: So many failures in a row, and a host is taken to be in trouble.
IN_TROUBLE = 3
#: Seconds of rest then; each further failure doubles them, up to the longest.
FIRST_REST, LONGEST_REST = 30.0, 3_600.0
TOO_MANY_REQUESTS, FIRST_SERVER_ERROR = 429, 500
MAX_DOUBLINGS = 10
#: A page of more than so many bytes gives its host a second of rest for each of them: to read,
#: compare and keep it takes time that other hosts' pages need.
HEAVY = 1_000_000


@final
class Backoff:
    """Remembers how many responses in a row each host has failed to give.

    >>> health = Backoff()
    >>> refused = Response("https://example.org/", 0, at=0, error="no connection")
    >>> [health.rest("example.org", refused) for _ in range(4)]
    [0.0, 0.0, 30.0, 60.0]
    >>> health.rest("example.org", Response("https://example.org/", 200, at=0))
    0.0
    """

    def __init__(self) -> None:
        self._failures: dict[str, int] = {}

    def rest(self, host: str, response: Response) -> float:
        """Give the seconds that a host is to be left alone after this response."""
        if response.permanent:
            return 0.0
        troubled = response.status == TOO_MANY_REQUESTS or response.status >= FIRST_SERVER_ERROR
        if not troubled and not (response.status == 0 and response.error):
            self._failures.pop(host, None)
            size = len(response.body or b"")
            return max(response.retry_after or 0.0, size / HEAVY if size > HEAVY else 0.0)
        failures = self._failures[host] = self._failures.get(host, 0) + 1
        if response.retry_after is not None:
            return response.retry_after
        doublings = failures - IN_TROUBLE
        if response.status == TOO_MANY_REQUESTS:
            doublings = failures - 1
        if doublings < 0:
            return 0.0
        return min(FIRST_REST * 2.0 ** min(doublings, MAX_DOUBLINGS), LONGEST_REST)

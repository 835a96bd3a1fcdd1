"""How far a host's sitemap can be trusted, learned from what visits found."""

from collections.abc import Mapping
from typing import final

#: A sitemap that was never checked counts as one that was right once and wrong once.
PRIOR_RIGHT = PRIOR_WRONG = 1.0


@final
class Trust:
    """Counts, per host, how often a page that its sitemap called newer was found changed.

    Args:
        known: What earlier runs counted, by host: how often it was right, and wrong.

    >>> trust = Trust()
    >>> trust.keep("example.org")
    0.5
    >>> for page in range(8):
    ...     _ = trust.expect(page, "example.org")
    ...     trust.found(page, changed=True)
    >>> round(trust.keep("example.org"), 2)
    0.1
    """

    def __init__(self, known: Mapping[str, tuple[float, float]] | None = None) -> None:
        counts = known or {}
        self._right = {host: right for host, (right, _) in counts.items()}
        self._wrong = {host: wrong for host, (_, wrong) in counts.items()}
        self._expected: dict[int, str] = {}
        self._news: set[str] = set()

    def expect(self, page: int, host: str) -> bool:
        """Note that a sitemap calls a page newer than its copy; return whether that is news."""
        is_news = page not in self._expected
        self._expected[page] = host
        return is_news

    def found(self, page: int, *, changed: bool) -> None:
        """Note what the next visit to the page found; later visits do not count."""
        host = self._expected.pop(page, None)
        if host is not None:
            counts = self._right if changed else self._wrong
            counts[host] = counts.get(host, 0.0) + 1.0
            self._news.add(host)

    def take_news(self) -> dict[str, tuple[float, float]]:
        """Return how often sitemaps were right and wrong, of hosts with news since the last call.

        >>> trust = Trust({"example.org": (3.0, 0.0)})
        >>> _ = trust.expect(0, "example.org")
        >>> trust.found(0, changed=False)
        >>> trust.take_news(), trust.take_news()
        ({'example.org': (3.0, 1.0)}, {})
        """
        news, self._news = self._news, set()
        return {host: (self._right.get(host, 0.0), self._wrong.get(host, 0.0)) for host in news}

    def keep(self, host: str) -> float:
        """Return the share of its chance to be fresh that a page keeps when called newer."""
        right = PRIOR_RIGHT + self._right.get(host, 0.0)
        wrong = PRIOR_WRONG + self._wrong.get(host, 0.0)
        return wrong / (right + wrong)

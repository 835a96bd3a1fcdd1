"""Check whether the hosts of pages can be reached, with the settings of a crawl."""

import asyncio
from collections.abc import Callable, Iterable

from recrawl.config.settings import Settings, agent_of
from recrawl.hosts import host_of
from recrawl.http.access import Access
from recrawl.http.fetch import LONG_PATIENCE, Fetcher
from recrawl.http.gate import Gate
from recrawl.http.host_pacing import HostPacing
from recrawl.http.limits import Limits

#: Hosts that are checked concurrently.
CONCURRENT = 8


async def reach(
    urls: Iterable[str], settings: Settings, access: Callable[[str], Access]
) -> dict[str, str | None]:
    """Return the problem of each host; None if it answers.

    Each host is sent one request, for its robots.txt, within the same limits as in a crawl.

    Args:
        urls: A page of each host.
        settings: The crawler's settings.
        access: Returns headers, credentials and proxy for a URL.
    """
    limits = Limits(
        connections=CONCURRENT,
        connect_timeout=settings.connect_timeout,
        read_timeout=settings.read_timeout,
        total_timeout=settings.total_timeout,
    )
    fetcher = Fetcher(
        agent_of(settings),
        Gate(HostPacing(settings.delay_of, 1, connections=CONCURRENT)),
        limits=limits,
        allow_private=settings.allow_private,
        access=access,
        max_delay=settings.max_crawl_delay,
    )
    async with fetcher:

        async def problem(url: str) -> str | None:
            rules = await fetcher.robots.rules(url, max(LONG_PATIENCE, settings.total_timeout))
            if rules.problem is None and not rules.allows(url):
                return f"robots.txt does not allow {url}"
            return rules.problem

        asked = list(urls)
        found = await asyncio.gather(*map(problem, asked))
    return {host_of(url): what for url, what in zip(asked, found, strict=True)}

"""Check whose URLs a sitemap may list: its own host's, and those of hosts that name it."""

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from typing import NamedTuple

from recrawl.engine.discovery.sitemap_limits import MAX_OTHER_HOSTS
from recrawl.engine.protocols import FileFetching
from recrawl.errors import AddressError
from recrawl.hosts import host_of, is_same_site
from recrawl.store.rows import SitemapFile
from recrawl.urls import canonical

#: URLs processed before yielding to the event loop.
PIECE = 1_000


class Vetted(NamedTuple):
    """The URLs in a sitemap that it may list.

    Attributes:
        urls: The accepted URLs, in order.
        skipped: How many were rejected.
        unread: A host that may have named the sitemap, but whose robots.txt cannot be read now.
    """

    urls: list[str]
    skipped: int
    unread: str | None


async def vet(
    fetcher: FileFetching, sitemap: SitemapFile, final_url: str, urls: Sequence[str]
) -> Vetted:
    """Return which URLs a sitemap may list.

    A sitemap may list URLs of its own host, and those of another host whose robots.txt names it or
    its index, which the protocol calls a cross submission. Only the robots.txt of a few other hosts
    is fetched: listing a host must not be a way to send requests to it.

    Args:
        fetcher: The HTTP client, which knows the robots.txt of hosts.
        sitemap: The sitemap.
        final_url: Where redirects ended.
        urls: Canonical URLs of pages or sitemaps that it lists.
    """
    named_as = {sitemap.url, sitemap.root or sitemap.url}
    may_list: dict[str, bool] = {}
    allowed: list[str] = []
    others, unread = 0, None
    for number, url in enumerate(urls, 1):
        if not number % PIECE:
            await asyncio.sleep(0)
        host = host_of(url)
        if host not in may_list:
            may_list[host] = _is_own(sitemap, final_url, host)
            if not may_list[host] and others < MAX_OTHER_HOSTS:
                others += 1
                named = await fetcher.named_sitemaps(url)
                unread = unread or (host if named is None else None)
                may_list[host] = not named_as.isdisjoint(canonical_urls(named or ()))
        if may_list[host]:
            allowed.append(url)
    return Vetted(allowed, len(urls) - len(allowed), unread)


def _is_own(sitemap: SitemapFile, final_url: str, host: str) -> bool:
    """Whether a host is the sitemap's own, or the target of a redirect if a user added it."""
    own = [host_of(sitemap.url)]
    if sitemap.depth == 0:
        own.append(host_of(final_url))
    return any(is_same_site(host, one) for one in own)


def canonical_urls(written: Sequence[str]) -> list[str]:
    """Return URLs in canonical form, without invalid ones."""
    found = []
    for url in written:
        with suppress(AddressError, ValueError):
            found.append(canonical(url))
    return found

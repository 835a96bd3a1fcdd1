"""Which hosts a sitemap speaks for."""

import asyncio
from typing import TYPE_CHECKING, cast

import pytest

from recrawl.crawler.sitemap_hosts import vet
from recrawl.store.rows import SitemapFile

if TYPE_CHECKING:
    from recrawl.crawler.protocols import FileFetching

AT = "https://old.example/sitemap.xml"
PAGES = ["https://old.example/1", "https://new.example/1", "https://else.example/1"]


class NamesNothing:
    """Hosts whose robots.txt names no sitemap."""

    async def named_sitemaps(self, url: str) -> tuple[str, ...] | None:  # noqa: ARG002
        return ()


@pytest.mark.parametrize(("depth", "allowed"), [(0, 2), (1, 1)])
def test_a_sitemap_that_was_added_speaks_for_the_host_it_redirects_to(
    depth: int, allowed: int
) -> None:
    sitemap = SitemapFile(AT, depth=depth)
    moved_to = "https://new.example/sitemap.xml"
    vetted = asyncio.run(vet(cast("FileFetching", NamesNothing()), sitemap, moved_to, PAGES))
    assert vetted.urls == PAGES[:allowed]
    assert vetted.skipped == len(PAGES) - allowed

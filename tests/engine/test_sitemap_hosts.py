"""Which hosts a sitemap speaks for."""

import asyncio
from typing import TYPE_CHECKING, cast

import pytest

from recrawl.engine.discovery.sitemap_hosts import Vetted, vet
from recrawl.hosts import host_of
from recrawl.store.rows import SitemapFile

if TYPE_CHECKING:
    from recrawl.engine.protocols import FileFetching

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


class Hosts:
    """Hosts whose robots.txt names some sitemaps; None for one that cannot be read."""

    def __init__(self, named: dict[str, tuple[str, ...] | None]) -> None:
        self.named = named
        self.asked = list[str]()

    async def named_sitemaps(self, url: str) -> tuple[str, ...] | None:
        self.asked.append(host_of(url))
        return self.named.get(host_of(url), ())


def vetted(hosts: Hosts, urls: list[str], sitemap: SitemapFile | None = None) -> Vetted:
    own = sitemap or SitemapFile(AT)
    return asyncio.run(vet(cast("FileFetching", hosts), own, own.url, urls))


def test_hosts_that_name_the_sitemap_or_its_index_may_be_listed() -> None:
    index = "https://old.example/index.xml"
    named = {"b.example": (AT,), "c.example": ("not a URL", index), "d.example": ("https://x/",)}
    hosts = Hosts({**named})
    urls = [f"https://{name}.example/{n}" for n in range(2) for name in ("b", "c", "d", "old")]
    found = vetted(hosts, urls, SitemapFile(AT, root=index, depth=1))
    assert found == (urls[:2] + urls[3:6] + urls[7:], 2, None)
    # Once each.
    assert hosts.asked == ["b.example", "c.example", "d.example"]
    alone = vetted(Hosts({**named}), urls)
    assert (len(alone.urls), alone.skipped) == (4, 4)


def test_the_first_host_that_cannot_be_read_is_named() -> None:
    hosts = Hosts({"b.example": None, "c.example": None, "d.example": (AT,)})
    urls = [f"https://{name}.example/" for name in ("a", "b", "c", "d")]
    assert vetted(hosts, urls) == (urls[3:], 3, "b.example")


def test_the_robots_txt_of_ten_other_hosts_is_read_and_no_more() -> None:
    urls = [f"https://h{number}.example/" for number in range(11)]
    hosts = Hosts({host_of(url): (AT,) for url in urls})
    assert vetted(hosts, [*urls, PAGES[0]]) == ([*urls[:10], PAGES[0]], 1, None)
    assert len(hosts.asked) == 10


def test_long_sitemaps_let_others_have_their_turn() -> None:
    async def count_turns(urls: int) -> int:
        turns = 0

        async def others() -> None:
            nonlocal turns
            while True:
                turns += 1
                await asyncio.sleep(0)

        task = asyncio.create_task(others())
        await vet(cast("FileFetching", Hosts({})), SitemapFile(AT), AT, PAGES[:1] * urls)
        task.cancel()
        return turns

    assert [asyncio.run(count_turns(urls)) for urls in (999, 1_000, 3_500)] == [0, 1, 3]

"""Other crawlers lease pages beside a crawl of our own."""

import asyncio
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

from crawler.fakes import PER_SECOND, FakeWeb, ParsedHere, Running, crawl, settings_of
from site_server import page_about
from virtual_time import now

from recrawl.config.readers import site_readers
from recrawl.engine.crawl_delays import CrawlDelays
from recrawl.engine.leases import Answer, LeaseRequest
from recrawl.engine.lending import Lending
from recrawl.engine.reports import Report
from recrawl.fetching.client import patience_of
from recrawl.fetching.visit import Visitor
from recrawl.hosts import host_of
from recrawl.store.rows import NewPage
from recrawl.store.sqlite import SqliteStore

URLS = [f"https://h{host}.example/{page}" for host in range(6) for page in range(10)]


class Lent(NamedTuple):
    """A page that was lent to another crawler, and for how long."""

    page: int
    url: str
    since: float
    until: float


def test_a_page_and_a_host_are_with_one_crawler_at_a_time(tmp_path: Path) -> None:
    settings = settings_of(budget=20 * PER_SECOND, host_delay=0.2, connections=3)
    web = FakeWeb(lambda url: page_about(f"{url} at {now() // 3:.0f}."), seconds=0.05)
    lent, answers = list[Lent](), Counter[Answer]()

    async def lease(lending: Lending) -> None:
        while True:
            leased = await lending.lease(LeaseRequest(4, pages_per_host=2))
            if not leased.pages:
                await asyncio.sleep(0.05)
            for page in leased.pages:
                began = now()
                await asyncio.sleep(0.03)
                found = Report(page.number, 200, digest=str(now() // 3))
                answers.update(await lending.report(leased.id, [found]))
                lent.append(Lent(page.number, page.url, began, now()))

    tasks = set[asyncio.Task[Any]]()

    def start(running: Running) -> None:
        engine = running.engine
        thread = engine._store  # noqa: SLF001 - a crawl has it, and a test does not
        visitor = Visitor(
            web,
            site_readers(settings),
            store.body,
            settings.full_fetch_every,
            patience_of(settings),
            ParsedHere(),
        )
        lending = Lending(
            engine,
            thread,
            store.service,
            visitor,
            settings,
            engine._clock,  # noqa: SLF001
            CrawlDelays(thread),
        )
        tasks.add(asyncio.create_task(lease(lending)))

    with SqliteStore.open(tmp_path / "recrawl.db", create=True) as store:
        store.add([NewPage(url, host_of(url)) for url in URLS], 0)
        crawl(web, store, settings, seconds=60.0, during=start)
        assert store.check() == []
    assert set(answers) == {Answer.RECORDED}
    assert len(lent) > 100
    assert len(web.fetched) > 100
    for one in lent:
        meanwhile = [
            fetch
            for fetch in web.fetched
            if host_of(fetch.url) == host_of(one.url) and one.since <= fetch.at < one.until
        ]
        assert meanwhile == []

"""The program of a worker process, in virtual time, with a fake web and a fake engine."""

import asyncio
import logging
import math
from collections.abc import Awaitable, Callable
from itertools import pairwise
from types import SimpleNamespace
from typing import Any

import pytest
from crawler.fakes import FakeWeb, MemoryStore, ParsedHere, settings_of
from site_server import page_about
from virtual_time import clock, run, until

from recrawl.config.readers import site_readers
from recrawl.engine.leases import Leased, LeaseRequest
from recrawl.engine.templates import Templates
from recrawl.fetching import worker_process
from recrawl.fetching.client import patience_of
from recrawl.fetching.outages import Outages
from recrawl.fetching.visit import Visitor
from recrawl.fetching.worker import GRACE
from recrawl.fetching.worker_process import (
    SEND_COUNT,
    Progress,
    ReportedVisit,
    WorkerProcess,
)
from recrawl.http.host_pacing import HostPacing
from recrawl.records import Outcome, Page

A = "https://a.example"


class Lessor(list[tuple[Any, ...]]):
    """A channel whose messages are kept, and the engine behind it.

    Attributes:
        due: Pages to lend.
        requests: What it was asked for.
    """

    def __init__(self) -> None:
        super().__init__()
        self.is_congested = False
        self.due: list[Page] = []
        self.delay = 0.0
        self.requests: list[LeaseRequest] = []

    def notify(self, *message: object) -> None:
        self.append(message)

    async def ask(self, what: str, request: LeaseRequest) -> Leased:
        assert what == "lease"
        self.requests.append(request)
        pages, self.due = self.due[: request.limit], self.due[request.limit :]
        return Leased(f"lease {len(self.requests)}", 0, pages, [self.delay] * len(pages))

    def reports(self) -> list[tuple[list[ReportedVisit], dict[str, bytes], Progress]]:
        return [(about[0], about[1], about[2]) for what, *about in self if what == "report"]

    def reported(self) -> list[ReportedVisit]:
        return [one for found, _, _ in self.reports() for one in found]


class Fetching:
    """A worker process and everything around it."""

    def __init__(self, pages: int, **settings: Any) -> None:  # noqa: ANN401
        self.urls = [f"{A}/{number}" for number in range(pages)]
        self.store = MemoryStore(*self.urls)
        self.web = FakeWeb({url: page_about(f"This is {url}.") for url in self.urls})
        self.lessor = Lessor()
        self.settings = settings_of(**settings)
        self.pacing = HostPacing(self.settings.delay_of, self.settings.host_connections)

    def run(self, use: Callable[[WorkerProcess], Awaitable[None]]) -> None:
        """Run the process while it is used, and until it is stopped."""

        async def main() -> None:
            visitor = Visitor(
                self.web,
                site_readers(self.settings),
                self.store.body,
                self.settings.full_fetch_every,
                patience_of(self.settings),
                ParsedHere(),
                templates=Templates(self.store.template),
            )
            fetcher: Any = SimpleNamespace(
                gate=SimpleNamespace(pacing=self.pacing),
                ahead=self.web.ahead,
                robots=SimpleNamespace(requests=3),
                files=4,
            )
            channel: Any = self.lessor
            process = WorkerProcess(self.settings, clock(), channel, fetcher, visitor)
            running = asyncio.ensure_future(process.run())
            await use(process)
            process.stop()
            await running

        run(main())

    def lend(self, first: int, last: int) -> None:
        self.lessor.due += [self.store.page(url) for url in self.urls[first:last]]


def test_pages_are_visited_and_reported_with_how_far_the_process_is() -> None:
    fetching = Fetching(2)

    async def use(_process: WorkerProcess) -> None:
        fetching.lend(0, 2)
        await asyncio.sleep(1.0)

    fetching.run(use)
    assert fetching.lessor[0] == ("ready",)
    assert fetching.lessor[-1] == ("done", 0)
    findings = fetching.lessor.reported()
    assert [one.visit.outcome for one in findings] == [Outcome.FIRST] * 2
    assert all(one.visit.sketches is None for one in findings), "templates are learned here"
    assert all(one.visit.content for one in findings)
    assert any("a.example" in learned for _, learned, _ in fetching.lessor.reports())
    assert fetching.lessor.reports()[-1][2] == Progress(0, 3, 4, {})


def test_findings_are_sent_together_but_not_too_many() -> None:
    fetching = Fetching(2 * SEND_COUNT + 1, connections=200, host_connections=200)

    async def use(_process: WorkerProcess) -> None:
        fetching.lend(0, 2 * SEND_COUNT + 1)
        await asyncio.sleep(1.0)

    fetching.run(use)
    sizes = [len(findings) for findings, _, _ in fetching.lessor.reports()]
    assert sum(sizes) == 2 * SEND_COUNT + 1
    assert sorted(sizes)[-2:] == [SEND_COUNT, SEND_COUNT]


def test_outages_are_looked_for_now_and_then(monkeypatch: pytest.MonkeyPatch) -> None:
    looks = list[int]()

    def current(_outages: Outages, now: int) -> dict[str, int]:
        looks.append(now)
        return {"a.example": len(looks)}

    monkeypatch.setattr(Outages, "current", current)
    fetching = Fetching(400)
    fetching.web.seconds = 0.05

    async def use(_process: WorkerProcess) -> None:
        fetching.lend(0, 400)
        await asyncio.sleep(10.0)

    fetching.run(use)
    assert len(fetching.lessor.reports()) > 20
    # Once a second: with thousands of hosts each look takes a while.
    gaps = [(later - earlier) / 1e6 for earlier, later in pairwise(looks)]
    assert min(gaps) >= 0.99
    # While there are pages to visit.
    assert max(gaps[:3]) <= 1.1
    assert fetching.lessor.reports()[-1][2].outages == {"a.example": len(looks)}


def test_no_visit_begins_while_too_much_waits_to_be_sent() -> None:
    fetching = Fetching(1)

    async def use(_process: WorkerProcess) -> None:
        fetching.lessor.is_congested = True
        fetching.lend(0, 1)
        await asyncio.sleep(5.0)
        assert fetching.web.fetched == []
        fetching.lessor.is_congested = False
        await asyncio.sleep(1.0)
        assert len(fetching.web.fetched) == 1

    fetching.run(use)


def test_pages_are_leased_for_as_long_as_the_process_lives_and_reported_with_their_delay() -> None:
    fetching = Fetching(1)
    fetching.lessor.delay = 0.75

    async def use(_process: WorkerProcess) -> None:
        fetching.lend(0, 1)
        await asyncio.sleep(1.0)

    fetching.run(use)
    assert {request.seconds for request in fetching.lessor.requests} == {math.inf}
    ((lease, visit, delay),) = fetching.lessor.reported()
    assert lease.startswith("lease ")
    assert (visit.page.url, delay) == (f"{A}/0", 0.75)


def test_a_process_visits_at_once_what_it_may_visit() -> None:
    """It is woken by pages, and by a host that may be asked again."""
    fetching = Fetching(3, host_delay=0.25, host_connections=1)

    async def use(_process: WorkerProcess) -> None:
        await asyncio.sleep(0.777)
        fetching.lend(0, 3)
        await asyncio.sleep(3.0)

    fetching.run(use)
    times = [fetch.at for fetch in fetching.web.fetched]
    assert times[0] == pytest.approx(0.777, abs=0.03)
    assert len(times) == 3


def test_a_process_that_is_stopped_waits_for_visits_but_not_for_ever() -> None:
    fetching = Fetching(3, host_connections=3)
    fetching.web.seconds = lambda url: 1.0 if url.endswith("/0") else 100.0

    async def use(process: WorkerProcess) -> None:
        fetching.lend(0, 2)
        await asyncio.sleep(0.5)
        process.stop()
        fetching.lend(2, 3)
        began = asyncio.get_running_loop().time()
        await until(lambda: ("done", 1) in fetching.lessor)
        assert asyncio.get_running_loop().time() - began == pytest.approx(GRACE, abs=0.02)

    fetching.run(use)
    assert len(fetching.web.fetched) == 2
    findings = fetching.lessor.reported()
    assert [one.visit.page.number for one in findings] == [0]


def test_a_visit_that_fails_for_reasons_of_our_own_ends_the_process() -> None:
    fetching = Fetching(1)

    def fail(_url: str) -> None:
        raise MemoryError("no more")

    fetching.web.before = fail

    async def use(_process: WorkerProcess) -> None:
        fetching.lend(0, 1)
        await asyncio.sleep(0.1)

    with pytest.raises(MemoryError, match="no more"):
        fetching.run(use)


def test_what_a_process_logs_is_logged_by_the_crawl() -> None:
    sent, logger = Lessor(), logging.getLogger("recrawl")
    before = logger.level, list(logger.handlers)
    try:
        worker_process._forward_logs(sent, logging.INFO)  # type: ignore[arg-type]  # noqa: SLF001
        logging.getLogger("recrawl.http").info("%d of %d", 1, 2)
        logging.getLogger("recrawl.http").debug("not wanted")
        logging.getLogger("other").error("not ours")
    finally:
        logger.setLevel(before[0])
        logger.handlers[:] = before[1]
    assert sent == [("log", "recrawl.http", logging.INFO, "1 of 2")]

"""Worker processes, as far as no server is needed: they lease from a real engine."""

import asyncio
import errno
import logging
import math
import socket
from collections.abc import Awaitable, Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from fetching.fake_processes import FakeProcesses, settle
from service.served import Served, served, settings_in
from virtual_time import clock, now, run, until

from recrawl import Crawler
from recrawl.engine.templates import Templates
from recrawl.errors import RecrawlError
from recrawl.fetching import restarting_process
from recrawl.fetching.restarting_process import END_SECONDS, FIRST_PAUSE, MAX_PAUSE, MAX_STARTS
from recrawl.fetching.worker import GRACE
from recrawl.fetching.worker_process import Progress
from recrawl.fetching.worker_processes import WorkerProcesses
from recrawl.records import Response, RobotsText

A, B = "https://a.example", "https://b.example"
URLS = [f"{host}/{number}" for host in (A, B) for number in range(16)]


class Crawl:
    """An engine whose worker processes are fake, and what it was told."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, folder: Path, **settings: str) -> None:
        self.started = FakeProcesses(monkeypatch)
        self.robots: list[tuple[str, RobotsText]] = []
        self.templates = Templates()
        self.hops: list[tuple[str, int]] = []
        self.on: Served
        given = {"processes": "2", "connections": "8", "host_delay": "0s", "budget": "9/s"}
        self.settings = settings_in(folder, **given | settings)

    def run(self, use: Callable[[WorkerProcesses], Awaitable[None]]) -> None:
        """Use the processes, in virtual time."""

        async def main() -> None:
            fetcher: Any = SimpleNamespace(fetch_hop=self._hop)
            async with (
                served(self.settings, URLS) as self.on,
                WorkerProcesses(
                    self.settings,
                    clock(),
                    self.on.engine,
                    self.on.lending,
                    fetcher,
                    lambda *file: self.robots.append(file),
                    self.templates,
                ) as processes,
            ):
                await self.ready()
                await asyncio.sleep(10.0)
                await use(processes)
                processes.cancel()
                await settle()

        run(main())

    async def ready(self) -> None:
        """Have all processes that were started say that they are ready."""
        await settle()
        for one in self.started:
            one.channel.notify("ready")
        await settle()

    async def _hop(self, url: str, max_bytes: int, **_: object) -> Response:
        self.hops.append((url, max_bytes))
        return Response(url, 200, 0)


def test_a_host_is_with_one_process_at_a_time_until_all_its_pages_are_back(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    crawl = Crawl(monkeypatch, tmp_path)

    async def use(processes: WorkerProcesses) -> None:
        one, other = crawl.started
        first = await one.lease(4, hosts=["a.example"])
        host = "a.example"
        assert len(first.pages) == 4
        second = await other.lease(32, pages_per_host=4)
        assert host not in {page.host for page in second.pages}
        other.report(second, *second.pages)
        one.report(first, *first.pages[:3])
        await settle()
        assert host not in {page.host for page in (await other.lease(32)).pages}
        one.report(first, first.pages[3])
        await settle()
        third = await other.lease(32)
        assert {page.host for page in third.pages} == {host}
        assert not {page.number for page in third.pages} & {page.number for page in first.pages}
        assert processes.pids == [100, 101]
        assert (processes.opens_at, processes.wanted()) == (math.inf, 0)

    crawl.run(use)
    assert all(one.is_killed for one in crawl.started)


def test_a_process_gets_its_share_of_connections(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    crawl = Crawl(monkeypatch, tmp_path, connections="7", parse_processes="5")

    async def use(_processes: WorkerProcesses) -> None:
        for one in crawl.started:
            shared = one.task.settings
            assert (shared.connections, shared.parse_processes, one.task.processes) == (4, 2, 2)

    crawl.run(use)


def test_a_report_of_a_page_that_is_on_no_lease_is_ignored(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    crawl = Crawl(monkeypatch, tmp_path)

    async def use(_processes: WorkerProcesses) -> None:
        one, other = crawl.started
        mine, others = await one.lease(1), await other.lease(32)
        one.report(mine, others.pages[0])
        await settle()
        assert f"{others.pages[0].url} is ignored" in caplog.text
        assert crawl.on.lending.leases.out == 1 + len(others.pages)

    crawl.run(use)


def test_delays_are_what_the_processes_say(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    crawl = Crawl(monkeypatch, tmp_path, host_delay="2s")

    async def use(_processes: WorkerProcesses) -> None:
        one = crawl.started[0]
        for delay, kept in ((7.0, 7.0), (1.0, 2.0)):
            leased = await one.lease(1)
            (page,) = leased.pages
            one.report(leased, page, delay=delay)
            await settle()
            assert crawl.on.engine.pacing.delay_of(page.host) == kept
            await asyncio.sleep(20.0)

    crawl.run(use)


def test_outages_requests_robots_and_templates_of_all_processes_are_collected(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    crawl = Crawl(monkeypatch, tmp_path)

    async def use(processes: WorkerProcesses) -> None:
        robots = RobotsText("https://a.example", 200, "", 0)
        for number, one in enumerate(crawl.started, 1):
            progress = Progress(0, number, 10 * number, {f"host{number}": number})
            one.channel.notify("report", [], {f"t{number}": b"x"}, progress)
        crawl.started[0].channel.notify("robots", robots)
        await settle()
        assert processes.outages(0) == {"host1": 1, "host2": 2}
        assert processes.other_requests() == (3, 30)
        assert crawl.templates.changed() == {"t1": b"x", "t2": b"x"}
        assert crawl.robots == [("https://a.example", robots)]

    crawl.run(use)


def test_what_a_process_logs_is_logged_here(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    crawl = Crawl(monkeypatch, tmp_path)

    async def use(_processes: WorkerProcesses) -> None:
        crawl.started[0].channel.notify("log", "recrawl.http", logging.ERROR, "50 % of it")
        await settle()

    crawl.run(use)
    assert ("recrawl.http", logging.ERROR, "50 % of it") in caplog.record_tuples


def test_a_redirect_to_a_host_that_a_process_does_not_have_is_followed_here(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    crawl = Crawl(monkeypatch, tmp_path)

    async def use(_processes: WorkerProcesses) -> None:
        flags = False, True
        found = await crawl.started[0].channel.ask("hop", f"{B}/1", 5, *flags)
        assert (found.url, found.status) == (f"{B}/1", 200)

    crawl.run(use)
    assert crawl.hops == [(f"{B}/1", 5)]


def test_pages_of_a_process_that_ended_are_released_and_its_requests_kept(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    crawl = Crawl(monkeypatch, tmp_path)

    async def use(processes: WorkerProcesses) -> None:
        one = crawl.started[0]
        leased = await one.lease(16)
        one.report(leased, leased.pages[0], progress=Progress(3, 5, 7))
        await settle()
        assert processes.in_flight == 3
        one.channel.close()
        await settle()
        assert f"its {len(leased.pages) - 1} pages are visited later" in caplog.text
        assert crawl.on.lending.leases.out == 0
        assert (processes.in_flight, processes.failed) == (0, None)
        await asyncio.sleep(1.1 * FIRST_PAUSE)
        await crawl.ready()
        assert len(crawl.started) == 3
        again = set[int]()
        for _ in range(4):
            await asyncio.sleep(10.0)
            lease = await crawl.started[2].lease(32)
            again |= {page.number for page in lease.pages}
            crawl.started[2].report(lease, *lease.pages, progress=Progress(0, 1, 2))
            await settle()
        assert again >= {page.number for page in leased.pages[1:]}
        assert processes.other_requests() == (6, 9)
        # Each that ends when told to loses one.
        assert await processes.end() == 2

    crawl.run(use)


def test_the_pause_before_a_new_start_doubles_until_a_process_has_run_for_long(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    crawl = Crawl(monkeypatch, tmp_path, processes="1")
    monkeypatch.setattr(restarting_process, "time", SimpleNamespace(monotonic=now))

    async def pause_after_an_end() -> float:
        count, ended = len(crawl.started), now()
        crawl.started[-1].channel.close()
        await until(lambda: len(crawl.started) > count)
        began = now()
        await crawl.ready()
        return began - ended

    async def use(_processes: WorkerProcesses) -> None:
        pauses = [await pause_after_an_end() for _ in range(12)]
        usual = [min(FIRST_PAUSE * 2**n, MAX_PAUSE) for n in range(12)]
        assert pauses == pytest.approx(usual, abs=0.03)
        await asyncio.sleep(MAX_PAUSE + 1.0)
        assert await pause_after_an_end() == pytest.approx(FIRST_PAUSE, abs=0.03)

    crawl.run(use)


def test_a_crawl_fails_when_processes_end_before_they_are_ready(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    crawl = Crawl(monkeypatch, tmp_path, processes="1")

    async def use(processes: WorkerProcesses) -> None:
        # It was ready once: that start counts as the first.
        for starts in range(1, MAX_STARTS):
            assert processes.failed is None
            crawl.started[-1].channel.close()
            await asyncio.sleep(1.0)
            assert len(crawl.started) == starts + 1
        crawl.started[-1].channel.close()
        await asyncio.sleep(MAX_PAUSE)
        assert len(crawl.started) == MAX_STARTS
        with pytest.raises(RecrawlError, match="die as soon as they start"):
            await processes.end()

    crawl.run(use)


def test_a_crawl_fails_if_a_process_cannot_be_started_again(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    crawl = Crawl(monkeypatch, tmp_path, processes="1")

    async def use(processes: WorkerProcesses) -> None:
        crawl.started.cannot_start = True
        crawl.started[0].channel.close()
        await asyncio.sleep(1.0)
        assert "cannot start a process to fetch pages: no memory" in str(processes.failed)

    crawl.run(use)


def test_a_crawl_fails_if_there_are_no_file_descriptors_for_a_process(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    crawl = Crawl(monkeypatch, tmp_path, processes="1")

    def no_pair() -> None:
        raise OSError(errno.EMFILE, "Too many open files")

    async def use(processes: WorkerProcesses) -> None:
        monkeypatch.setattr(socket, "socketpair", no_pair)
        crawl.started[0].channel.close()
        await asyncio.sleep(1.0)
        assert "cannot start a process to fetch pages" in str(processes.failed)
        assert "Too many open files" in str(processes.failed)

    crawl.run(use)


def test_a_crawl_fails_with_what_a_process_says(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    crawl = Crawl(monkeypatch, tmp_path)

    async def use(processes: WorkerProcesses) -> None:
        for one in crawl.started:
            one.channel.notify("failed", ValueError(str(one.pid)))
            await settle()
            one.channel.close()
            await asyncio.sleep(1.0)
        assert len(crawl.started) == 2, "there is no use in starting it again"
        with pytest.raises(ValueError, match="100"):
            await processes.end()

    crawl.run(use)


def test_a_process_that_does_not_end_is_not_waited_for(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """What was in flight as far as it has said is lost."""
    crawl = Crawl(monkeypatch, tmp_path)

    async def use(processes: WorkerProcesses) -> None:
        hangs, obeys = crawl.started
        hangs.obeys = False
        for one in (hangs, obeys):
            one.channel.notify("report", [], {}, Progress(4))
        await settle()
        began = now()
        assert await processes.end() == 4 + 1
        assert now() - began == pytest.approx(GRACE + END_SECONDS)

    crawl.run(use)


def test_processes_are_killed_before_anything_else_happens(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """An event loop that ends right after it would not notice that they have gone."""
    crawl = Crawl(monkeypatch, tmp_path)

    async def use(processes: WorkerProcesses) -> None:
        assert not any(one.is_killed for one in crawl.started)
        processes.cancel()
        assert all(one.is_killed for one in crawl.started)

    crawl.run(use)


def test_processes_are_not_started_again_at_the_end(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    crawl = Crawl(monkeypatch, tmp_path)

    async def use(processes: WorkerProcesses) -> None:
        crawl.started[0].channel.close()
        await settle()
        assert await processes.end() == 1
        await asyncio.sleep(MAX_PAUSE)
        assert len(crawl.started) == 2

    crawl.run(use)


def test_a_crawl_ends_if_its_processes_cannot_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    starts = tmp_path / "starts"
    note = f"open({str(starts)!r}, 'a').write('x')"
    monkeypatch.setattr(restarting_process, "_PROGRAM", note)
    monkeypatch.setattr(restarting_process, "FIRST_PAUSE", 0.0)
    with Crawler(tmp_path / "recrawl.db", processes=2) as crawler:
        crawler.add(["http://127.0.0.1:9/"])
        with pytest.raises(RecrawlError, match="die as soon as they start"):
            crawler.run(300.0)
    # One of the two is given up, the other may have been started as often.
    tries = len(starts.read_text("ascii"))
    assert restarting_process.MAX_STARTS + 1 <= tries <= 2 * restarting_process.MAX_STARTS

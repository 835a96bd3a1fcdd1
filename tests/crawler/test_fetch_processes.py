"""Processes that fetch, as far as no server is needed."""

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
from crawler.fake_processes import FakeProcesses, settle, visited
from crawler.fakes import settings_of
from virtual_time import clock, now, run, until

from recrawl import Crawler
from recrawl.crawler import restarting_process
from recrawl.crawler.fetch_process import Progress
from recrawl.crawler.fetch_processes import FetchProcesses, LearnedElsewhere
from recrawl.crawler.host_shares import process_of
from recrawl.crawler.restarting_process import END_SECONDS, FIRST_PAUSE, MAX_PAUSE, MAX_STARTS
from recrawl.crawler.visiting import GRACE, Events, PacedVisit
from recrawl.errors import RecrawlError
from recrawl.records import Page, RobotsText

HOST = "a.example"
#: A host of the other one of two processes.
OTHER = next(
    f"{n}.example" for n in range(9) if process_of(f"{n}.example", 2) != process_of(HOST, 2)
)


class Crawl:
    """A crawl whose fetch processes are fake, and what it was told."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, **settings: Any) -> None:  # noqa: ANN401
        self.started = FakeProcesses(monkeypatch)
        self.robots: list[tuple[str, RobotsText]] = []
        self.found: list[PacedVisit] = []
        self.released: list[int] = []
        self.wakes = 0
        self.is_full = False
        given = {"processes": 2, "connections": 8, "host_connections": 1} | settings
        self.settings = settings_of(**given)

    def run(self, use: Callable[[FetchProcesses], Awaitable[None]]) -> None:
        """Use the processes, in virtual time."""

        async def main() -> None:
            processes = FetchProcesses(
                self.settings, clock(), lambda *file: self.robots.append(file)
            )
            events = Events(self.found.append, self._wake, lambda: self.is_full, self._release)
            async with processes.use(events):
                await self.ready()
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

    def process_of(self, host: str) -> Any:  # noqa: ANN401
        """Return the newest process of a host."""
        number = process_of(host, 2)
        return [one for one in self.started if one.task.number == number][-1]

    def _wake(self) -> None:
        self.wakes += 1

    def _release(self, pages: Any) -> None:  # noqa: ANN401
        self.released += pages


def pages_of(host: str, *numbers: int) -> list[Page]:
    return [Page(number, f"https://{host}/{number}", host) for number in numbers]


def test_pages_go_to_the_process_of_their_host_together(monkeypatch: pytest.MonkeyPatch) -> None:
    crawl = Crawl(monkeypatch)

    async def use(processes: FetchProcesses) -> None:
        for page in (*pages_of(HOST, 1, 2), *pages_of(OTHER, 3)):
            processes.add(page)
        await settle()
        assert [one.pages for one in crawl.started] == [[], []]
        processes.start()
        processes.start()
        await settle()
        assert crawl.process_of(HOST).pages == [1, 2]
        assert crawl.process_of(OTHER).pages == [3]
        kinds = [what for what, *_ in crawl.process_of(HOST).received]
        assert kinds == ["task", "pages"]
        assert crawl.process_of(HOST).task.settings == crawl.settings
        assert not crawl.process_of(HOST).task.is_restarted
        assert processes.pids == [100, 101]
        assert processes.opens_at == math.inf

    crawl.run(use)
    assert all(one.is_killed for one in crawl.started)


def test_pages_wait_until_a_process_is_ready(monkeypatch: pytest.MonkeyPatch) -> None:
    crawl = Crawl(monkeypatch)

    async def no_one_is_ready() -> None:
        await settle()

    monkeypatch.setattr(crawl, "ready", no_one_is_ready)

    async def use(processes: FetchProcesses) -> None:
        (page,) = pages_of(HOST, 1)
        processes.add(page)
        processes.start()
        await settle()
        assert crawl.process_of(HOST).pages == []
        wakes = crawl.wakes
        crawl.process_of(HOST).channel.notify("ready")
        await settle()
        assert crawl.wakes == wakes + 1
        processes.start()
        await settle()
        assert crawl.process_of(HOST).pages == [1]

    crawl.run(use)


def test_processes_are_told_once_that_much_is_to_be_written(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    crawl = Crawl(monkeypatch)

    async def use(processes: FetchProcesses) -> None:
        for is_full in (False, True, True, False):
            crawl.is_full = is_full
            processes.start()
        await settle()
        for one in crawl.started:
            assert [about for what, *about in one.received if what == "full"] == [[True], [False]]

    crawl.run(use)


def test_as_many_pages_are_wanted_as_by_one_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """Eight per connection wait; more are wanted when half of them are left."""
    crawl = Crawl(monkeypatch, connections=4)

    async def use(processes: FetchProcesses) -> None:
        assert processes.wanted() == 32
        added = pages_of(HOST, *range(20))
        for page in added:
            processes.add(page)
        processes.start()
        # What was sent may be in flight: two of the four connections are this process's.
        assert processes.in_flight == 2
        assert processes.wanted() == 2
        await settle()
        crawl.process_of(HOST).find(progress=Progress(20, 1))
        await settle()
        assert processes.in_flight == 1
        assert processes.wanted() == 3
        crawl.process_of(HOST).find(*map(visited, added[:3]), progress=Progress(20, 1))
        await settle()
        # Seventeen are out, and one of them is in flight: half of what may wait.
        assert processes.wanted() == 32 - 16

    crawl.run(use)


def test_the_queue_of_a_host_is_full_until_its_pages_are_found_or_dropped(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    crawl = Crawl(monkeypatch)

    async def use(processes: FetchProcesses) -> None:
        added = pages_of(HOST, *range(16))
        assert [processes.add(page) for page in added] == [False] * 15 + [True]
        assert not processes.add(*pages_of(OTHER, 99))
        processes.start()
        await settle()
        crawl.process_of(HOST).find(visited(added[0], dropped=(1, 2)))
        await settle()
        assert [one.visit.page.number for one in crawl.found] == [0]
        more = pages_of(HOST, 16, 17, 18)
        assert [processes.add(page) for page in more] == [False, False, True]

    crawl.run(use)


def test_delays_are_what_the_processes_say(monkeypatch: pytest.MonkeyPatch) -> None:
    crawl = Crawl(monkeypatch, host_delay=2.0)

    async def use(processes: FetchProcesses) -> None:
        (page,) = pages_of(HOST, 1)
        found = []
        for delay in (2.0, 7.0, 2.0):
            crawl.process_of(HOST).find(visited(page, delay=delay))
            await settle()
            found.append(processes.delay_of(HOST))
        assert found == [2.0, 7.0, 2.0]
        assert processes.delay_of(OTHER) == 2.0

    crawl.run(use)


def test_outages_requests_robots_and_templates_of_all_processes_are_collected(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    crawl = Crawl(monkeypatch)

    async def use(processes: FetchProcesses) -> None:
        robots = RobotsText("https://a.example", 200, "", 0)
        for number, one in enumerate(crawl.started, 1):
            progress = Progress(0, 0, number, 10 * number, {f"host{number}": number})
            one.channel.notify("found", [], {f"t{number}": b"x"}, progress)
        crawl.started[0].channel.notify("robots", robots)
        await settle()
        assert processes.outages(0) == {"host1": 1, "host2": 2}
        assert processes.other_requests() == (3, 30)
        assert processes.templates.changed() == {"t1": b"x", "t2": b"x"}
        assert crawl.robots == [("https://a.example", robots)]

    crawl.run(use)


def test_what_a_process_logs_is_logged_here(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    crawl = Crawl(monkeypatch)

    async def use(_processes: FetchProcesses) -> None:
        crawl.started[0].channel.notify("log", "recrawl.http", logging.ERROR, "50 % of it")
        await settle()

    crawl.run(use)
    assert ("recrawl.http", logging.ERROR, "50 % of it") in caplog.record_tuples


def test_files_are_fetched_by_the_process_of_their_host(monkeypatch: pytest.MonkeyPatch) -> None:
    crawl = Crawl(monkeypatch)
    url = f"https://{OTHER}/sitemap.xml"

    async def use(processes: FetchProcesses) -> None:
        await processes.fetch_file(url, 100, stay_on_site=True)
        await processes.named_sitemaps(url)
        assert crawl.process_of(OTHER).asked == [
            ("fetch_file", (url, 100, None), {"stay_on_site": True}),
            ("named_sitemaps", (url,), {}),
        ]
        assert crawl.process_of(HOST).asked == []
        # A process is redirected to a host of another one.
        found = await crawl.process_of(HOST).channel.ask(OTHER, "fetch_hop", (url, 5), {})
        assert found == ("fetch_hop", (url, 5), {})

    crawl.run(use)


def test_a_file_waits_while_no_process_is_ready(monkeypatch: pytest.MonkeyPatch) -> None:
    crawl = Crawl(monkeypatch)
    url = f"https://{OTHER}/sitemap.xml"

    async def use(processes: FetchProcesses) -> None:
        ended = crawl.process_of(OTHER)
        processes.cancel()
        await settle()
        waiting = [
            asyncio.ensure_future(one)
            for one in (
                processes.fetch_file(url, 100),
                processes.named_sitemaps(url),
                processes.ask_for_another(OTHER, "fetch_hop", (url, 5), {}),
            )
        ]
        await settle()
        assert not any(one.done() for one in waiting)
        for one in waiting:
            one.cancel()
        assert ended.asked == []

    crawl.run(use)


def test_who_waits_for_a_file_when_a_process_ends_learns_that(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    crawl = Crawl(monkeypatch)
    url = f"https://{OTHER}/sitemap.xml"

    async def use(processes: FetchProcesses) -> None:
        ends = crawl.process_of(OTHER)

        async def end(*_question: object) -> None:
            ends.channel.close()
            await asyncio.Event().wait()

        monkeypatch.setattr(ends.channel, "_asked", end)
        file, named, hop = await asyncio.gather(
            processes.fetch_file(url, 100),
            processes.named_sitemaps(url),
            processes.ask_for_another(OTHER, "fetch_hop", (url, 5), {}),
        )
        assert named is None
        for one in (file, hop):
            assert (one.url, one.status, one.requests, one.postponed) == (url, 0, 0, True)
            assert "died" in str(one.error)

    crawl.run(use)


def test_pages_of_a_process_that_ended_are_released_and_its_requests_kept(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    crawl = Crawl(monkeypatch)

    async def use(processes: FetchProcesses) -> None:
        added = pages_of(HOST, *range(16))
        for page in added:
            processes.add(page)
        crawl.is_full = True
        processes.start()
        await settle()
        crawl.process_of(HOST).find(visited(added[0]), progress=Progress(16, 3, 5, 7))
        await settle()
        wakes = crawl.wakes
        crawl.process_of(HOST).channel.close()
        await settle()
        assert crawl.wakes == wakes + 1
        assert sorted(crawl.released) == list(range(1, 16))
        assert "its 15 pages are visited later" in caplog.text
        assert (processes.in_flight, processes.wanted()) == (0, 64)
        assert processes.failed is None
        await asyncio.sleep(1.1 * FIRST_PAUSE)
        await crawl.ready()
        assert len(crawl.started) == 3
        assert crawl.started[2].task.is_restarted
        assert crawl.started[2].task.number == process_of(HOST, 2)
        crawl.started[2].find(progress=Progress(0, 0, 1, 2))
        # Its queue is empty: the new one gets pages, and learns again that it is to wait.
        assert [processes.add(page) for page in added] == [False] * 15 + [True]
        processes.start()
        await settle()
        assert crawl.started[2].pages == list(range(16))
        assert ("full", True) in crawl.started[2].received
        assert processes.other_requests() == (6, 9)
        # Three visits were in flight; and each that ends when told to loses one.
        assert await processes.end() == 3 + 2

    crawl.run(use)


def test_the_pause_before_a_new_start_doubles_until_a_process_has_run_for_long(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    crawl = Crawl(monkeypatch, processes=1)
    monkeypatch.setattr(restarting_process, "time", SimpleNamespace(monotonic=now))

    async def pause_after_an_end() -> float:
        count, ended = len(crawl.started), now()
        crawl.started[-1].channel.close()
        await until(lambda: len(crawl.started) > count)
        began = now()
        await crawl.ready()
        return began - ended

    async def use(_processes: FetchProcesses) -> None:
        pauses = [await pause_after_an_end() for _ in range(12)]
        usual = [min(FIRST_PAUSE * 2**n, MAX_PAUSE) for n in range(12)]
        assert pauses == pytest.approx(usual, abs=0.03)
        await asyncio.sleep(MAX_PAUSE + 1.0)
        assert await pause_after_an_end() == pytest.approx(FIRST_PAUSE, abs=0.03)

    crawl.run(use)


def test_a_crawl_fails_when_processes_end_before_they_are_ready(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    crawl = Crawl(monkeypatch, processes=1)

    async def use(processes: FetchProcesses) -> None:
        # It was ready once: that start counts as the first.
        for starts in range(1, MAX_STARTS):
            assert processes.failed is None
            crawl.started[-1].channel.close()
            await asyncio.sleep(1.0)
            assert len(crawl.started) == starts + 1
        wakes = crawl.wakes
        crawl.started[-1].channel.close()
        await asyncio.sleep(MAX_PAUSE)
        assert len(crawl.started) == MAX_STARTS
        assert crawl.wakes == wakes + 1
        with pytest.raises(RecrawlError, match="die as soon as they start"):
            await processes.end()

    crawl.run(use)


def test_a_crawl_fails_if_a_process_cannot_be_started_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    crawl = Crawl(monkeypatch, processes=1)

    async def use(processes: FetchProcesses) -> None:
        crawl.started.cannot_start = True
        crawl.started[0].channel.close()
        await asyncio.sleep(1.0)
        assert "cannot start a process to fetch pages: no memory" in str(processes.failed)

    crawl.run(use)


def test_a_crawl_fails_if_there_are_no_file_descriptors_for_a_process(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    crawl = Crawl(monkeypatch, processes=1)

    def no_pair() -> None:
        raise OSError(errno.EMFILE, "Too many open files")

    async def use(processes: FetchProcesses) -> None:
        monkeypatch.setattr(socket, "socketpair", no_pair)
        crawl.started[0].channel.close()
        await asyncio.sleep(1.0)
        assert "cannot start a process to fetch pages" in str(processes.failed)
        assert "Too many open files" in str(processes.failed)

    crawl.run(use)


def test_a_crawl_fails_with_what_a_process_says(monkeypatch: pytest.MonkeyPatch) -> None:
    crawl = Crawl(monkeypatch)

    async def use(processes: FetchProcesses) -> None:
        for one in crawl.started:
            one.channel.notify("failed", ValueError(str(one.pid)))
            await settle()
            one.channel.close()
            await asyncio.sleep(1.0)
        assert len(crawl.started) == 2, "there is no use in starting it again"
        with pytest.raises(ValueError, match="100"):
            await processes.end()

    crawl.run(use)


def test_a_process_that_does_not_end_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """What was in flight as far as it has said is lost."""
    crawl = Crawl(monkeypatch)

    async def use(processes: FetchProcesses) -> None:
        hangs, obeys = crawl.started
        hangs.obeys = False
        for one in (hangs, obeys):
            one.find(progress=Progress(0, 4))
        await settle()
        began = now()
        assert await processes.end() == 4 + 1
        assert now() - began == pytest.approx(GRACE + END_SECONDS)

    crawl.run(use)


def test_processes_are_killed_before_anything_else_happens(monkeypatch: pytest.MonkeyPatch) -> None:
    """An event loop that ends right after it would not notice that they have gone."""
    crawl = Crawl(monkeypatch)

    async def use(processes: FetchProcesses) -> None:
        assert not any(one.is_killed for one in crawl.started)
        processes.cancel()
        assert all(one.is_killed for one in crawl.started)

    crawl.run(use)


def test_processes_are_not_started_again_at_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    crawl = Crawl(monkeypatch)

    async def use(processes: FetchProcesses) -> None:
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


def test_what_was_learned_elsewhere_is_written_once() -> None:
    templates = LearnedElsewhere()
    templates.receive({"a.example": b"1", "b.example": b"1"})
    templates.receive({"a.example": b"2"})
    assert templates.changed() == {"a.example": b"2", "b.example": b"1"}
    assert templates.changed() == {}

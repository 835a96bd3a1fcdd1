"""Samples over time, and what is sent to the browsers that look."""

import asyncio
import json
import re
from collections.abc import Sequence
from dataclasses import replace
from html import unescape
from itertools import pairwise
from pathlib import Path

import pytest

pytest.importorskip("fastapi", reason="the service needs recrawl[serve]")
pytest.importorskip("jinja2", reason="the service needs recrawl[serve]")

from hypothesis import given
from hypothesis import strategies as st
from service.dashboard_site import NEW, NEWS, browsing
from virtual_time import run

from recrawl.engine.lag import Health, KeepingUp
from recrawl.engine.stats import Stats
from recrawl.errors import StoreError
from recrawl.service.auth.tokens import Access, User
from recrawl.service.dashboard.live import HEARTBEAT, MAX_EVENTS, Live, pace_text
from recrawl.service.dashboard.samples import CAPACITY, Sample, Samples, rows_of
from recrawl.store.rows import Trouble
from recrawl.store.samples import KeptSample, KeptSamples, Span

CLIENTS = 100
MINUTE = 60_000_000
NOON = 1_767_268_800_000_000


def sample(at: int, visits: int = 0) -> Sample:
    return Sample(at, 0.5, None, 0, 0.0, visits, visits, 2 * visits, 0)


def test_samples_of_an_hour_are_held() -> None:
    samples = Samples()
    assert samples.newest is None
    for at in range(CAPACITY + 5):
        samples.add(sample(at))
    assert [one.at for one in samples] == list(range(5, CAPACITY + 5))
    assert samples.newest == sample(CAPACITY + 4)


@given(
    steps=st.lists(st.tuples(st.integers(1, 10), st.integers(0, 9)), min_size=2, max_size=40),
    start=st.integers(0, 38),
)
def test_what_was_kept_and_what_is_sampled_make_one_curve(
    steps: list[tuple[int, int]], start: int
) -> None:
    """However much of it an earlier process saw, visits between two samples are the same."""
    at, visits, all_of_it = NOON, 0, list[Sample]()
    for minutes, more in steps:
        at, visits = at + minutes * MINUTE, visits + more
        all_of_it.append(sample(at, visits))
    kept = [
        one.kept_after(before) for before, one in zip([None, *all_of_it], all_of_it, strict=False)
    ]
    start = min(start, len(all_of_it) - 1)
    # The process began here: its counts begin with 0.
    live = [replace(one, **_counts_since(all_of_it[start], one)) for one in all_of_it[start:]]
    rows = rows_of(kept, live, Span.DAY)
    assert [row[0] for row in rows] == [one.at / 1e6 for one in all_of_it]
    assert _differences([row[2] for row in rows]) == _differences(
        [one.changed for one in all_of_it]
    )
    assert _differences([row[3] for row in rows]) == _differences(
        [one.unchanged for one in all_of_it]
    )


def _counts_since(first: Sample, one: Sample) -> dict[str, int]:
    return {
        "changed": one.changed - first.changed,
        "unchanged": one.unchanged - first.unchanged,
        "failed": one.failed - first.failed,
    }


def _differences(counts: Sequence[float | None]) -> list[float]:
    return [(after or 0) - (before or 0) for before, after in pairwise(counts)]


def test_nothing_is_drawn_where_no_process_ran() -> None:
    kept = [KeptSample(NOON + at * MINUTE, 0.5, 0, 0, 0, 0) for at in (0, 1, 60)]
    rows = rows_of(kept, [sample(NOON + 61 * MINUTE)], Span.MINUTE)
    assert [((row[0] or 0.0) - NOON / 1e6, row[1]) for row in rows] == [
        (0.0, 50.0),
        (60.0, 50.0),
        (120.0, None),
        (3_600.0, 50.0),
        (3_660.0, 50.0),
    ]


def test_the_curve_goes_on_after_a_restart(tmp_path: Path) -> None:
    async def main() -> None:
        async with browsing(tmp_path) as browser:
            first = Live(browser.on.service)
            task = asyncio.create_task(first.run())
            await asyncio.sleep(30 * 60.0)
            browser.on.service.stopping.set()
            await task
            browser.on.service.stopping.clear()
            # Another process begins, and knows nothing.
            page = await browser.show("/")
            found = re.search(r'data-columns="([^"]+)"', page)
            assert found is not None
            columns = json.loads(unescape(found[1]))["columns"]
            assert columns[0][-1] - columns[0][0] == pytest.approx(30 * 60.0, abs=5.0)
            assert 25 < len(columns[0]) < 40
            assert all(fresh is not None for fresh in columns[1])
            await asyncio.sleep(2 * 3600.0)
            page = await browser.show("/")
            assert 'href="/?over=day" aria-current="true"' in page
            for over in ("hour", "month", "years", "nonsense"):
                assert "data-columns" in await browser.show(f"/?over={over}")

    run(main())


def test_a_hundred_browsers_hear_the_same(tmp_path: Path) -> None:
    async def main() -> None:
        async with browsing(tmp_path) as browser:
            live, heard = Live(browser.on.service), [list[str]() for _ in range(CLIENTS)]

            async def listen(to: list[str]) -> None:
                to.extend([text async for text in live.events(User("", Access.READ))])

            async with asyncio.TaskGroup() as group:
                group.create_task(live.run())
                for one in heard:
                    group.create_task(listen(one))
                await asyncio.sleep(7.0)
                assert live.listeners == CLIENTS
                await browser.on.service.remove([NEW])
                await browser.on.service.remove([NEWS])
                await asyncio.sleep(2.0)
                browser.on.service.stopping.set()
            assert live.listeners == 0
            assert all(one == heard[0] for one in heard)
            events = [part for text in heard[0] for part in text.split("\n\n") if "data:" in part]
            named = [
                (part.split("\n")[0][7:], json.loads(part.split("data: ")[1])) for part in events
            ]
            samples = [data["sample"] for name, data in named if name == "sample"]
            assert len(samples) >= 4
            assert [row[0] for row in samples] == sorted({row[0] for row in samples})
            changes = [one for name, data in named if name == "changes" for one in data["changes"]]
            # A page without a copy was never there for readers of changes.
            assert [(one["kind"], one["url"]) for one in changes] == [("removed", NEWS)]
            assert len(live.samples) >= 4

    run(main())


def test_nothing_is_read_for_nobody_and_who_falls_behind_misses_old_events(tmp_path: Path) -> None:
    async def main() -> None:
        async with browsing(tmp_path) as browser:
            live = Live(browser.on.service)
            await live.look_for_changes()
            slow = live.events(User("", Access.READ))
            assert "connected" in await anext(slow)
            for _ in range(3 * MAX_EVENTS):
                live.sample()
            assert (await anext(slow)).count("event: sample") == MAX_EVENTS
            assert "nothing new" in await asyncio.wait_for(anext(slow), 2 * HEARTBEAT)
            await slow.aclose()  # type: ignore[attr-defined]
            assert live.listeners == 0

    run(main())


@pytest.mark.parametrize(
    ("up", "failing", "pages", "expected"),
    [
        (KeepingUp(0.9), 0, 100, "good"),
        # A page is visited every 1,000 s on average; 100 s late, over all pages, is a tenth.
        (KeepingUp(0.9, due=5, latest=9_000.0, lateness=1_999.0), 0, 100, "good"),
        (KeepingUp(0.9, due=5, latest=9_000.0, lateness=2_001.0), 0, 100, "bad"),
        (KeepingUp(0.9, without_copy=3, untried=3), 0, 100, "busy"),
        # A page that always fails is not one that is about to be fetched.
        (KeepingUp(0.9, without_copy=3), 3, 100, "good"),
        (KeepingUp(0.9, without_copy=52, untried=1), 51, 100, "bad"),
        (KeepingUp(0.9), 51, 100, "bad"),
        (KeepingUp(), 0, 0, "busy"),
    ],
)
def test_whether_it_keeps_up(up: KeepingUp, failing: int, pages: int, expected: str) -> None:
    stats = Stats(0, budget=8_640.0, trouble=Trouble(failing=failing))
    for crawls in (True, False):
        health = Health.of(up, stats, pages, crawls=crawls)
        assert health.state == expected
        assert health.word
        assert health.reason.endswith(".")
        assert ("failed" in health.reason) == bool(failing)


@pytest.mark.parametrize(
    ("held", "crawls", "expected"),
    [
        (9, True, "delays of their hosts"),
        (9, False, "delays of their hosts"),
        (1, True, "hosts that respond slowly"),
        (1, False, "crawlers to lease them"),
    ],
)
def test_what_holds_visits_up_is_the_reason_given(held: int, crawls: bool, expected: str) -> None:
    up = KeepingUp(0.9, due=10, held=held, latest=9e4, lateness=9e4)
    health = Health.of(up, Stats(0, budget=8_640.0), 100, crawls=crawls)
    assert health.word == "Falling behind"
    assert expected in health.reason


@pytest.mark.parametrize(
    ("visits", "minutes", "expected"),
    [
        (0, 1, ("0", "visits per second")),
        (1_800, 1, ("30", "visits per second")),
        (180_000, 1, ("3,000", "visits per second")),
        (3, 1, ("3", "visits per minute")),
        (1, 30, ("2", "visits per hour")),
        (1, 720, ("2", "visits per day")),
    ],
)
def test_the_pace_is_in_a_unit_that_people_can_read(
    visits: int, minutes: int, expected: tuple[str, str]
) -> None:
    after = replace(sample(NOON + minutes * MINUTE), changed=visits)
    assert pace_text(after, sample(NOON)) == expected


def test_a_sample_that_cannot_be_kept_is_made_up_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def main() -> None:
        async with browsing(tmp_path) as browser:
            live = Live(browser.on.service)
            live.sample()
            with monkeypatch.context() as patch:
                patch.setattr(KeptSamples, "add", _fails)
                await live.keep()
            assert live.samples.kept is None
            await live.keep()
            assert live.samples.kept is live.samples.newest
            assert len(browser.on.store.samples.since(0, Span.MINUTE)) == 1

    run(main())


def test_samples_are_kept_when_the_clock_is_put_back(tmp_path: Path) -> None:
    async def main() -> None:
        async with browsing(tmp_path) as browser:
            live = Live(browser.on.service)
            for at in (NOON, NOON - 60 * MINUTE, NOON - 60 * MINUTE + 1):
                live.samples.add(sample(at))
                await live.keep(every=MINUTE)
            assert live.samples.kept is not None
            assert live.samples.kept.at == NOON - 60 * MINUTE

    run(main())


def _fails(*_: object) -> None:
    raise StoreError("the disk is full")

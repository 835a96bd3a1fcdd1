"""Samples over time, and what is sent to the browsers that look."""

import asyncio
import json
from itertools import pairwise
from pathlib import Path

import pytest

pytest.importorskip("fastapi", reason="the service needs recrawl[serve]")
pytest.importorskip("jinja2", reason="the service needs recrawl[serve]")

from hypothesis import given
from hypothesis import strategies as st
from service.dashboard_site import NEW, NEWS, browsing
from virtual_time import run

from recrawl.crawler.stats import Stats
from recrawl.service.dashboard.live import HEARTBEAT, MAX_EVENTS, Live, verdict
from recrawl.service.dashboard.samples import Sample, Samples
from recrawl.service.keeping_up import KeepingUp
from recrawl.store.rows import Trouble

CLIENTS = 100


def sample(at: int) -> Sample:
    return Sample(at, 0.5, None, 0, 0.0, at, at, 0, 0)


@given(count=st.integers(1, 400), half=st.integers(1, 20))
def test_samples_are_bounded_and_cover_all_of_the_time(count: int, half: int) -> None:
    samples = Samples(capacity=2 * half)
    for at in range(count):
        samples.add(sample(at))
    kept = [one.at for one in samples]
    assert kept[0] == 0
    assert kept[-1] == count - 1
    assert len(kept) == len(samples) <= 2 * half + 1
    assert samples.newest == sample(count - 1)
    gaps = {after - before for before, after in pairwise(kept[:-1])}
    assert len(gaps) <= 1
    if count <= 2 * half:
        assert kept == list(range(count))


def test_a_hundred_browsers_hear_the_same(tmp_path: Path) -> None:
    async def main() -> None:
        async with browsing(tmp_path) as browser:
            live, heard = Live(browser.on.service), [list[str]() for _ in range(CLIENTS)]

            async def listen(to: list[str]) -> None:
                to.extend([text async for text in live.events()])

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
            slow = live.events()
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
        (KeepingUp(0.9, 0, 0, 0.0, 0.0), 0, 100, "good"),
        # A page is visited every 1,000 s on average; 100 s late, over all pages, is a tenth.
        (KeepingUp(0.9, 5, 0, 9_000.0, 1_999.0), 0, 100, "good"),
        (KeepingUp(0.9, 5, 0, 9_000.0, 2_001.0), 0, 100, "bad"),
        (KeepingUp(0.9, 0, 3, 0.0, 0.0), 0, 100, "busy"),
        (KeepingUp(0.9, 0, 0, 0.0, 0.0), 51, 100, "bad"),
        (KeepingUp(None, 0, 0, 0.0, 0.0), 0, 0, "busy"),
    ],
)
def test_whether_it_keeps_up(up: KeepingUp, failing: int, pages: int, expected: str) -> None:
    stats = Stats(0, budget=8_640.0, trouble=Trouble(failing=failing))
    key, word, sentence = verdict(up, stats, pages)
    assert key == expected
    assert word
    assert sentence.endswith(".")

"""No page is in flight twice, whoever asks for it, and none is forgotten: random crawls."""

import asyncio
import logging
from dataclasses import dataclass

import pytest
from crawler.fakes import (
    FakeWeb,
    MemoryStore,
    Running,
    crawl,
    failure,
    settings_of,
)
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from site_server import page_about

from recrawl.hosts import host_of
from recrawl.records import DISALLOWED, Response
from recrawl.store.rows import NewPage

DAY = 86_400.0
MICROSECONDS = round(DAY * 1e6)
DAYS = 20.0
#: Nothing happens in the last of them; a visit takes half of that at most, and so does a retry.
QUIET = 10.0
PAGES = 6
URLS = [f"https://h{number}.example/" for number in range(PAGES)]
ANSWERS = ("found", "missing", "refused", "disallowed", "broken")
#: All calls of the store take equally long, so that they are made in order, as by its thread.
METHODS = ("wake", "record", "pages", "pages_at", "changes_since", "add")


@dataclass(frozen=True)
class Scenario:
    """What happens to the pages, each on a host of its own.

    Attributes:
        answers: How each page is answered, in turns of some days.
        seconds: How long each answer takes, in real seconds, which are days of the clock.
        edits: When somebody removes, adds, or weighs which page, in days.
        store_seconds: How long each call of the store takes.
    """

    answers: tuple[tuple[str, ...], ...]
    seconds: tuple[float, ...]
    edits: tuple[tuple[float, str, int], ...]
    store_seconds: float

    def answer(self, url: str, now: int) -> str | Response | None:
        """Return how a page is answered."""
        turns = self.answers[URLS.index(url)]
        turn = turns[now // (7 * MICROSECONDS) % len(turns)]
        if turn == "found":
            return page_about(f"Week {now // (7 * MICROSECONDS)}.")
        if turn == "refused":
            return Response("", 403, 0)
        if turn == "disallowed":
            return failure(DISALLOWED, permanent=True, requests=0)
        return failure("no connection") if turn == "broken" else None


def of_each(values: st.SearchStrategy[object]) -> st.SearchStrategy[tuple[object, ...]]:
    return st.tuples(*[values] * PAGES)


SCENARIOS = st.builds(
    Scenario,
    of_each(st.lists(st.sampled_from(ANSWERS), min_size=1, max_size=3).map(tuple)),
    of_each(st.sampled_from([0.01, 0.5, 1.5, 5.0])),
    st.lists(
        st.tuples(
            st.floats(0.0, DAYS - QUIET),
            st.sampled_from(["remove", "add", "weigh"]),
            st.integers(0, PAGES - 1),
        ),
        max_size=12,
    ).map(tuple),
    st.sampled_from([0.0, 0.1, 0.5]),
)


def edit(store: MemoryStore, kind: str, url: str) -> None:
    known = {page.url for page in store.known.values()}
    if kind == "add":
        store.add([NewPage(url, host_of(url), source="user")], 0)
    elif url in known and kind == "remove":
        store.remove(url)
    elif url in known:
        store.set_importance(url, 2.0)


@settings(
    max_examples=8,
    phases=(Phase.explicit, Phase.generate),
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(SCENARIOS)
def test_pages_are_in_flight_once_and_none_is_forgotten(
    caplog: pytest.LogCaptureFixture, scenario: Scenario
) -> None:
    caplog.clear()
    store, web = MemoryStore(*URLS), FakeWeb({})
    web.answers = lambda url: scenario.answer(url, web.clock())
    web.seconds = lambda url: scenario.seconds[URLS.index(url)]

    def during(_running: Running) -> None:
        loop = asyncio.get_running_loop()
        for at, kind, number in scenario.edits:
            loop.call_later(at, edit, store, kind, URLS[number])

    crawl(
        web,
        store,
        settings_of(budget=60.0, connections=20),
        seconds=DAYS * DAY,
        speed=DAY,
        store_seconds=dict.fromkeys(METHODS, scenario.store_seconds),
        during=during,
    )
    assert [one for one in caplog.records if one.levelno >= logging.ERROR] == []
    assert set(web.max_in_flight.values()) <= {1}
    for page in store.known.values():
        # Others are checked now and then.
        if page.retry_at is None:
            assert max(web.times(page.url), default=0.0) > DAYS - QUIET

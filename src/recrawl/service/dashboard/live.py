"""What is new, sampled once and sent to all open browsers."""

import asyncio
import json
from collections import deque
from collections.abc import AsyncIterator
from contextlib import suppress
from typing import Any, final

from recrawl.errors import StoreError
from recrawl.escaping import printable
from recrawl.records import Outcome
from recrawl.service.auth.tokens import User
from recrawl.service.dashboard.rendering import (
    NONE,
    age,
    count,
    page_link,
    percent,
    period,
    when,
)
from recrawl.service.dashboard.samples import Sample, Samples, row_of
from recrawl.service.service import Service
from recrawl.store.changes import Cursor, PageChange
from recrawl.store.samples import Span
from recrawl.store.sqlite import SqliteStore
from recrawl.units import format_worth

#: Real seconds between two samples, and between two checks for changes while a browser is open.
SAMPLE_EVERY, LOOK_EVERY = 2.0, 0.5
#: Changes sent at a time; if there are more, only the newest.
MAX_CHANGES = 50
KILO = 1_000.0
#: Events that are kept for browsers that fall behind, which then miss the older ones.
MAX_EVENTS = 64
#: Real seconds without an event after which a comment keeps the connection alive.
HEARTBEAT = 15.0


@final
class Live:
    """Samples a service over time, and sends samples and changes to listeners.

    Args:
        service: The service.

    Attributes:
        samples: How the crawl went in the last hour.
        texts: What is written about the newest sample, by what it is about.
        listeners: How many browsers listen.
    """

    def __init__(self, service: Service) -> None:
        self._service = service
        self._events: deque[tuple[int, str]] = deque(maxlen=MAX_EVENTS)
        self._serial = 0
        self._more = asyncio.Event()
        self._cursor: Cursor | None = None
        self.samples = Samples()
        self.texts: dict[str, str] = {}
        self.listeners = 0

    async def run(self) -> None:
        """Sample and check for changes until the service stops."""
        loop = asyncio.get_running_loop()
        self.sample()
        await self.keep()
        sampled = loop.time()
        while not self._service.stopping.is_set():
            with suppress(TimeoutError):
                async with asyncio.timeout(LOOK_EVERY if self.listeners else SAMPLE_EVERY):
                    await self._service.stopping.wait()
            if loop.time() - sampled >= SAMPLE_EVERY - LOOK_EVERY / 2:
                self.sample()
                sampled = loop.time()
                await self.keep(every=Span.MINUTE.microseconds)
            await self.look_for_changes()
        await self.keep()
        self._wake()

    def sample(self) -> None:
        """Take a sample and send it."""
        self._service.refresh_stats()
        sample = sample_of(self._service)
        before = self.samples.newest
        self.samples.add(sample)
        self.texts = texts_of(self._service, sample, before)
        self._send("sample", {"sample": row_of(sample), "texts": self.texts})

    async def keep(self, every: int = 0) -> None:
        """Have the newest sample outlive the process, with what happened since the last that does.

        Args:
            every: Not before so many microseconds have passed since then.
        """
        sample, kept = self.samples.newest, self.samples.kept
        # A sample before the last one stored is stored: the clock was set back.
        if sample is None or sample is kept or (kept and 0 <= sample.at - kept.at < every):
            return
        # If it cannot be written now, it is added to the next one.
        with suppress(StoreError):
            await self._service.keep_sample(sample.kept_after(kept))
            self.samples.kept = sample

    async def look_for_changes(self) -> None:
        """Send what happened to pages since the last time, if anybody is listening."""
        if not self.listeners:
            self._cursor = None
            return
        cursor = self._cursor

        def read(store: SqliteStore) -> tuple[Cursor, list[PageChange]]:
            end = store.feed.end()
            if cursor is None or cursor == end:
                return end, []
            start = Cursor(max(cursor.serial, end.serial - MAX_CHANGES))
            return end, store.feed.read(start, MAX_CHANGES)

        try:
            self._cursor, found = await self._service.read(read)
        except StoreError:
            # The next check starts with what is new then.
            self._cursor = None
            return
        if found:
            now = self._service.clock.now()
            self._send("changes", {"changes": [change_row(change, now) for change in found]})

    def _send(self, name: str, data: dict[str, Any]) -> None:
        self._serial += 1
        written = json.dumps(data, separators=(",", ":"), allow_nan=False)
        self._events.append((self._serial, f"event: {name}\ndata: {written}\n\n"))
        self._wake()

    def _wake(self) -> None:
        self._more.set()
        self._more = asyncio.Event()

    async def events(self, user: User) -> AsyncIterator[str]:
        """Yield server-sent events from now on, until the service stops, or the user may not."""
        self.listeners += 1
        streams = self._service.streams
        try:
            with streams.counted():
                serial = self._serial
                yield "retry: 2000\n: connected\n\n"
                while streams.goes_on_for(user) and not self._service.stopping.is_set():
                    more = self._more
                    new = [text for number, text in self._events if number > serial]
                    serial = self._serial
                    if not new:
                        with suppress(TimeoutError):
                            async with asyncio.timeout(HEARTBEAT):
                                await more.wait()
                                continue
                    yield "".join(new) or ": nothing new\n\n"
        finally:
            self.listeners -= 1


def sample_of(service: Service) -> Sample:
    """Return the state of a service now."""
    up, stats = service.keeping_up(), service.stats
    price = service.price
    found = stats.outcomes
    return Sample(
        at=service.clock.now(),
        freshness=up.expected_freshness,
        price=None if price is None else price.value,
        due=up.due,
        latest=up.latest,
        requests=stats.requests,
        changed=found[Outcome.CHANGED] + found[Outcome.FIRST],
        unchanged=found[Outcome.UNCHANGED],
        failed=found[Outcome.FAILED] + found[Outcome.GONE],
    )


def texts_of(service: Service, sample: Sample, before: Sample | None) -> dict[str, str]:
    """Return the texts on the overview, by subject.

    Args:
        service: The service.
        sample: The newest sample.
        before: The one before it, if there was one.
    """
    stats, up = service.stats, service.keeping_up()
    newest = stats.newest
    pace, unit = pace_text(sample, before)
    health = service.health()
    return {
        "verdict_key": health.state,
        "verdict": health.word,
        "reason": health.reason,
        "pace": pace,
        "pace_unit": unit,
        "freshness": percent(sample.freshness),
        "due": count(sample.due),
        "latest": period(sample.latest),
        "lateness": period(up.lateness),
        "without_copy": count(up.without_copy),
        "requests": count(sample.requests),
        "outside_budget": count(stats.filled),
        "budget_used": percent(stats.budget_used, 0),
        "budget_width": f"{min(100.0 * (stats.budget_used or 0.0), 100.0):.1f}%",
        "started": age(service.began, sample.at),
        "in_flight": count(stats.in_flight),
        "visits": count(stats.visits),
        "newest": "" if newest is None else printable(newest.page.url),
        "outcome": "none yet" if newest is None else newest.outcome.name.lower(),
        "price": price_text(sample.price),
    }


#: Units of time by name, in seconds.
UNITS = {"second": 1, "minute": 60, "hour": 3_600, "day": 86_400}


def pace_text(sample: Sample, before: Sample | None) -> tuple[str, str]:
    """Return how many visits there were since the previous sample, and per which unit of time."""
    if before is None or sample.at <= before.at:
        return NONE, "visits per second"
    per_second = (sample.visits - before.visits) / (sample.at - before.at) * 1e6
    name = next((name for name, seconds in UNITS.items() if per_second * seconds >= 1.0), "second")
    number = per_second * UNITS[name]
    return f"{number:,.3g}" if number < KILO else f"{number:,.0f}", f"visits per {name}"


def price_text(price: float | None) -> str:
    """Return the price of a visit as the time for which a page of importance 1 must stay fresh.

    >>> price_text(2 / 86_400)
    '2 s of freshness'
    """
    return "not known yet" if price is None else format_worth(price)


def change_row(change: PageChange, now: int) -> dict[str, Any]:
    """Return a change as the list of changes shows it."""
    return {
        "url": printable(change.url),
        "link": page_link(change.url),
        "diff": diff_link(change),
        "kind": change.kind.name.lower(),
        "at": when(change.at),
        "age": age(change.at, now),
        "share": None if change.share is None else round(change.share, 4),
        "reason": None if change.reason is None else printable(change.reason),
    }


def diff_link(change: PageChange) -> str | None:
    """Return the URL of the difference that a change made; None if there is none."""
    if change.before is None or change.after is None:
        return None
    return page_link(change.url, before=change.before.hex(), after=change.after.hex())

"""What handlers may ask a running engine, and make it do."""

import asyncio
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from http import HTTPStatus
from typing import Concatenate, ParamSpec, TypeVar, final

from recrawl.clock import Clock
from recrawl.config.intervals import stored_intervals
from recrawl.config.settings import Settings
from recrawl.crawler.running import RunningCrawl
from recrawl.engine.cost_share import CostShare
from recrawl.engine.discovery.seeds import checked_importance, named_page, with_initial_importance
from recrawl.engine.frontier import days
from recrawl.engine.lag import Health, KeepingUp
from recrawl.engine.leases import Lease
from recrawl.engine.lending import NO_DEADLINE
from recrawl.engine.retries import earliest_retry
from recrawl.engine.stats import Stats
from recrawl.errors import AddressError, ArgumentError
from recrawl.inspect.explain import BUDGET, Explanation, Price, explain
from recrawl.inspect.pages import Wanted
from recrawl.inspect.status import price_of
from recrawl.inspect.text import CopyParser
from recrawl.records import RESTING, Page
from recrawl.service.auth.tokens import MAX_WRONG_TOKENS, FailedLogins, Sessions, Tokens
from recrawl.service.long_poll import Following
from recrawl.service.pages.index import PageIndex, PageSlice
from recrawl.service.planning import planned_freshness
from recrawl.service.problems import ProblemError
from recrawl.service.push.incoming import Incoming
from recrawl.service.store_reader import StoreReader
from recrawl.service.streams import Streams
from recrawl.store.listing import HostCounts
from recrawl.store.rows import Added, LoggedVisit, NewPage, SitemapFile, Spending, Totals, Trouble
from recrawl.store.samples import KeptSample
from recrawl.store.sqlite import SqliteStore
from recrawl.store.subscriptions import Subscription
from recrawl.store.webhooks import Webhook
from recrawl.urls import canonical

P = ParamSpec("P")
T = TypeVar("T")

#: Microseconds.
HOUR = 3_600_000_000
DAY = 24 * HOUR
#: Evidence leaves at least this share of the chance of being fresh.
MIN_KEEP = 1e-12
#: Why a page that somebody wants rechecked is visited next.
HURRIED = "Somebody asked for a visit: it comes before all others, as soon as its host allows."
#: The share of the time that summing up what is due, and counting what there is, may each take.
MAX_COST_SHARE = 0.002


@dataclass(frozen=True)
class ServiceStatus:
    """What there is, what is going on, and whether the crawl is keeping up.

    Attributes:
        now: The present, in microseconds.
        began: When the process started, in microseconds.
        crawls: Whether the process fetches pages itself; otherwise others lease them.
        budget: Requests per day.
        pages: Pages that are kept fresh.
        price: What a visit must be worth, importance times days; None before that is known.
        keeping_up: Whether visits happen when they are due.
        health: Whether somebody has to look after it.
        totals: What the store holds.
        trouble: How many pages have problems.
        last_day: What was spent in the last 24 hours, in whole hours.
        stats: Counts since the process started.
    """

    now: int
    began: int
    crawls: bool
    budget: float
    pages: int
    price: float | None
    keeping_up: KeepingUp
    health: Health
    totals: Totals
    trouble: Trouble
    last_day: Spending
    stats: Stats


@dataclass(frozen=True)
class PageDetails:
    """One page.

    Attributes:
        explanation: Its estimated change rate, and when and why it is visited next.
        visits: Its latest visits, newest first.
        changed_at: When it was last found to have changed, or first found; None if never.
        is_hurried: Whether somebody asked for a visit that has not been made yet.
        no_text: Whether its copy has next to no text, as if scripts were to write it.
    """

    explanation: Explanation
    visits: list[LoggedVisit]
    changed_at: int | None
    is_hurried: bool = False
    no_text: bool = False

    @property
    def next_visit(self) -> int | None:
        """When it is visited next, in microseconds; None for never."""
        return self.explanation.now if self.is_hurried else self.explanation.due

    @property
    def why(self) -> str:
        """When it is visited next, and why, in words."""
        return HURRIED if self.is_hurried else self.explanation.why()


@final
class Service:
    """A running engine, for handlers of requests; all of them go through it.

    Everything is called in the event loop. Reading has a connection and a thread of its own;
    writing goes through the thread of the crawl, in turn.

    Args:
        settings: The crawler's settings.
        clock: What the crawl goes by.
        parts: The engine and its parts.
        reader: The store, for reading.
        incoming: Those who listen to sites.
        tokens: Who may use the service. They are read in the event loop, with a connection that
            does nothing else: one that counts pages meanwhile would hold up everything.
        copies: Parses copies.

    Attributes:
        stats: Counts of the crawl, or of what others reported.
        lending: Lends pages to other crawlers.
        began: When the process started, in microseconds.
        tokens: As given.
        copies: As given.
        sessions: Browsers that have logged in.
        failed: Failed logins.
        wrong_tokens: Requests with a wrong token.
        streams: Streams of events that are open.
        feed: What became of pages.
        stopping: Set when the process is about to end, so that nobody keeps it waiting.
    """

    def __init__(
        self,
        settings: Settings,
        clock: Clock,
        parts: RunningCrawl,
        reader: StoreReader,
        incoming: Incoming,
        tokens: Tokens,
        copies: CopyParser,
    ) -> None:
        self.settings = settings
        self.clock = clock
        self.frontier = parts.engine.frontier
        self.stats = parts.engine.stats
        self._engine = parts.engine
        self.lending = parts.lending
        self.incoming = incoming
        self.tokens = tokens
        self.copies = copies
        self.sessions = Sessions()
        self.failed = FailedLogins()
        self.wrong_tokens = FailedLogins(MAX_WRONG_TOKENS)
        self.streams = Streams(self.tokens)
        self.index = PageIndex(settings.store, partial(stored_intervals, settings))
        self.stopping = asyncio.Event()
        self._writer = parts.writer
        self._store = parts.store
        self._reader = reader
        self.began = clock.now()
        self.feed = Following(reader, self.stopping)
        self._kept_up: KeepingUp | None = None
        self._keeping_up_cost = CostShare(MAX_COST_SHARE)
        self._totals: tuple[Totals, Trouble] | None = None
        self._totals_cost = CostShare(MAX_COST_SHARE)

    # Reading

    @property
    def price(self) -> Price | None:
        """What a visit must be worth; None before that is known."""
        value = self.frontier.frontier.price
        return Price(value, is_now=True) if value > 0.0 else None

    def refresh_stats(self) -> None:
        """Bring the present state in `stats` up to date."""
        self._engine.refresh_stats()

    async def status(self) -> ServiceStatus:
        """Return what there is, what is going on, and whether the crawl is keeping up."""
        self.refresh_stats()
        now = self.clock.now()
        last_day = await self._reader.call(SqliteStore.spent, now - DAY + HOUR)
        totals, trouble = await self._counted()
        price = self.price
        return ServiceStatus(
            now=now,
            began=self.began,
            crawls=self._engine.crawls,
            budget=self.stats.budget,
            pages=len(self.frontier),
            price=None if price is None else price.value,
            keeping_up=self.keeping_up(),
            health=self.health(),
            totals=totals,
            trouble=trouble,
            last_day=last_day,
            stats=self.stats,
        )

    async def _counted(self) -> tuple[Totals, Trouble]:
        """Return what the store contains; with millions of pages, as of a while ago."""
        began = time.monotonic()
        if self._totals is None or self._totals_cost.is_due(began):

            def read(store: SqliteStore) -> tuple[Totals, Trouble]:
                return store.totals(), store.trouble()

            self._totals = await self._reader.call(read)
            ended = time.monotonic()
            self._totals_cost.spend(ended, ended - began)
        return self._totals

    def keeping_up(self) -> KeepingUp:
        """Return whether visits happen on time; with millions of pages, as of a while ago."""
        began = time.monotonic()
        if self._kept_up is None or self._keeping_up_cost.is_due(began):
            self._kept_up = KeepingUp.of(self.frontier, self.clock.now())
            ended = time.monotonic()
            self._keeping_up_cost.spend(ended, ended - began)
        return self._kept_up

    def health(self) -> Health:
        """Return whether somebody has to look after the crawl."""
        pages = len(self.frontier)
        return Health.of(self.keeping_up(), self.stats, pages, crawls=self._engine.crawls)

    async def pages(self, wanted: Wanted, *, text: str = "", offset: int = 0) -> PageSlice:
        """Return a part of a list of pages."""
        now = self.clock.now()
        price = self.price or await self._reader.call(price_of, is_now=True)
        return await self._reader.call(
            self.index.list, wanted, price, now, text=text, offset=offset
        )

    async def page(self, url: str, visits: int = 20) -> PageDetails:
        """Return one page: its estimated change rate and its latest visits.

        Raises:
            ProblemError: There is no such page.
        """
        page, now, live = await self.known(url), self.clock.now(), self.price
        is_hurried = self.frontier.is_hurried(page.number)
        closed_until = self.stats.closed.get(page.host)

        def read(store: SqliteStore) -> PageDetails:
            price = live or price_of(store, is_now=True)
            limits = self.settings.site_of(page.url).limits
            history = store.history(page.number, visits)
            retry_at = earliest_retry(page, next(iter(history), None), self.settings)
            belief = store.belief(page.number)
            error = history[0].error if history else None
            explanation = explain(page, belief, price, now, limits, retry_at, closed_until, error)
            no_text = store.has_no_text(page.number)
            return PageDetails(explanation, history, store.changed_at(page), is_hurried, no_text)

        return await self._reader.call(read)

    async def read(
        self, function: Callable[Concatenate[SqliteStore, P], T], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """Call a function that reads the store, and return what it returns."""
        return await self._reader.call(function, *args, **kwargs)

    async def hosts(self) -> list[HostCounts]:
        """Return the hosts, those with the most pages first."""
        return await self._reader.call(SqliteStore.host_counts)

    def delay_of(self, host: str) -> float:
        """Return the seconds between two requests to a host."""
        return self._engine.pacing.delay_of(host)

    @property
    def leases(self) -> list[Lease]:
        """The active leases, in the order in which they were granted."""
        return [one for one in self.lending.leases if one.deadline < NO_DEADLINE]

    async def webhooks(self) -> list[Webhook]:
        """Return the webhooks, with how many messages are waiting or failed."""
        return await self._reader.call(lambda store: store.webhooks.all())

    async def sitemaps(self) -> list[SitemapFile]:
        """Return sitemaps and feeds, those that cannot be read first."""
        return await self._reader.call(lambda store: store.sitemaps.all())

    async def subscriptions(self) -> dict[str, Subscription]:
        """Return the subscriptions to the hubs of feeds, by the feed's URL."""
        known = await self._reader.call(lambda store: store.subscriptions.all())
        return {one.feed: one for one in known}

    async def plan(self, budgets: Sequence[float]) -> list[float]:
        """Return the freshness that budgets would lead to, at the current estimates."""
        return await planned_freshness(self.frontier.frontier, budgets)

    # Writing

    async def add(self, pages: Sequence[tuple[str, float | None]]) -> tuple[Added, list[str]]:
        """Add pages to keep fresh; known ones get the importance, if one is given."""
        new, problems = list[NewPage](), list[str]()
        for url, weight in pages:
            try:
                new.append(named_page(url, None if weight is None else checked_importance(weight)))
            except (AddressError, ArgumentError) as error:
                problems.append(str(error))
        wanted = list(with_initial_importance(new, self.settings))
        return await self._writer.call(self._store.add, wanted, self.clock.now()), problems

    async def remove(self, urls: Sequence[str]) -> int:
        """Remove pages with their visits and copies; return how many were known."""
        addresses = [address for url in urls if (address := _canonical(url)) is not None]
        removed = await self._writer.call(self._store.remove, addresses, self.clock.now())
        return len(removed)

    async def recheck(self, url: str) -> None:
        """Have a page visited before all others that have a copy.

        Raises:
            ProblemError: There is no such page.
        """
        page = await self.known(url)
        if page.state in RESTING:
            await self.add([(page.url, None)])
        else:
            self.frontier.hurry(page)

    async def signal(self, signals: Sequence[tuple[str, float]]) -> int:
        """Use evidence that pages have changed; return how many of them are known.

        Args:
            signals: URLs, and the share of the chance of being fresh that the evidence leaves.
        """
        keep = {
            address: share for url, share in signals if (address := _canonical(url)) is not None
        }
        known = await self._reader.call(lambda store: store.pages_at(keep))
        pages = [page for page in known.values() if page.number in self.frontier]
        if pages:
            self.frontier.frontier.evidence(
                [page.number for page in pages],
                days(self.clock.now()),
                [max(keep[page.url], MIN_KEEP) for page in pages],
            )
        return len(pages)

    async def set_budget(self, budget: float) -> None:
        """Change the requests per day for as long as the process runs."""
        self._engine.set_budget(budget)
        await self._writer.call(self._store.set_meta, BUDGET, repr(budget))

    async def keep_sample(self, sample: KeptSample) -> None:
        """Store how the crawl went, for charts: once a minute, and at the very end."""
        await self._reader.call(lambda store: store.samples.add(sample))

    async def set_importance(self, url: str, importance: float) -> None:
        """Change the importance of a page.

        Raises:
            ProblemError: There is no such page.
        """
        page = await self.known(url)
        await self.add([(page.url, importance)])

    async def known(self, url: str) -> Page:
        """Return a page.

        Raises:
            ProblemError: There is no such page.
        """
        address = _canonical(url)
        if address is not None:
            page = await self._reader.call(lambda store: store.page(address))
            if page is not None:
                return page
        raise ProblemError(
            HTTPStatus.NOT_FOUND, f"{address or url}: this page is not in the store; add it first"
        )


def _canonical(url: str) -> str | None:
    """Return the canonical URL, None for one that no page can have."""
    try:
        return canonical(url)
    except AddressError:
        return None

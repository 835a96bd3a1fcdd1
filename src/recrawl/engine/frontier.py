"""Load the frontier from the store, and drive it in the crawler's terms."""

import math
from collections.abc import Callable, Container, Iterable
from collections.abc import Set as AbstractSet
from typing import final

import numpy as np
from numpy.typing import ArrayLike

from recrawl.config.intervals import Intervals
from recrawl.config.settings import Settings
from recrawl.engine.beliefs import stored_octaves
from recrawl.engine.freshness import LiveFreshness
from recrawl.engine.frontier_ids import FrontierIds, folder_of
from recrawl.engine.retries import earliest_retry
from recrawl.estimation import Prior
from recrawl.estimation.shown.rates import RatePrior
from recrawl.kernels.jit import Floats
from recrawl.quantities import LARGEST
from recrawl.records import (
    MICROSECONDS_A_DAY,
    NO_TIME,
    SECONDS_A_DAY,
    Page,
    Response,
    State,
    Visit,
)
from recrawl.scheduling.budget import CATCH_UP
from recrawl.scheduling.frontier import Frontier
from recrawl.scheduling.remembering import CLOCK, SIGNALS, WEEK
from recrawl.store.kept.first_fill import FILL_LIMIT, FirstFill
from recrawl.store.kept.host_memory import (
    COUNTS,
    FOLDER_CLOCK,
    HOST_CLOCK,
    HOST_PAUSE,
    PAUSE,
    RHYTHM,
    SIGNAL_TRUST,
    SITEMAP_TRUST,
    THE_FLEET,
    hosts_left_alone,
    pack_rows,
    trust_in_sitemaps,
    unpack_rows,
)
from recrawl.store.rows import PageTable
from recrawl.store.storing import Storing

#: A page that should be visited at once is overdue after this many days.
HURRY = 1e-9


def days(at: float) -> float:
    """Convert a time in microseconds to the frontier's days.

    >>> days(86_400_000_000)
    1.0
    """
    return at / MICROSECONDS_A_DAY


@final
class CrawlFrontier:
    """The frontier in the crawler's terms: hosts by name, times in microseconds, delays in seconds.

    It knows which pages are out: those that were taken, and whose visit has neither ended nor been
    given up. No page is taken that is out, even if it was removed and added again meanwhile.

    Args:
        frontier: The frontier of the store's pages.
        settings: Delays and budgets of hosts, and intervals of pages.
        ids: Its ids of hosts and sections.
        serial: The serial of the latest edit that it includes.
        loaded_at: When its budget began to accrue, in microseconds.
        prior: What is believed about change rates before a page's own visits, as it is shown.

    Attributes:
        freshness: How fresh the copies are expected to be.
        left_alone: Hosts still in backoff from an earlier run, and until when, in microseconds.
        first_fill: What first visits outside the budget cost.
    """

    def __init__(
        self,
        frontier: Frontier,
        settings: Settings,
        ids: FrontierIds,
        serial: int,
        loaded_at: int,
        prior: RatePrior,
    ) -> None:
        self.frontier = frontier
        self.freshness = LiveFreshness(frontier, prior)
        self.serial = serial
        self.loaded_at = loaded_at
        self._ids = ids
        self._settings = settings
        #: When pages were last taken, and how far the clock has been set back since the start.
        self._taken_at, self._put_back = loaded_at, 0
        self._delays: dict[str, float] = {}
        self._out: set[int] = set()
        self._hurried: dict[int, str] = {}
        self._active_hosts: set[str] = set()
        self._active_folders: set[str] = set()
        self._closed: dict[str, tuple[int, int]] = {}
        self.left_alone: dict[str, int] = {}
        self.first_fill = FirstFill()

    def __len__(self) -> int:
        """How many pages are kept fresh."""
        return len(self.frontier)

    def __contains__(self, page: int) -> bool:
        return page in self.frontier

    @property
    def out(self) -> AbstractSet[int]:
        """The pages that were taken, and whose visit has neither ended nor been given up."""
        return self._out

    def add(
        self,
        pages: Iterable[Page],
        now: int,
        *,
        first: bool = False,
        asked: Container[int] = (),
        discovered: Container[int] = (),
    ) -> None:
        """Add pages while the crawl runs.

        Args:
            pages: The pages; those that are in the frontier stay as they are.
            now: The present, in microseconds.
            first: Whether to visit them as early as those without a copy. A page that was not
                found comes first in any case: a single visit settles it.
            asked: The numbers of new pages that a user asked for.
            discovered: Those of new pages that links and sites added.
        """
        new = {page.number: page for page in pages if page.number not in self.frontier}
        if not new:
            return
        pages = list(new.values())
        hosts = [self._ids.host(page.host) for page in pages]
        present = days(now)
        limits = Intervals.of(self._settings, [page.url for page in pages])
        self.frontier.add(
            [page.number for page in pages],
            now=present,
            importance=_usable([page.importance for page in pages]),
            host=hosts,
            section=[self._ids.section(page.url) for page in pages],
            last_visit=[
                -math.inf
                if first or _comes_first(page)
                else min(days(page.last_visit or 0), present)
                for page in pages
            ],
            min_interval=limits.low,
            max_interval=limits.high,
            discovered=[page.number in discovered for page in pages],
            free=[page.number in asked for page in pages],
        )
        self.frontier.hold([number for number in new if number in self._out])
        self.limit_hosts({page.host for page in pages})

    def set_importance(self, page: int, importance: float) -> None:
        """Change the importance of a page; an unknown one is ignored."""
        if page in self.frontier:
            self.frontier.set_importance([page], _usable(importance))

    def note_activity(self, visits: Iterable[Visit]) -> None:
        """Note which hosts and folders may have new activity to store after these visits."""
        for visit in visits:
            self._active_hosts.add(visit.page.host)
            self._active_folders.add(folder_of(visit.page.url))

    def take_learned(self) -> dict[str, dict[str, bytes]]:
        """Return what was learned, apart from beliefs about pages, for the next run.

        For hosts and folders visited since the last call: their activity, and the trust in
        signals; also the weekly rhythm, and until when hosts are left alone.
        """
        hosts = [name for name in self._active_hosts if name in self._ids.hosts]
        folders = [name for name in self._active_folders if name in self._ids.sections]
        self._active_hosts, self._active_folders = set(), set()
        closed, self._closed = self._closed, {}
        numbers = [self._ids.hosts[name] for name in hosts]
        of_hosts, of_folders = self.frontier.clocks(
            host=numbers, section=[self._ids.sections[name] for name in folders]
        )
        return {
            HOST_CLOCK: pack_rows(hosts, of_hosts),
            FOLDER_CLOCK: pack_rows(folders, of_folders),
            SIGNAL_TRUST: pack_rows(hosts, self.frontier.signal_trust(numbers)),
            RHYTHM: pack_rows([THE_FLEET], self.frontier.rhythm()) if hosts else {},
            HOST_PAUSE: pack_rows(closed, np.array(list(closed.values()), PAUSE)),
        }

    def restore_clocks(self, kept: Callable[[str], dict[str, bytes]], now: int) -> None:
        """Restore the activity of hosts and folders from an earlier run."""
        of_hosts = unpack_rows(kept(HOST_CLOCK), self._ids.hosts, CLOCK)
        of_folders = unpack_rows(kept(FOLDER_CLOCK), self._ids.sections, CLOCK)
        self.frontier.set_clocks(days(now), *of_hosts, *of_folders)

    def restore_trust(self, kept: Callable[[str], dict[str, bytes]]) -> None:
        """Restore the trust in signals and the weekly rhythm from an earlier run."""
        # Data of older versions comes first, so that newer data about the same hosts wins.
        hosts, counts = unpack_rows(kept(SITEMAP_TRUST), self._ids.hosts, COUNTS)
        self.frontier.set_signal_trust(hosts, trust_in_sitemaps(counts))
        learned = unpack_rows(kept(SIGNAL_TRUST), self._ids.hosts, SIGNALS)
        self.frontier.set_signal_trust(*learned)
        _, rhythm = unpack_rows(kept(RHYTHM), {THE_FLEET: 0}, WEEK)
        if rhythm.size:
            self.frontier.set_rhythm(rhythm)

    def restore_pauses(self, kept: Callable[[str], dict[str, bytes]], now: int) -> None:
        """Restore the pauses of hosts from an earlier run."""
        for host, seconds in hosts_left_alone(kept(HOST_PAUSE), now).items():
            if host in self._ids.hosts:
                self.left_alone[host] = self.defer(host, now, seconds)

    def remove(self, pages: Iterable[int]) -> None:
        """Remove pages; unknown ones are ignored, and those that are out stay out."""
        present = [page for page in pages if page in self.frontier]
        if present:
            self.frontier.remove(present)

    def take(self, now: int, limit: int, hosts: Iterable[str] | None = None) -> list[int]:
        """Return the pages to visit now, most valuable first; of some hosts only, if given.

        The frontier's time keeps advancing when the clock is set back: otherwise nothing would be
        visited until the clock had caught up.
        """
        self._put_back += max(self._taken_at - now, 0)
        self._taken_at = now
        wanted = None
        if hosts is not None:
            # A host may have an id before its pages are in the frontier.
            numbers = {self._ids.hosts[host] for host in hosts if host in self._ids.hosts}
            wanted = sorted(numbers)
            if not wanted:
                return []
        present = days(now + self._put_back)
        taken: list[int] = self.frontier.take(present, limit, host=wanted).tolist()
        self._out.update(taken)
        return taken

    def hold(self, pages: Iterable[int]) -> None:
        """Note that pages are out that were taken earlier, and paid for; unknown ones are not."""
        present = [page for page in dict.fromkeys(pages) if page in self.frontier]
        self.frontier.hold(present)
        self._out.update(present)

    def end_visit(self, page: int) -> bool:
        """Note that a page was visited; return whether it was out."""
        was_out = page in self._out
        self._out.discard(page)
        return was_out

    def release(self, pages: Iterable[int], now: int) -> None:
        """Put back pages that were taken but not fetched; they cost nothing."""
        back = [page for page in dict.fromkeys(pages) if self.end_visit(page)]
        present = [page for page in back if page in self.frontier]
        if present:
            self.frontier.release(present, days(now))

    def drop(self, page: int, now: int) -> None:
        """Remove a page that was taken, and turned out not to be there to be visited."""
        self.release([page], now)
        self.remove([page])

    def hurry(self, page: Page) -> None:
        """Have a page visited before all others that have a copy, as if it were long overdue."""
        if page.number in self.frontier and page.number not in self._hurried:
            self._hurried[page.number] = page.url
            self.frontier.set_intervals([page.number], 0.0, HURRY)

    def is_hurried(self, page: int) -> bool:
        """Whether a page is to be visited before all others that have a copy."""
        return page in self._hurried

    def hurried(self, pages: Iterable[int]) -> None:
        """Note that pages were visited, and are no longer urgent."""
        for page in pages if self._hurried else ():
            url = self._hurried.pop(page, None)
            if url is not None and page in self.frontier:
                limits = Intervals.of(self._settings, [url])
                self.frontier.set_intervals([page], limits.low, limits.high)

    def defer(self, host: str, now: int, seconds: float) -> int:
        """Take no page of a host for some seconds; return until when, in microseconds."""
        until = now + round(seconds * 1e6)
        self.frontier.defer(self._ids.host(host), days(until + self._put_back))
        return until

    def close(self, host: str, response: Response, seconds: float) -> int:
        """Leave a host alone for some seconds after a response; return until when.

        A pause that a server asked for, or that follows from its answer, also holds for the next
        run.
        A host that did not answer is tried when that begins: the fault may have been on our side.
        """
        until = self.defer(host, response.at, seconds)
        if response.status or response.retry_after is not None:
            self._closed[host] = until, until - response.at
        return until

    def limit_hosts(self, hosts: Iterable[str]) -> None:
        """Apply the configured delays and budgets of these hosts, unless that is done already."""
        if not self._settings.sites.sets("delay", "budget"):
            return
        for host in hosts:
            if host in self._delays:
                continue
            site = self._settings.site_of(f"https://{host}/")
            self._delays[host] = site.delay
            is_usual = site.budget == self._settings.host_budget
            self.frontier.limit_host(
                self._ids.host(host),
                delay=site.delay / SECONDS_A_DAY,
                budget=None if is_usual else site.budget or math.inf,
            )

    def limit_host(self, host: str, delay: float) -> None:
        """Update a host's delay, if it now asks for a different one."""
        delay = max(delay, self._settings.delay_of(host))
        if delay != self._delays.get(host, self._settings.host_delay):
            self._delays[host] = delay
            self.frontier.limit_host(self._ids.host(host), delay=delay / SECONDS_A_DAY)


def _usable(importance: ArrayLike) -> Floats:
    """Return importances that the frontier can use: older stores may have others."""
    return np.clip(np.asarray(importance, np.float64), 0.0, LARGEST)


def _comes_first(page: Page) -> bool:
    """Whether a page has no copy, or was not found at its last visit."""
    return page.last_visit is None or page.state is State.MISSING


def load_frontier(
    store: Storing, settings: Settings, now: int, catch_up: float = 0.0
) -> CrawlFrontier:
    """Build the frontier of all pages in the store, with what was learned about them.

    Args:
        store: Knows the pages.
        settings: The crawler's settings.
        now: The present, in microseconds.
        catch_up: Days for which unspent budget is kept, at least.
    """
    frontier = Frontier(
        settings.budget,
        half_life=settings.half_life,
        host_delay=settings.host_delay / SECONDS_A_DAY,
        host_budget=settings.host_budget or None,
        neighbours=settings.neighbours,
        slack=settings.slack,
        spend=settings.spend,
        catch_up=max(CATCH_UP, catch_up),
        new_share=settings.new_share,
        new_host_share=settings.new_host_share,
        first_fill=FILL_LIMIT * settings.budget if settings.first_fill == "polite" else 0.0,
    )
    ids = FrontierIds()
    fleet, prior = store.fleet(), store.rate_prior()
    loaded = CrawlFrontier(frontier, settings, ids, fleet.serial, now, prior)
    loaded.first_fill = FirstFill.of(store)
    if not fleet.number.size:
        return loaded
    hosts = np.array([ids.host(name) for name in fleet.hosts], np.int64)[fleet.host]
    sections = np.fromiter(map(ids.section, fleet.url), np.int64, fleet.number.size)
    waiting = int(np.count_nonzero(~fleet.asked & (fleet.last_visit == NO_TIME)))
    gap = max(fleet.number.size - waiting, 1) / settings.budget
    limits = Intervals.of(settings, fleet.url)
    frontier.add(
        fleet.number,
        now=days(now),
        importance=_usable(fleet.importance),
        host=hosts,
        section=sections,
        last_visit=_last_visits(fleet, now),
        belief=stored_octaves(fleet, store.observations, hosts, gap),
        min_interval=limits.low,
        max_interval=limits.high,
        discovered=~fleet.asked,
        free=fleet.asked,
    )
    frontier.set_filled(loaded.first_fill.last_day(now))
    loaded.limit_hosts(fleet.hosts)
    if settings.neighbours:
        loaded.restore_clocks(store.kept, now)
    loaded.restore_trust(store.kept)
    loaded.restore_pauses(store.kept, now)
    _restore_failures(frontier, store, fleet, settings, now)
    frontier.settle(days(now))
    return loaded


def _restore_failures(
    frontier: Frontier, store: Storing, fleet: PageTable, settings: Settings, now: int
) -> None:
    """Restore the pauses of pages whose last visit failed.

    A page of a host that did not answer is retried at once; see `CrawlFrontier.close`.
    """
    failing = fleet.number[fleet.failures > 0]
    if not failing.size:
        return
    pages = store.pages(failing.tolist())
    until = dict.fromkeys(failing.tolist(), now)
    for number, last in store.last_visits(failing):
        # A page may just have been removed.
        page = pages.get(number)
        retry_at = earliest_retry(page, last, settings) if page and last.status else None
        if retry_at is not None:
            # A pause is never longer than it was, whatever has happened to the system's clock.
            until[number] = min(max(retry_at, now), now + retry_at - last.at)
    frontier.postpone(list(until), [days(at) for at in until.values()])


def warm_up(settings: Settings) -> None:
    """Load the frontier's kernels, or compile them if this is the first time.

    That can take seconds, during which the event loop would be blocked.
    """
    frontier = Frontier(settings.budget, half_life=settings.half_life)
    frontier.add([0, 1, 2, 3], now=0.0, host=[0, 0, 1, 1], last_visit=[0.0, 0.0, 0.0, -math.inf])
    later = 4.0 / settings.budget
    taken = frontier.take(later, 4)
    frontier.report(taken, later, changed=True, age=0.5 * later)
    frontier.put_back(taken, later)
    frontier.release(frontier.take(2 * later, 1, host=[0]), 2 * later)
    frontier.signal([0], later)
    frontier.evidence([0], later, 0.5)
    frontier.limit_host([0], delay=0.0)
    frontier.defer([0], later)
    frontier.set_importance([0], 2.0)
    frontier.replace_prior([1], Prior(1.0, 1.0))
    frontier.due([0])
    frontier.remove([0])


def _last_visits(fleet: PageTable, now: int) -> Floats:
    """Return the last visits in days; a clock that was set back puts none into the future."""
    times = np.minimum(fleet.last_visit, now) / MICROSECONDS_A_DAY
    return np.where(fleet.last_visit == NO_TIME, -math.inf, times)

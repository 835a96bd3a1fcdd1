"""Build the parts of a crawl from its settings."""

import asyncio
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress

from recrawl.clock import Clock
from recrawl.config.settings import Settings, agent_of
from recrawl.engine.frontier import CrawlFrontier, load_frontier
from recrawl.engine.record import Recorder
from recrawl.engine.templates import Templates
from recrawl.fetching.client import patience_of
from recrawl.http.access import Access
from recrawl.http.memory_budget import MemoryBudget
from recrawl.notify.command import ChangeHook
from recrawl.notify.receiver import SendLimits
from recrawl.notify.webhooks import WebhookSender
from recrawl.records import MICROSECONDS_A_DAY
from recrawl.store.rows import Retention
from recrawl.store.sqlite import SqliteStore
from recrawl.store.storing import Storing
from recrawl.store.thread import StoreThread

#: Options of glibc: M_MMAP_THRESHOLD and M_TRIM_THRESHOLD in bytes, M_ARENA_MAX.
_MALLOC = (-3, 131_072), (-1, 1_048_576), (-8, 2)

#: Unspent budget is kept for at least this many real seconds. It matters when the crawl's clock
#: runs fast: the machine may be busy for that long.
CATCH_UP = 1.0


@asynccontextmanager
async def passing_on_changes(
    settings: Settings, access: Callable[[str], Access]
) -> AsyncIterator[None]:
    """Run the command for changes and send them to webhooks while the block runs."""
    async with _change_hook(settings), _webhooks(settings, access):
        yield


@asynccontextmanager
async def _change_hook(settings: Settings) -> AsyncIterator[None]:
    """Run the command for changes, if there is one, while the block runs."""
    if not settings.on_change.strip():
        yield
        return
    with SqliteStore.open(settings.store) as store:
        store.narrow_cache()
        async with ChangeHook(settings.on_change, store).running():
            yield


@asynccontextmanager
async def _webhooks(settings: Settings, access: Callable[[str], Access]) -> AsyncIterator[None]:
    """Send changes to webhooks while the block runs."""
    with SqliteStore.open(settings.store) as store:
        store.narrow_cache()
        sender = WebhookSender(
            store,
            agent_of(settings),
            send_limits_of(settings),
            retention=retention_of(settings),
            proxy=lambda url: access(url).proxy,
        )
        async with sender.running():
            yield


def load(store: Storing, settings: Settings, now: int, catch_up: float = 0.0) -> CrawlFrontier:
    """Load the frontier, and let the first page be fetched at once unless one just was.

    Budget that was not spent while nothing ran is lost, so a crawl that is killed and restarted
    many times stays within its budget.

    Args:
        store: Knows the pages.
        settings: The crawler's settings.
        now: The present, in microseconds.
        catch_up: Days for which unspent budget is kept, at least.
    """
    frontier = load_frontier(store, settings, now, catch_up)
    newest = store.newest_visit()
    days = 1.0 if newest is None else (now - newest) / MICROSECONDS_A_DAY
    if days * settings.budget >= 1.0:
        frontier.frontier.spend(-1)
    return frontier


def recorder_of(
    settings: Settings,
    clock: Clock,
    frontier: CrawlFrontier,
    store: StoreThread,
    memory: MemoryBudget,
    templates: Templates,
) -> Recorder:
    """Return the recorder, which updates the frontier and writes visits to the store."""
    gone_time = patience_of(settings).gone_time
    return Recorder(frontier, store, memory, gone_time, clock.passing, templates)


def retention_of(settings: Settings) -> Retention:
    """Return how much of the past is kept."""
    return Retention(
        settings.keep_changes,
        round(settings.keep_for * MICROSECONDS_A_DAY) or None,
        settings.keep_versions,
    )


def send_limits_of(settings: Settings) -> SendLimits:
    """Return the limits on sending to webhooks."""
    return SendLimits(
        settings.webhook_connections, settings.webhook_timeout, settings.webhook_attempts
    )


def return_memory() -> None:
    """Have glibc return the memory of long bodies to the system as soon as they are released.

    By default it keeps freed blocks of sizes it has seen before, and does so per thread; that would
    be several times as much memory as all bodies take together.
    """
    if sys.platform == "linux":
        import ctypes

        with suppress(AttributeError, OSError):
            for option, value in _MALLOC:
                ctypes.CDLL(None).mallopt(option, value)


def loop_factory() -> Callable[[], asyncio.AbstractEventLoop] | None:
    """Return what makes the event loop; None for Python's own."""
    if sys.platform == "win32":
        return None
    import uvloop

    return uvloop.new_event_loop

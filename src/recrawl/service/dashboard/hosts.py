"""Hosts: how politely each is visited, how it responds, its robots.txt and its sitemaps."""

from dataclasses import dataclass
from typing import Annotated

import numpy as np
from fastapi import APIRouter, Query, Request
from fastapi.responses import Response

from recrawl.estimation.shown.rates import expected_freshness
from recrawl.inspect.pages import VISITED
from recrawl.records import RobotsText
from recrawl.service.api.dependencies import TheService, needs
from recrawl.service.auth.tokens import Access
from recrawl.service.dashboard.html_route import HtmlRoute
from recrawl.service.dashboard.rendering import render
from recrawl.service.service import Service
from recrawl.store.listing import HostCounts, PageColumns
from recrawl.store.rows import SitemapFile, days_since
from recrawl.store.sqlite import SqliteStore

router = APIRouter(
    include_in_schema=False, route_class=HtmlRoute, dependencies=[needs(Access.READ)]
)

PAGE_SIZE = 25
MAX_SITEMAPS = 50
#: Characters of a robots.txt that are shown.
MAX_ROBOTS = 4_000
MAX_TEXT, MAX_OFFSET = 1_000, 10**9


@dataclass(frozen=True)
class HostRow:
    """A host in the list.

    Attributes:
        counts: How many pages it has.
        freshness: The share of its pages' importance whose copies are expected to be fresh; None
            without a copy.
        delay: Seconds between two requests.
        response: Seconds that a response takes; None before the first request.
        closed_for: Seconds until its backoff ends; None if it is not in backoff.
        robots: Its robots.txt; None if it was not read yet.
        parts: Its pages by state: key, name, count, and start and width in a bar.
    """

    counts: HostCounts
    freshness: float | None
    delay: float
    response: float | None
    closed_for: float | None
    robots: RobotsText | None
    parts: list[tuple[str, str, int, float, float]]

    @property
    def kept_fresh(self) -> int:
        """How many of its pages are visited."""
        return self.counts.pages - self.counts.gone - self.counts.refused


@router.get("/hosts", response_class=Response)
async def hosts(
    request: Request,
    service: TheService,
    text: Annotated[str, Query(max_length=MAX_TEXT)] = "",
    offset: Annotated[int, Query(ge=0, le=MAX_OFFSET)] = 0,
) -> Response:
    """Show hosts, those with the most pages first, and sitemaps."""
    wanted = text.strip().lower()
    found = [host for host in await service.hosts() if wanted in host.name]
    shown = found[offset : offset + PAGE_SIZE]
    now = service.clock.now()
    sitemaps = [one for one in await service.sitemaps() if wanted in one.url.lower()]
    fresh = await service.read(_freshness, service, [host.name for host in shown], now)
    robots = await service.read(_robots, [host.name for host in shown])
    return render(
        request,
        "hosts.html",
        rows=[_row(service, host, fresh, robots, now) for host in shown],
        found=len(found),
        offset=offset,
        size=PAGE_SIZE,
        text=text,
        sitemaps=sitemaps[:MAX_SITEMAPS],
        hubs=await service.subscriptions(),
        more_sitemaps=max(len(sitemaps) - MAX_SITEMAPS, 0),
        max_robots=MAX_ROBOTS,
        failing=sum(map(_is_failing, sitemaps)),
        now=now,
    )


def _is_failing(sitemap: SitemapFile) -> bool:
    return sitemap.error is not None


def _row(
    service: Service,
    host: HostCounts,
    fresh: dict[str, float],
    robots: dict[str, RobotsText],
    now: int,
) -> HostRow:
    times = service.stats.hosts.get(host.name)
    until = service.stats.closed.get(host.name, 0)
    return HostRow(
        counts=host,
        freshness=fresh.get(host.name),
        delay=service.delay_of(host.name),
        response=None if times is None else times.mean,
        closed_for=(until - now) / 1e6 if until > now else None,
        robots=robots.get(host.name),
        parts=parts_of(host, fresh.get(host.name, 0.0)),
    )


def parts_of(host: HostCounts, fresh: float) -> list[tuple[str, str, int, float, float]]:
    """Return a host's pages by state, each with its start and width in a bar, in percent.

    Args:
        host: How many pages it has.
        fresh: The share of pages without problems whose copies are expected to be fresh.
    """
    well = host.pages - host.missing - host.gone - host.refused - host.failing
    counts = (
        ("fresh", "probably fresh", round(well * fresh)),
        ("unchanged", "probably stale", well - round(well * fresh)),
        ("failed", "failing", host.failing),
        ("gone", "not found", host.missing + host.gone),
        ("refused", "refused", host.refused),
    )
    total = sum(number for _, _, number in counts) or 1
    start, parts = 0.0, []
    for key, name, number in counts:
        width = 100 * number / total
        parts.append((key, name, number, round(start, 2), round(width, 2)))
        start += width
    return parts


def _freshness(
    store: SqliteStore, service: Service, names: list[str], now: int
) -> dict[str, float]:
    columns = service.index.columns(store)
    # As of when they were read; copies may have changed since.
    since = round(service.clock.passing(service.index.age) * 1e6)
    return host_freshness(columns, names, now - since)


def host_freshness(columns: PageColumns, names: list[str], now: int) -> dict[str, float]:
    """Return the expected freshness of those hosts that have a copy."""
    wanted = set(names)
    numbers = {number: name for number, name in columns.hosts.items() if name in wanted}
    rows = np.flatnonzero(np.isin(columns.host, list(numbers)) & np.isin(columns.state, VISITED))
    fresh = columns.rates.of(rows).fresh(days_since(columns.last_visit[rows], now))
    weight, host = columns.importance[rows], columns.host[rows]
    shares = {
        name: expected_freshness(fresh[host == number], weight[host == number])
        for number, name in numbers.items()
    }
    return {name: share for name, share in shares.items() if share is not None}


def _robots(store: SqliteStore, names: list[str]) -> dict[str, RobotsText]:
    """Return what is known about the robots.txt of hosts."""
    found = {}
    for name in names:
        for scheme in ("https", "http"):
            robots = store.robots(f"{scheme}://{name}")
            if robots is not None:
                found[name] = robots
                break
    return found

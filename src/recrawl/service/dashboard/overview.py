"""The overview: how fresh copies are, whether the crawl is keeping up, and what it is doing."""

from typing import Annotated

from fastapi import APIRouter, Depends, Query, Request
from fastapi.responses import Response, StreamingResponse

from recrawl.engine.stats import Stats
from recrawl.records import Outcome
from recrawl.service.api.dependencies import TheService, TheUser, needs
from recrawl.service.auth.tokens import Access
from recrawl.service.dashboard.charts import rate_bars
from recrawl.service.dashboard.html_route import HtmlRoute
from recrawl.service.dashboard.live import Live, change_row
from recrawl.service.dashboard.rendering import render
from recrawl.service.dashboard.samples import DAY, WINDOWS, Window, rows_of, window_of
from recrawl.service.service import ServiceStatus
from recrawl.store.changes import Cursor, PageChange
from recrawl.store.samples import KeptSample, Span
from recrawl.store.sqlite import SqliteStore

router = APIRouter(
    include_in_schema=False, route_class=HtmlRoute, dependencies=[needs(Access.READ)]
)

#: Changes that are listed.
NEWEST_CHANGES = 8


async def live_of(request: Request) -> Live:
    """Return what samples the service."""
    found: Live = request.app.state.live
    return found


TheLive = Annotated[Live, Depends(live_of)]


@router.get("/", response_class=Response)
async def overview(
    request: Request,
    service: TheService,
    live: TheLive,
    over: Annotated[str, Query(max_length=10)] = "",
) -> Response:
    """Show the overview."""
    status = await service.status()
    if live.samples.newest is None:
        live.sample()
    newest = await service.read(newest_changes, NEWEST_CHANGES)
    window, kept = await service.read(_kept, over, status.now)
    rows = rows_of(kept, live.samples.within(window, status.now), window.span)
    return render(
        request,
        "overview.html",
        status=status,
        stats=status.stats,
        samples={
            "columns": [list(column) for column in zip(*rows, strict=True)],
            "length": window.length / 1e6,
            "step": 0 if window.is_fine else window.span,
        },
        window=window,
        windows=WINDOWS,
        texts=live.texts,
        outcomes=shares(status.last_day.outcomes),
        trouble=trouble_of(status),
        closed=closed_hosts(status.stats, status.now),
        rates=rate_bars(service.index.known_columns()),
        changes=[change_row(change, status.now) for change in newest],
    )


def _kept(store: SqliteStore, over: str, now: int) -> tuple[Window, list[KeptSample]]:
    """Return the time range to draw, and the stored samples of it."""
    last_day = store.samples.since(now - DAY, Span.MINUTE)
    window = window_of(over, last_day[0].at if last_day else now, now)
    return window, store.samples.since(now - window.length, window.span)


@router.get("/live", response_class=Response)
async def live_events(service: TheService, user: TheUser, live: TheLive) -> StreamingResponse:
    """Stream samples and changes as server-sent events."""
    service.streams.check()
    return StreamingResponse(live.events(user), media_type="text/event-stream")


def newest_changes(store: SqliteStore, limit: int) -> list[PageChange]:
    """Return the newest changes, newest first."""
    oldest, end = store.feed.oldest(), store.feed.end()
    found = store.feed.read(Cursor(max(oldest.serial, end.serial - limit)), limit)
    return found[::-1]


#: What visits find, in drawing order.
FOUND = (
    (Outcome.FIRST, "first copy"),
    (Outcome.CHANGED, "changed"),
    (Outcome.UNCHANGED, "unchanged"),
    (Outcome.FAILED, "failed"),
    (Outcome.GONE, "not found"),
)


def shares(outcomes: dict[Outcome, int]) -> list[dict[str, object]]:
    """Return what visits found, with the start of each part of a bar, in percent."""
    total, start, parts = sum(outcomes.values()), 0.0, []
    for outcome, name in FOUND:
        number = outcomes.get(outcome, 0)
        width = 100 * number / total if total else 0.0
        parts.append(
            {
                "key": outcome.name.lower(),
                "name": name,
                "count": number,
                "start": round(start, 3),
                "width": round(width, 3),
            }
        )
        start += width
    return parts


def trouble_of(status: ServiceStatus) -> list[dict[str, object]]:
    """Return how many pages have problems, with a link to the list of them."""
    found = status.trouble
    rows = (
        ("failing", found.failing, "/pages?failing=true&state=alive", "last visit failed"),
        ("missing", found.missing, "/pages?state=missing", "not found, being confirmed"),
        ("gone", found.gone, "/pages?state=gone", "gone"),
        ("refused", found.refused, "/pages?state=refused", "refused"),
    )
    return [
        {"key": key, "count": number, "link": link, "name": name}
        for key, number, link, name in rows
        if number
    ]


def closed_hosts(stats: Stats, now: int) -> list[tuple[str, float]]:
    """Return hosts in backoff, and for how many more seconds."""
    left = {host: (until - now) / 1e6 for host, until in stats.closed.items() if until > now}
    return sorted(left.items(), key=lambda one: -one[1])[:5]

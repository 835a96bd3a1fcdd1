"""Pages: search, filter and sort them; when each was checked, when it changed, what comes next."""

import math
from dataclasses import dataclass
from typing import Annotated

from fastapi import APIRouter, Query, Request
from fastapi.responses import Response

from recrawl.config.settings import Settings
from recrawl.errors import ArgumentError
from recrawl.inspect.explain import Explanation, Price, explain, percent_sign
from recrawl.inspect.pages import ORDERS, STATES, ListedPage, Wanted
from recrawl.records import MICROSECONDS_A_DAY, Page, State
from recrawl.service.api.dependencies import TheService, needs
from recrawl.service.auth.tokens import Access
from recrawl.service.dashboard.html_route import HtmlRoute
from recrawl.service.dashboard.rendering import render
from recrawl.store.sqlite import SqliteStore
from recrawl.units import parse_rate

router = APIRouter(
    include_in_schema=False, route_class=HtmlRoute, dependencies=[needs(Access.READ)]
)

PAGE_SIZE = 50
MAX_TEXT, MAX_OFFSET = 1_000, 10**9
#: Change rates that are drawn as an empty and as a full bar, per day.
SLOWEST, FASTEST = 1 / 365, 86_400.0
#: What pages can be sorted by, in words.
TITLES = {
    "added": "when it was added",
    "url": "URL",
    "host": "host",
    "state": "state",
    "importance": "importance",
    "rate": "how often it changes",
    "last-visit": "last visit",
    "next-visit": "next visit",
    "failures": "failures in a row",
    "error": "error",
}
#: Orders that start with the largest.
DOWNWARDS = ("importance", "rate", "failures")


@dataclass(frozen=True)
class Row:
    """A page in the list.

    Attributes:
        page: As listed.
        changed_at: When it was last found to have changed, or first found; None if never.
        why: Why it is visited at that time, in a few words.
        pace: Where its change rate is between the slowest and the fastest, from 0 to 100.
    """

    page: ListedPage
    changed_at: int | None
    why: str
    pace: float


@router.get("/pages", response_class=Response)
async def pages(
    request: Request,
    service: TheService,
    text: Annotated[str, Query(max_length=MAX_TEXT)] = "",
    state: Annotated[str, Query(max_length=20)] = "",
    host: Annotated[str, Query(max_length=MAX_TEXT)] = "",
    error: Annotated[str, Query(max_length=MAX_TEXT)] = "",
    min_rate: Annotated[str, Query(max_length=40)] = "",
    max_rate: Annotated[str, Query(max_length=40)] = "",
    failing: Annotated[bool, Query()] = False,  # noqa: FBT002
    order: Annotated[str, Query(max_length=20)] = "added",
    reverse: Annotated[bool, Query()] = False,  # noqa: FBT002
    offset: Annotated[int, Query(ge=0, le=MAX_OFFSET)] = 0,
) -> Response:
    """Show pages, filtered and sorted."""
    if order not in ORDERS:
        raise ArgumentError(f"order: choose one of {', '.join(ORDERS)}")
    if state and state not in STATES:
        raise ArgumentError(f"state: choose one of {', '.join(STATES)}")
    wanted = Wanted(
        states=(STATES[state],) if state else (),
        hosts=(host.strip(),) if host.strip() else (),
        error=error or None,
        failing=failing,
        min_rate=parse_rate(min_rate) if min_rate.strip() else None,
        max_rate=parse_rate(max_rate) if max_rate.strip() else None,
        order=order,
        reverse=reverse,
        limit=PAGE_SIZE,
    )
    found = await service.pages(wanted, text=text, offset=offset)
    now = service.clock.now()
    rows = await service.read(_rows, found.rows, service.price, service.settings, now)
    asked = {
        "text": text,
        "state": state,
        "host": host,
        "error": error,
        "min_rate": min_rate,
        "max_rate": max_rate,
        "failing": "true" if failing else "",
        "order": order if order != "added" else "",
        "reverse": "true" if reverse else "",
    }
    return render(
        request,
        "pages.html",
        rows=rows,
        found=found.found,
        offset=offset,
        size=PAGE_SIZE,
        asked=asked,
        order=order,
        is_reversed=reverse,
        downwards=DOWNWARDS,
        states=list(STATES),
        orders=TITLES,
        is_filtered=any((text, state, host, error, min_rate, max_rate, failing)),
        now=now,
    )


def _rows(
    store: SqliteStore, listed: list[ListedPage], price: Price | None, settings: Settings, now: int
) -> list[Row]:
    rows = []
    for one in listed:
        page = store.page(one.url)
        if page is None:
            continue
        limits = settings.site_of(page.url).limits
        details = explain(page, store.belief(page.number), price, now, limits)
        rows.append(Row(one, store.changed_at(page), short_why(details), pace_of(one.change_rate)))
    return rows


def pace_of(rate: float | None) -> float:
    """Return where a change rate per day is on a logarithmic scale, from 0 to 100.

    >>> pace_of(None), pace_of(1 / 365), pace_of(86_400.0)
    (0.0, 0.0, 100.0)
    """
    if rate is None or rate <= SLOWEST:
        return 0.0
    return round(min(100 * math.log(rate / SLOWEST) / math.log(FASTEST / SLOWEST), 100.0), 1)


def short_why(details: Explanation) -> str:
    """Return in a few words why a page is visited at its next time."""
    return _trouble(details.page) or _worth(details)


def _trouble(page: Page) -> str:
    """Return what keeps a page from being visited in its turn; empty if nothing does."""
    often = f" {page.failures} times" if page.failures > 1 else ""
    reasons = (
        (page.state is State.REFUSED, "refused; checked now and then"),
        (page.state is State.GONE, "gone; checked now and then"),
        (page.state is State.MISSING, "not found; being confirmed"),
        (page.failures > 0, f"failed{often}; retried"),
        (page.last_visit is None, "no copy yet"),
        (page.importance <= 0.0, "importance 0"),
    )
    return next((reason for applies, reason in reasons if applies), "")


def _worth(details: Explanation) -> str:
    """Return what a visit to a page with a copy is worth, compared with its price."""
    after, value, price = details.visit_after, details.value, details.price
    if after is None or value is None or price is None:
        return "price not known yet"
    if math.isinf(after):
        return "changes too often to be worth it"
    elapsed = details.elapsed or 0.0
    ahead = 0.0 if details.due is None else (details.due - details.now) / MICROSECONDS_A_DAY
    if ahead > 0.0 and elapsed >= after:
        return "by min_interval"
    if ahead <= 0.0:
        return "worth its price" if elapsed >= after else "by max_interval"
    return f"worth {percent_sign(value / price.value)} of its price now"

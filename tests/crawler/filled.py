"""A real store with a few pages whose lives are known."""

import os
from dataclasses import replace

from crawler.believing import NO_PRIOR, with_belief

from recrawl.records import (
    Fingerprint,
    Outcome,
    Page,
    Response,
    State,
    Validators,
    Visit,
    digest_of,
)
from recrawl.store.reading import RATE_PRIOR
from recrawl.store.rows import NewPage, Spent
from recrawl.store.sqlite import SqliteStore

HOUR = 3_600_000_000
DAY = 24 * HOUR
NEWS, ABOUT, NEW, BROKEN, GONE = (
    "https://a.example/news",
    "https://a.example/about",
    "https://a.example/new",
    "https://b.example/broken",
    "https://b.example/gone",
)
#: What is believed of the two pages that are well: shape, time.
BELIEFS = {NEWS: (6.0, 3.0), ABOUT: (1.0, 40.0)}
PRICE = 0.05
NEWS_BODY = b"<p>News \xe9</p>"
HEADERS = (("Content-Type", "text/html; charset=latin-1"), ("ETag", '"n1"'))


def fill(path: str | os.PathLike[str], now: int, *, price: float | None = PRICE) -> None:
    """Make a store: one page known well, one less so, one new, one failing, one gone."""
    with SqliteStore.open(path, create=True) as store:
        pages = [
            NewPage(NEWS, "a.example", 2.0),
            *(NewPage(url, "a.example") for url in (ABOUT, NEW)),
            *(NewPage(url, "b.example") for url in (BROKEN, GONE)),
        ]
        store.add(pages, at=now - 9 * DAY)
        _visit(store, NEWS, now - 2 * DAY, Outcome.FIRST)
        _visit(store, NEWS, now - 6 * HOUR, Outcome.CHANGED)
        _visit(store, ABOUT, now - 8 * DAY, Outcome.FIRST)
        _fail(store, BROKEN, now - 3 * HOUR, Outcome.FAILED, "no connection: refused")
        _fail(store, GONE, now - 5 * HOUR, Outcome.GONE, None)
        store.record([], Spent(at=now - HOUR, robots=2, sitemaps=1))
        store.set_meta(RATE_PRIOR, NO_PRIOR.text())
        if price is not None:
            store.set_meta("price", str(price))


def miss(path: str | os.PathLike[str], now: int) -> None:
    """Have the page that is known less well not be found, and the new one refused."""
    with SqliteStore.open(path) as store:
        missing = replace(_page(store, ABOUT), failures=1, state=State.MISSING)
        store.record([Visit(missing, Outcome.GONE, Response(ABOUT, 404, now, requests=1))])
        refused = replace(_page(store, NEW), state=State.REFUSED, reason="disallowed by robots.txt")
        store.record([Visit(refused, Outcome.FAILED, Response(NEW, 0, now, requests=0))])


def _page(store: SqliteStore, url: str) -> Page:
    page = store.page(url)
    assert page is not None
    return page


def _visit(store: SqliteStore, url: str, at: int, outcome: Outcome) -> None:
    before = _page(store, url)
    body = NEWS_BODY if outcome is Outcome.CHANGED else f"<p>{url}</p>".encode()
    after = replace(
        before,
        last_visit=at,
        validators=Validators('"n1"'),
        fingerprint=Fingerprint("text/1", b"f"),
        body=digest_of(body),
        visits=before.visits + 1,
        changes=before.changes + (outcome is Outcome.CHANGED),
    )
    answer = Response(
        url, 200, at, headers=HEADERS, body=body, transferred=len(body), seconds=0.12, requests=1
    )
    visit = Visit(after, outcome, answer, before.last_visit, content=body)
    store.record([with_belief(visit, *BELIEFS[url])])


def _fail(store: SqliteStore, url: str, at: int, outcome: Outcome, error: str | None) -> None:
    page = replace(
        _page(store, url),
        failures=int(error is not None),
        state=State.ALIVE if error else State.GONE,
    )
    answer = Response(url, 0 if error else 404, at, requests=2, error=error)
    store.record([Visit(page, outcome, answer)])

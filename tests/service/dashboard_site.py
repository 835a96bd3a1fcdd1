"""A store full of what must not be shown as it is, and a browser's session to look at it."""

import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import parse_qsl, urlencode

from crawler.believing import NO_PRIOR, with_belief
from fastapi import Request
from service.served import Answered, Served, served, settings_in
from virtual_time import now

from recrawl.clock import Clock
from recrawl.records import (
    Change,
    ChangeKind,
    Fingerprint,
    Outcome,
    Page,
    Response,
    RobotsText,
    State,
    Validators,
    Visit,
    digest_of,
)
from recrawl.service.auth.cookies import COOKIE
from recrawl.service.auth.tokens import Access, User
from recrawl.service.dashboard.forms import form_token
from recrawl.store.reading import RATE_PRIOR
from recrawl.store.rows import NewPage, SitemapFile
from recrawl.store.sqlite import SqliteStore

MINUTE = 60_000_000
#: When it is, in microseconds.
START = 1_800_000_000_000_000
HOUR, DAY = 60 * MINUTE, 24 * 60 * MINUTE
#: Markup, an ANSI escape and a character that turns the direction of writing.
EVIL = '"><script>alert(1)</script><img src=x onerror=alert(2)>\x1b[2J\u202e'
NEWS, ABOUT, BROKEN, REFUSED, NEW = (
    "https://a.example/news",
    "https://a.example/about",
    "https://b.example/broken",
    "https://b.example/refused",
    "https://b.example/new",
)
#: As no page is added by a user; a link or a sitemap may be read by a version with other rules.
ODD = f"https://c.example/{EVIL}"
#: Where the service is, and what its cookie is called there.
HOST, NAME = "127.0.0.1:8321", f"{COOKIE}_8321"
PAGES = ("/", "/pages", f"/page?url={NEWS}", "/changes", "/hosts", "/budget", "/settings", "/docs")


def fill(path: str, at: int) -> None:
    """Make the store."""
    with SqliteStore.open(path, create=True) as store:
        new = [NewPage(url, url.split("/")[2]) for url in (NEWS, ABOUT, BROKEN, REFUSED, NEW, ODD)]
        store.add(new, at=at - 9 * DAY)
        for number, ago in enumerate((3 * DAY, 2 * DAY, DAY, 6 * HOUR)):
            _visit(store, NEWS, at - ago, f"Issue {number} of the news. {EVIL}", (6.0, 3.0))
        for ago in (8 * DAY, 4 * DAY):
            _visit(store, ABOUT, at - ago, "About us, for ever the same.", (1.0, 40.0))
        _end(store, BROKEN, at - HOUR, Outcome.FAILED, error=f"no answer {EVIL}")
        _end(store, REFUSED, at - HOUR, Outcome.FAILED, reason=f"refused {EVIL}")
        store.remember_robots(RobotsText("https://b.example", 500, "", at, at, f"bad {EVIL}"))
        store.remember_robots(RobotsText("https://a.example", 200, f"User-agent: *\n{EVIL}", at))
        store.sitemaps.add("https://a.example/sitemap.xml")
        store.sitemaps.note(
            SitemapFile("https://a.example/sitemap.xml", at, error=f"not XML {EVIL}", failures=2)
        )
        store.set_meta("price", "0.05")
        store.set_meta(RATE_PRIOR, NO_PRIOR.text())


def _page(store: SqliteStore, url: str) -> Page:
    page = store.page(url)
    assert page is not None
    return page


def _visit(store: SqliteStore, url: str, at: int, text: str, belief: tuple[float, float]) -> None:
    page = _page(store, url)
    escaped = text.replace("&", "&amp;").replace("<", "&lt;")
    body = f"<html><title>{escaped}</title><p>Hello there.</p><p>{escaped}</p></html>".encode()
    is_first, is_same = page.body is None, page.body == digest_of(body)
    outcome = Outcome.FIRST if is_first else Outcome.UNCHANGED if is_same else Outcome.CHANGED
    after = replace(
        page,
        last_visit=at,
        visits=page.visits + 1,
        changes=page.changes + (outcome is Outcome.CHANGED),
        body=digest_of(body),
        fingerprint=Fingerprint("text/3", digest_of(body)),
        validators=Validators(etag=f'"{EVIL}"'),
    )
    answer = Response(url, 200, at, (("Content-Type", "text/html"),), body, seconds=0.2)
    change = Change(ChangeKind.TEXT, 0.5) if outcome is Outcome.CHANGED else None
    content = None if is_same else body
    visit = Visit(after, outcome, answer, page.last_visit, content=content, change=change)
    store.record([with_belief(visit, *belief)])


def _end(
    store: SqliteStore,
    url: str,
    at: int,
    outcome: Outcome,
    *,
    error: str | None = None,
    reason: str | None = None,
) -> None:
    page = _page(store, url)
    state = State.ALIVE if reason is None else State.REFUSED
    after = replace(
        page, failures=1, state=state, reason=reason, retry_at=at + DAY if reason else None
    )
    store.record([Visit(after, outcome, Response(url, 0, at, error=error or reason))])


@dataclass
class Browser:
    """A browser with a session, or without one."""

    on: Served
    cookie: str | None

    @property
    def form_token(self) -> str:
        """What forms of this session carry."""
        headers = [(b"cookie", f"{NAME}={self.cookie}".encode()), (b"host", HOST.encode())]
        return form_token(Request({"type": "http", "headers": headers}))

    async def get(self, path: str, **headers: str) -> Answered:
        """Look at a page."""
        target, _, query = path.partition("?")
        return await self._ask("GET", target, query, headers)

    async def show(self, path: str) -> str:
        """Look at a page that must be there."""
        answered = await self.get(path)
        assert answered.status == 200, answered.body.decode()
        return answered.body.decode()

    async def send(self, path: str, headers: dict[str, str] | None = None, **form: str) -> Answered:
        """Send a form."""
        target, _, query = path.partition("?")
        kind = {"content-type": "application/x-www-form-urlencoded"}
        own = {"origin": "http://127.0.0.1:8321"}
        return await self._ask(
            "POST", target, query, kind | own | (headers or {}), urlencode(form).encode()
        )

    async def _ask(
        self, method: str, path: str, query: str, headers: dict[str, str], body: bytes = b""
    ) -> Answered:
        sent = {"accept": "text/html"} | headers
        if self.cookie is not None:
            sent |= {"cookie": f"{NAME}={self.cookie}"}
        asked = dict(parse_qsl(query, keep_blank_values=True))
        return await self.on.ask(method, path, token=None, headers=sent, raw=body, **asked)


@asynccontextmanager
async def browsing(
    folder: Path, access: Access | None = Access.ADMIN, **settings: str
) -> AsyncIterator[Browser]:
    """Serve the store, and log a browser in."""
    clock = Clock(wall=lambda: START + round(now() * 1e6), steady=now)
    known = settings_in(folder, **{"budget": "100/day", **settings})
    fill(known.store, clock.now())
    async with served(known, clock=clock) as on:
        cookie = None if access is None else on.service.sessions.start(User("", access))
        yield Browser(on, cookie)


class _Acting(HTMLParser):
    """Finds what could act in a page: scripts without a file, styles and handlers in the markup."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        names = {name for name, _ in attrs}
        is_bad = tag in {"style", "iframe", "object", "img"} or (
            tag == "script" and "src" not in names
        )
        if is_bad or "style" in names or any(name.startswith("on") for name in names):
            self.found.append(f"<{tag} {attrs}>")
        self.found += [
            f"{name}={value}"
            for name, value in attrs
            if name in {"href", "src", "action"} and (value or "").lower().startswith("javascript")
        ]


def acting(page: str) -> list[str]:
    """Return what could act in a page, or is not for the policy to allow."""
    parser = _Acting()
    parser.feed(page)
    return parser.found


def texts(html: str) -> str:
    """Return what a reader sees of a page, roughly."""
    return re.sub(r"\s+", " ", re.sub(r"<[^>]*>", " ", html))

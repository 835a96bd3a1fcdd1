"""How the demo web responds to a request at a given time: with a page's version, or with 304."""

import hashlib
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import formatdate

from recrawl.demo.pages import DemoPage, PageRenderer
from recrawl.demo.sites import SITES, Noise, Validation
from recrawl.demo.slow_noise import DAY, day_of, last_slow_change
from recrawl.demo.vocabulary import ADVERTS
from recrawl.units import parse_http_date

HTML = "text/html; charset=utf-8"

Headers = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Request:
    """An HTTP request.

    Attributes:
        site: The number of the site.
        path: The path, without a query.
        if_none_match: The header of that name, if present.
        if_modified_since: The header of that name, if present.
    """

    site: int
    path: str
    if_none_match: str | None = None
    if_modified_since: str | None = None


@dataclass(frozen=True, slots=True)
class Response:
    """An HTTP response, without the headers that every response has."""

    status: int
    headers: Headers = ()
    body: bytes = b""


@dataclass(slots=True)
class _PageState:
    """When a page changes, how often it was fetched, and its latest rendering."""

    page: DemoPage
    changes: Sequence[float]
    age: float
    fetches: int = 0
    version: tuple[int, int] = (-1, 0)
    rendered: Sequence[bytes] = ()


class RequestHandler:
    """Responds for all sites.

    Args:
        renderer: Renders the pages.
        changes: When each page changes, in seconds since `begin`.
        ages: Seconds between each page's latest change and ``created``.
        created: When the web was created, in Unix seconds.

    Pages do not change before `begin`.
    """

    def __init__(
        self,
        renderer: PageRenderer,
        changes: Sequence[Sequence[float]],
        ages: Sequence[float],
        created: float,
    ) -> None:
        self._renderer = renderer
        self._created = created
        self._began = float("inf")
        self._pages = {
            (page.site, page.path): _PageState(page, list(times), age)
            for page, times, age in zip(renderer.pages, changes, ages, strict=True)
        }

    def begin(self, at: float) -> None:
        """Let pages change from this time on, in Unix seconds."""
        self._began = at

    def respond(self, request: Request, now: float) -> Response:
        """Return the response at this time, in Unix seconds."""
        state = self._pages.get((request.site, request.path))
        if state is not None:
            return self._page(state, request, now)
        site = SITES[request.site]
        if request.path == "/robots.txt":
            return _file("text/plain", self._robots(request.site))
        if request.path == "/sitemap.xml" and site.sitemap:
            return _file("application/xml", self._sitemap(request.site, now))
        if site.forbidden and request.path.startswith(site.forbidden):
            return _file(HTML, "<!doctype html><title>Draft</title><p>Nobody should read this.</p>")
        body = b"<!doctype html><title>Not found</title><p>There is no such page.</p>"
        return Response(404, (("Content-Type", HTML),), body)

    def _page(self, state: _PageState, request: Request, now: float) -> Response:
        version = bisect_right(state.changes, now - self._began)
        day = day_of(now - self._began)
        state.fetches += 1
        headers = self._validators(state, version, day, now)
        if _is_current(request, dict(headers)):
            return Response(304, headers)
        if (version, day) != state.version:
            state.version = version, day
            state.rendered = self._renderer.render(state.page, version, day)
        body = list(state.rendered)
        body[1::2] = [noise(Noise(kind.decode()), state.fetches, now) for kind in body[1::2]]
        return Response(200, (("Content-Type", HTML), *headers), b"".join(body))

    def _validators(
        self, state: _PageState, version: int, day: int, now: float
    ) -> tuple[tuple[str, str], ...]:
        """Return the validators of a response, which also depend on the site's slow noise."""
        page = state.page
        modified = self._modified(state, version)
        slow = last_slow_change(SITES[page.site], day)
        if slow is not None:
            modified = max(modified, self._began + slow * DAY)
        # Dates have whole seconds. There may be another change within the same second, which the
        # date could not distinguish: it is only sent once that second is over.
        date = (
            (("Last-Modified", formatdate(int(modified), usegmt=True)),)
            if int(modified) < int(now)
            else ()
        )
        match SITES[page.site].validation:
            case Validation.NONE:
                return ()
            case Validation.DATE:
                return date
            case Validation.TAG_AND_DATE:
                return (("ETag", f'"{page.number:x}-{version:x}-{slow or 0:x}"'), *date)
            case Validation.NEW_TAG:
                return (("ETag", f'W/"{state.fetches:x}-{int(1e6 * now):x}"'),)

    def _modified(self, state: _PageState, version: int) -> float:
        """Return when a version was published, in Unix seconds."""
        return self._began + state.changes[version - 1] if version else self._created - state.age

    def _robots(self, number: int) -> str:
        site = SITES[number]
        lines = ["User-agent: *"]
        lines.append(f"Disallow: {site.forbidden or ''}".rstrip())
        if site.crawl_delay is not None:
            lines.append(f"Crawl-delay: {site.crawl_delay}")
        if site.sitemap:
            lines.append(f"Sitemap: {self._renderer.origins[number]}/sitemap.xml")
        return "\n".join([*lines, ""])

    def _sitemap(self, site: int, now: float) -> str:
        entries = []
        for state in self._pages.values():
            if state.page.site == site:
                version = bisect_right(state.changes, now - self._began)
                changed = datetime.fromtimestamp(self._modified(state, version), UTC)
                entries.append(
                    f"<url><loc>{self._renderer.url(state.page)}</loc>"
                    f"<lastmod>{changed.isoformat(timespec='milliseconds')}</lastmod></url>"
                )
        return "\n".join(
            [
                '<?xml version="1.0" encoding="UTF-8"?>',
                '<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">',
                *entries,
                "</urlset>",
                "",
            ]
        )


def _file(kind: str, text: str) -> Response:
    return Response(200, (("Content-Type", kind),), text.encode())


def _is_current(request: Request, validators: dict[str, str]) -> bool:
    """Return whether the client has this version; an entity tag takes precedence over a date."""
    if request.if_none_match is not None:
        tag = validators.get("ETag")
        tags = [one.strip().removeprefix("W/") for one in request.if_none_match.split(",")]
        return tag is not None and (tags == ["*"] or tag.removeprefix("W/") in tags)
    date = parse_http_date(validators.get("Last-Modified"))
    since = parse_http_date(request.if_modified_since)
    return date is not None and since is not None and date <= since


def noise(kind: Noise, fetch: int, now: float) -> bytes:
    """Return markup that differs from the previous fetch.

    Args:
        kind: What differs.
        fetch: The number of earlier fetches of the page.
        now: Unix seconds.

    >>> noise(Noise.TIMING, 0, 0.0), noise(Noise.TIMING, 1, 0.0)
    (b'<p>Generated in 1.2 ms</p>', b'<p>Generated in 4.9 ms</p>')
    """
    match kind:
        case Noise.CLOCK:
            clock = datetime.fromtimestamp(now, UTC).isoformat(" ", "milliseconds")[:-6]
            text = f'<p class="clock">Served at {clock}</p>'
        case Noise.TIMING:
            text = f"<p>Generated in {(12 + 37 * fetch % 83) / 10} ms</p>"
        case Noise.ADVERT:
            label, path = ADVERTS[fetch % len(ADVERTS)]
            text = f'<div class="advert"><a href="{path}">{label}</a></div>'
        case Noise.TOKEN:
            token = hashlib.blake2b(f"{fetch} {now}".encode(), digest_size=16).hexdigest()
            text = (
                f'<form action="/subscribe" method="post">'
                f'<input type="hidden" name="csrf" value="{token}">'
                f'<button>Subscribe</button></form> <a href="/account?session={token}">Sign in</a>'
            )
    return text.encode()

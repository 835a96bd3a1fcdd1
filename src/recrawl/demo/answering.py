"""What the little web answers at a time: pages as they are by then, or that nothing is new."""

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import formatdate, parsedate_to_datetime

from recrawl.demo.noise import noise
from recrawl.demo.pages import LittlePage, LittlePress
from recrawl.demo.sites import SITES, Noise, Validation

HTML = "text/html; charset=utf-8"


@dataclass(frozen=True, slots=True)
class Asked:
    """A request.

    Attributes:
        site: The number of the site that is asked.
        path: What is asked for, without a query.
        if_none_match: The header of that name, if it is there.
        if_modified_since: Likewise.
    """

    site: int
    path: str
    if_none_match: str | None = None
    if_modified_since: str | None = None


@dataclass(frozen=True, slots=True)
class Answered:
    """An answer, without what every answer has."""

    status: int
    headers: tuple[tuple[str, str], ...] = ()
    body: bytes = b""


@dataclass(slots=True)
class _Shelf:
    """A page at work: when it changes, how often it was fetched, and how it was last printed."""

    page: LittlePage
    changes: Sequence[float]
    age: float
    fetches: int = 0
    version: int = -1
    printed: Sequence[bytes] = ()


class LittleServer:
    """Answers for all sites.

    Args:
        press: Prints the pages.
        changes: When each page changes, in seconds since the beginning.
        ages: How long before ``made`` each page changed last.
        made: When the server was made, in Unix seconds.

    Until it is told to begin, all pages stay as they are.
    """

    def __init__(
        self,
        press: LittlePress,
        changes: Sequence[Sequence[float]],
        ages: Sequence[float],
        made: float,
    ) -> None:
        self._press = press
        self._made = made
        self._began = float("inf")
        self._shelves = {
            (page.site, page.path): _Shelf(page, list(times), age)
            for page, times, age in zip(press.pages, changes, ages, strict=True)
        }

    def begin(self, at: float) -> None:
        """Let pages live from this time on, in Unix seconds."""
        self._began = at

    def answer(self, asked: Asked, now: float) -> Answered:
        """Answer a request at this time, in Unix seconds."""
        shelf = self._shelves.get((asked.site, asked.path))
        if shelf is not None:
            return self._page(shelf, asked, now)
        site = SITES[asked.site]
        if asked.path == "/robots.txt":
            return _file("text/plain", self._robots(asked.site))
        if asked.path == "/sitemap.xml" and site.sitemap:
            return _file("application/xml", self._sitemap(asked.site, now))
        if site.forbidden and asked.path.startswith(site.forbidden):
            return _file(HTML, "<!doctype html><title>Draft</title><p>Nobody should read this.</p>")
        body = b"<!doctype html><title>Not found</title><p>There is no such page.</p>"
        return Answered(404, (("Content-Type", HTML),), body)

    def _page(self, shelf: _Shelf, asked: Asked, now: float) -> Answered:
        version = bisect_right(shelf.changes, now - self._began)
        shelf.fetches += 1
        headers = self._validators(shelf, version, now)
        if _is_known(asked, dict(headers)):
            return Answered(304, headers)
        if version != shelf.version:
            shelf.version, shelf.printed = version, self._press.print(shelf.page, version)
        body = list(shelf.printed)
        body[1::2] = [noise(Noise(kind.decode()), shelf.fetches, now) for kind in body[1::2]]
        return Answered(200, (("Content-Type", HTML), *headers), b"".join(body))

    def _validators(self, shelf: _Shelf, version: int, now: float) -> tuple[tuple[str, str], ...]:
        page = shelf.page
        modified = self._modified(shelf, version)
        # Dates have whole seconds. One that is not over may bring another change, which nobody
        # could tell by the date: it is not given away before.
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
                return (("ETag", f'"{page.number:x}-{version:x}"'), *date)
            case Validation.NEW_TAG:
                return (("ETag", f'W/"{shelf.fetches:x}-{int(1e6 * now):x}"'),)

    def _modified(self, shelf: _Shelf, version: int) -> float:
        """Give when a version came to be, in Unix seconds."""
        return self._began + shelf.changes[version - 1] if version else self._made - shelf.age

    def _robots(self, number: int) -> str:
        site = SITES[number]
        lines = ["User-agent: *"]
        lines.append(f"Disallow: {site.forbidden or ''}".rstrip())
        if site.crawl_delay is not None:
            lines.append(f"Crawl-delay: {site.crawl_delay}")
        if site.sitemap:
            lines.append(f"Sitemap: {self._press.origins[number]}/sitemap.xml")
        return "\n".join([*lines, ""])

    def _sitemap(self, site: int, now: float) -> str:
        entries = []
        for shelf in self._shelves.values():
            if shelf.page.site == site:
                version = bisect_right(shelf.changes, now - self._began)
                changed = datetime.fromtimestamp(self._modified(shelf, version), UTC)
                entries.append(
                    f"<url><loc>{self._press.address(shelf.page)}</loc>"
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


def _file(kind: str, text: str) -> Answered:
    return Answered(200, (("Content-Type", kind),), text.encode())


def _is_known(asked: Asked, validators: dict[str, str]) -> bool:
    """Say whether the client has this version already; a tag, where there is one, decides."""
    if asked.if_none_match is not None:
        tag = validators.get("ETag")
        tags = [one.strip().removeprefix("W/") for one in asked.if_none_match.split(",")]
        return tag is not None and (tags == ["*"] or tag.removeprefix("W/") in tags)
    date = validators.get("Last-Modified")
    if asked.if_modified_since is None or date is None:
        return False
    try:
        since = parsedate_to_datetime(asked.if_modified_since)
        return parsedate_to_datetime(date) <= since
    except (TypeError, ValueError):
        return False

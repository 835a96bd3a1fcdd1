"""A web for the soak: a year of hosts that fail, change their rules, and lose and find pages.

Everything that happens follows from a seed, and the web keeps the books: what was asked of it each
day, and each request that a host did not allow.
"""

import asyncio
import random
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple
from zlib import crc32

from recrawl.hosts import host_of
from recrawl.http.failures import FetchError
from recrawl.records import MICROSECONDS_A_DAY, SECONDS_A_DAY, Response

if TYPE_CHECKING:
    from collections.abc import Callable

#: Pages of a folder; one folder is away, or forbidden, at a time.
FOLDER = 25
#: Seconds from request to response.
LATENCY = 0.2
#: How much sooner than it may, by its own clock, a request may come: rounding to microseconds.
ROUNDING = 1e-5
#: Nothing begins to happen to hosts and pages in the last days, so that the crawl can recover.
QUIET_SHARE = 0.25
MAX_COMPLAINTS = 20

Span = tuple[float, float]
#: Status, body and headers.
Answer = tuple[int, str | None, tuple[tuple[str, str], ...]]


class Trouble(NamedTuple):
    """What is wrong for a while: from a day, to a day."""

    start: float
    end: float
    kind: str


@dataclass
class SoakPage:
    """A page: when it is there, and how often it changes."""

    born: float
    away: Span | None
    died: float
    period: float

    def is_there(self, day: float) -> bool:
        is_away = self.away is not None and self.away[0] <= day < self.away[1]
        return self.born <= day < self.died and not is_away


@dataclass
class SoakHost:
    """A host, its troubles, and what it last told us."""

    name: str
    pages: list[SoakPage]
    outages: list[Trouble] = field(default_factory=list)
    rules: list[Trouble] = field(default_factory=list)
    maps: list[Trouble] = field(default_factory=list)
    #: The delay and the forbidden folder in the robots.txt that was last sent.
    delay: float = 0.0
    forbidden: str | None = None
    ended: float = -1e9
    closed_until: float = -1e9

    def urls(self) -> list[str]:
        return [self.url(number) for number in range(len(self.pages))]

    def url(self, number: int) -> str:
        return f"http://{self.name}/{number // FOLDER}/{number}"


class SoakWeb:
    """All hosts; stands in for the HTTP client of a `Fetcher`.

    Args:
        hosts: How many.
        pages: Pages per host, a tenth of which appear later, in a sitemap.
        days: How long it lasts.
        seed: Decides what happens when.

    Attributes:
        clock: Returns the time in microseconds.
        asked: Requests for pages, by day.
        files: Requests for robots.txt and sitemaps, by day.
        complaints: What hosts complain about; the first ones.
        wrongs: How many complaints there are in all.
    """

    def __init__(self, hosts: int, pages: int, days: float, seed: int) -> None:
        rng = random.Random(seed)  # noqa: S311 - a made-up web
        self.days = days
        self.clock: Callable[[], int] = lambda: 0
        self.begin = 0
        self.host_delay = 0.0
        self.asked: Counter[int] = Counter()
        self.files: Counter[int] = Counter()
        self.complaints: list[str] = []
        self.wrongs = 0
        made = [self._host(f"h{number}.example", pages, rng) for number in range(hosts)]
        self.hosts = {host.name: host for host in made}

    # What happens

    def _host(self, name: str, pages: int, rng: random.Random) -> SoakHost:
        later = {n for n in range(pages) if n % 10 == 9}
        host = SoakHost(name, [self._page(rng, is_later=n in later) for n in range(pages)])
        outages = ["refused", "503", "500", "404", "hangs", "folder"]
        lengths = [2 / 24, 6 / 24, 1.0, 3.0]
        for _ in range(rng.randrange(2, 5)):
            host.outages.append(self._trouble(rng, outages, lengths))
        for _ in range(rng.randrange(1, 4)):
            kinds = ["slow", "forbidden", "503", "404", "html"]
            host.rules.append(self._trouble(rng, kinds, [2.0, 5.0, 10.0]))
        for _ in range(rng.randrange(1, 4)):
            kinds = ["404", "500", "html", "cut", "empty"]
            host.maps.append(self._trouble(rng, kinds, [0.5, 3.0, 8.0]))
        return host

    def _page(self, rng: random.Random, *, is_later: bool) -> SoakPage:
        last = self.days * (1.0 - QUIET_SHARE)
        born = rng.uniform(0.0, last / 2) if is_later else 0.0
        chance, away, died = rng.random(), None, 2.0 * self.days
        if chance < 0.05:
            start = rng.uniform(born, last * 0.6)
            away = (start, start + rng.uniform(0.02, 0.15) * last)
        elif chance < 0.08:
            died = rng.uniform(born, last)
        return SoakPage(born, away, died, min(max(rng.lognormvariate(2.5, 1.5), 0.3), 1_000.0))

    def _trouble(self, rng: random.Random, kinds: list[str], lengths: list[float]) -> Trouble:
        length = rng.choice(lengths)
        start = rng.uniform(0.0, max(self.days * (1.0 - QUIET_SHARE) - length, 0.0))
        return Trouble(start, start + length, rng.choice(kinds))

    def seeds(self) -> list[str]:
        """Return the URLs of the pages that are there from the beginning."""
        return [
            host.url(number)
            for host in self.hosts.values()
            for number, page in enumerate(host.pages)
            if page.born == 0.0
        ]

    def sitemaps(self) -> list[str]:
        return [f"http://{name}/sitemap.xml" for name in self.hosts]

    def alive_at_end(self) -> list[str]:
        """Return the URLs of the pages that are there at the end."""
        return [
            host.url(number)
            for host in self.hosts.values()
            for number, page in enumerate(host.pages)
            if page.is_there(self.days)
        ]

    # What is answered

    @property
    def day(self) -> float:
        """Days since the beginning."""
        return (self.clock() - self.begin) / MICROSECONDS_A_DAY

    async def get(
        self,
        url: str,
        headers: dict[str, str],
        max_bytes: int,
        proxy: object = None,
        *,
        pack: bool = False,
        pages_only: bool = False,
    ) -> Response:
        """Answer a request, as `recrawl.http.request.HttpClient` does."""
        del max_bytes, proxy, pack, pages_only
        host, path = self.hosts[host_of(url)], url.partition("//")[2].partition("/")[2]
        self._keep_books(host, path)
        try:
            trouble = _current(host.outages, self.day)
            if trouble == "hangs":
                await asyncio.sleep(60.0)
                raise FetchError("nothing came for 60 s")
            await asyncio.sleep(LATENCY)
            if trouble == "refused":
                raise FetchError("no connection: refused")
            answer = self._answer(host, path, trouble, headers)
        finally:
            host.ended = self.clock() / 1e6
        status, body, more = answer
        sent = None if body is None else body.encode()
        return Response(url, status, self.clock(), more, sent, transferred=len(sent or b""))

    async def close(self) -> None:
        """Do nothing."""

    def _keep_books(self, host: SoakHost, path: str) -> None:
        now, day = self.clock() / 1e6, int(self.day)
        is_file = path in {"robots.txt", "sitemap.xml"}
        (self.files if is_file else self.asked)[day] += 1
        opens = max(host.ended + max(host.delay, self.host_delay), host.closed_until)
        if now < opens - ROUNDING:
            self._complain(f"{host.name}/{path} on day {self.day:.3f}: {opens - now:.3f} s early")
        if not is_file and path.partition("/")[0] == host.forbidden:
            self._complain(f"{host.name}/{path} on day {self.day:.3f}: forbidden")

    def _complain(self, what: str) -> None:
        self.wrongs += 1
        if len(self.complaints) < MAX_COMPLAINTS:
            self.complaints.append(what)

    def _answer(
        self, host: SoakHost, path: str, trouble: str | None, headers: dict[str, str]
    ) -> Answer:
        if trouble == "503":
            host.closed_until = self.clock() / 1e6 + 120.0
            return 503, None, (("Retry-After", "120"),)
        if trouble == "500":
            return 500, None, ()
        if path == "robots.txt":
            return self._robots(host)
        if trouble == "404":
            return 404, None, ()
        if path == "sitemap.xml":
            return self._sitemap(host, headers)
        number = int(path.rpartition("/")[2])
        is_away = trouble == "folder" and number < FOLDER
        return (404, None, ()) if is_away else self._page_of(host, number, headers)

    def _page_of(self, host: SoakHost, number: int, headers: dict[str, str]) -> Answer:
        if not host.pages[number].is_there(self.day):
            return 404, None, ()
        version = int(self.day / host.pages[number].period)
        etag = f'"{version}"'
        if headers.get("If-None-Match") == etag:
            return 304, None, (("ETag", etag),)
        body = f"<title>{number}</title><p>Page {number} of {host.name}, in words {_words(version)}"
        return 200, body, (("Content-Type", "text/html"), ("ETag", etag))

    def _robots(self, host: SoakHost) -> Answer:
        kind = _current(host.rules, self.day)
        if kind == "503":
            return 503, None, ()
        host.delay = 25.0 if kind == "slow" else 0.0
        host.forbidden = "0" if kind == "forbidden" else None
        plain = (("Content-Type", "text/plain"),)
        lines = ["User-agent: *"]
        if kind == "slow":
            lines.append("Crawl-delay: 25")
        if kind == "forbidden":
            lines.append("Disallow: /0/")
        if kind == "html":
            return 200, "<!doctype html><h1>Not here</h1>", plain
        return (404, None, ()) if kind == "404" else (200, "\n".join(lines), plain)

    def _sitemap(self, host: SoakHost, headers: dict[str, str]) -> Answer:
        day, xml = self.day, (("Content-Type", "text/xml"),)
        kind = _current(host.maps, day)
        if kind in {"404", "500"}:
            return int(kind), None, ()
        if kind == "html":
            return 200, "<!doctype html><h1>We have moved</h1>", (("Content-Type", "text/html"),)
        there = [n for n, page in enumerate(host.pages) if page.is_there(day)]
        entries = "".join(f"<url><loc>{host.url(n)}</loc></url>" for n in there)
        text = f"<urlset>{'' if kind == 'empty' else entries}</urlset>"
        text = text[: len(text) // 2] if kind == "cut" else text
        # Most servers know versions of their sitemaps; some do not.
        etag = f'"{crc32(text.encode())}"'
        if crc32(host.name.encode()) % 4 and headers.get("If-None-Match") == etag:
            return 304, None, (("ETag", etag),)
        return 200, text, (*xml, ("ETag", etag))


def _current(troubles: list[Trouble], day: float) -> str | None:
    return next((one.kind for one in troubles if one.start <= day < one.end), None)


def _words(number: int) -> str:
    """Return a number in letters, so that it is no noise that a reader would ignore."""
    return "".join(chr(ord("a") + int(digit)) * 3 for digit in str(number))


def seconds(days: float) -> float:
    return days * SECONDS_A_DAY

"""Pages on loopback of which some are gone, forbidden or long, by a clock that is shared."""

import asyncio
import random
from bisect import bisect_right
from collections import Counter
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from typing import Any, NamedTuple

from benchmarks.history_server import SharedClock

#: Seconds since 1970 at which the clock starts: the beginning of a year.
BEGIN = 1_767_225_600.0
DAY = 86_400.0
#: The share of the pages that are gone for some time, forbidden, and long.
SHARE = 0.05
HALF = 0.5
HOSTS = 100
#: Bytes of a long page.
LONG = 600_000
#: Real seconds that the answer of a page in trouble may take: days of the clock.
SLOW = 1.0
WORDS = (
    "a able about above across after again all along also always among and another any are around "
    "as at away back be because before begin below between both bring but by call came can carry "
    "change city close come could country cut day did different do does done door down draw each"
).split()


class Kind(StrEnum):
    """What is the matter with a page."""

    USUAL = "usual"
    GONE = "gone"
    FORBIDDEN = "forbidden"
    DISALLOWED = "disallowed"
    LONG = "long"


@dataclass(frozen=True)
class TroubledPage:
    """A page of the web.

    Attributes:
        number: Its number.
        port: Where the server has it.
        kind: What is the matter with it.
        changes: When it changes, in days.
        away: From when to when it is gone or forbidden, in days.
    """

    number: int
    port: int
    kind: Kind
    changes: tuple[float, ...]
    away: tuple[float, float]

    @property
    def url(self) -> str:
        """Its address."""
        folder = "private/" if self.kind is Kind.DISALLOWED else ""
        return f"http://127.4.0.{self.number % HOSTS + 1}:{self.port}/{folder}{self.number}"

    def is_away(self, day: float) -> bool:
        """Whether it is gone or forbidden on a day."""
        return self.kind is Kind.DISALLOWED or self.away[0] <= day < self.away[1]

    def body(self, day: float) -> bytes:
        """Return what it says on a day."""
        version = bisect_right(self.changes, day)
        news = _text(f"{self.number} {version}", 40)
        more = _long_text(self.number) if self.kind is Kind.LONG else _text(f"{self.number}", 200)
        title = f"Page {self.number}"
        return f"<title>{title}</title><h1>{title}</h1><p>{news}</p>{more}".encode()


def _text(seed: str, words: int) -> str:
    return " ".join(random.Random(seed).choices(WORDS, k=words))  # noqa: S311 - not secrets


@cache
def _long_text(number: int) -> str:
    paragraphs, size = list[str](), 0
    while size < LONG:
        paragraphs.append(f"<p>{_text(f'{number}/{len(paragraphs)}', 200)}</p>")
        size += len(paragraphs[-1])
    return "".join(paragraphs)


class Web(NamedTuple):
    """Which web it is.

    Attributes:
        pages: How many pages it has.
        days: For how long.
        seed: Which one of its kind.
        port: Where it is served.
    """

    pages: int
    days: float
    seed: int
    port: int


def troubled_web(web: Web) -> list[TroubledPage]:
    """Return the pages of a web, of which a share each is gone, forbidden and long."""
    pages, days, seed, port = web
    rng = random.Random(seed)  # noqa: S311 - pages, not secrets
    some = max(round(SHARE * pages), 1)
    kinds = [Kind.GONE, Kind.LONG] * some
    kinds += [Kind.FORBIDDEN] * (some - some // 2) + [Kind.DISALLOWED] * (some // 2)
    kinds += [Kind.USUAL] * (pages - len(kinds))
    rng.shuffle(kinds)
    return [
        TroubledPage(number, port, kind, _changes(rng, kind, days), _away(rng, kind, days))
        for number, kind in enumerate(kinds)
    ]


def _changes(rng: random.Random, kind: Kind, days: float) -> tuple[float, ...]:
    # From once in half a year to every other day; long pages every week, so that they are parsed.
    rate = 1.0 / 7.0 if kind is Kind.LONG else 10.0 ** rng.uniform(-2.3, -0.3)
    changes, at = list[float](), rng.expovariate(rate)
    while at < days:
        changes.append(at)
        at += rng.expovariate(rate)
    return tuple(changes)


def _away(rng: random.Random, kind: Kind, days: float) -> tuple[float, float]:
    """Return a time away; half of the pages come back, and half of those forbidden always were."""
    if kind not in (Kind.GONE, Kind.FORBIDDEN):
        return (days, days)
    begin = rng.uniform(0.1, 0.6) * days
    if kind is Kind.FORBIDDEN and rng.random() < HALF:
        begin = 0.0
    comes_back = rng.random() < HALF
    return begin, begin + rng.uniform(0.1, 0.3) * days if comes_back else 2.0 * days


def serve(web: Web, counts: Any, clock: SharedClock) -> None:  # noqa: ANN401 - multiprocessing has no type for shared arrays
    """Serve a web for ever.

    Args:
        web: Which one.
        counts: A shared array: requests for a page that has another under way, and for pages that
            robots.txt disallows.
        clock: What time it is.
    """
    import uvloop

    served = _Served(web, counts, clock)

    async def run() -> None:
        loop = asyncio.get_running_loop()
        # All of 127.0.0.0/8 is this machine.
        server = await loop.create_server(lambda: _Protocol(served), "0.0.0.0", web.port)  # noqa: S104
        await server.serve_forever()

    uvloop.run(run())


class Answer(NamedTuple):
    """How a request is answered: after some real seconds, with a status and a body."""

    seconds: float
    status: str
    body: bytes


class _Served:
    """What is served, and which requests are under way."""

    def __init__(self, web: Web, counts: Any, clock: SharedClock) -> None:  # noqa: ANN401 - as above
        self._pages = {page.url.split("/", 3)[3]: page for page in troubled_web(web)}
        self._rng = random.Random(web.seed)  # noqa: S311 - delays, not secrets
        self._counts = counts
        self._clock = clock
        self._under_way = Counter[str]()

    def begin(self, path: str) -> Answer:
        """Begin to answer, and return how."""
        page = self._pages.get(path)
        self._under_way[path] += 1
        if page is None:
            status = "200 OK" if path == "robots.txt" else "404 Not Found"
            return Answer(0.0, status, b"User-agent: *\nDisallow: /private/\n")
        self._counts[0] += self._under_way[path] > 1
        self._counts[1] += page.kind is Kind.DISALLOWED
        day = (self._clock.now() - BEGIN) / DAY
        if not page.is_away(day):
            return Answer(0.0, "200 OK", page.body(day))
        status = "404 Not Found" if page.kind is Kind.GONE else "403 Forbidden"
        return Answer(self._rng.uniform(0.0, SLOW), status, b"Not here.")

    def end(self, path: str) -> None:
        """Note that a request is not under way any more."""
        self._under_way[path] -= 1


class _Protocol(asyncio.Protocol):
    """Responds to one request at a time."""

    def __init__(self, served: _Served) -> None:
        self._served = served
        self._rest = b""
        self._path: str | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport: Any = transport

    def connection_lost(self, _error: Exception | None) -> None:
        self._end()

    def data_received(self, data: bytes) -> None:
        *requests, self._rest = (self._rest + data).split(b"\r\n\r\n")
        for request in requests:
            self._path = request.decode("latin-1").split(" ")[1].lstrip("/")
            answer = self._served.begin(self._path)
            if answer.seconds:
                loop = asyncio.get_running_loop()
                loop.call_later(answer.seconds, self._answer, answer)
            else:
                self._answer(answer)

    def _answer(self, answer: Answer) -> None:
        if self._end():
            length = f"Content-Length: {len(answer.body)}"
            head = f"HTTP/1.1 {answer.status}\r\nContent-Type: text/html\r\n{length}\r\n\r\n"
            self._transport.write(head.encode() + answer.body)

    def _end(self) -> bool:
        """End the request that is under way; return whether there is one."""
        path, self._path = self._path, None
        if path is not None:
            self._served.end(path)
        return path is not None

"""The rows everything else moves about, and how long a day is."""

from dataclasses import dataclass
from enum import IntEnum
from hashlib import blake2b
from http import HTTPStatus
from typing import Any

import numpy as np
from numpy.typing import NDArray

SECONDS_A_DAY = 86_400.0
MICROSECONDS_A_DAY = 86_400e6


class Outcome(IntEnum):
    """What a visit found."""

    FIRST = 0
    CHANGED = 1
    UNCHANGED = 2
    FAILED = 3
    GONE = 4


@dataclass(frozen=True, slots=True)
class Visits:
    """A crawl log as columns: one row a visit, sorted by page and then by time.

    Attributes:
        page: Numbers from 0; ``names[page]`` is what the log calls the page.
        time: Microseconds since 1970, UTC.
        outcome: An `Outcome` each.
        crawl_rate: Visits a day in force during the gap that the visit ends; NaN where unknown.
        last_modified: Microseconds since 1970, UTC; ``NO_TIME`` where the server did not tell.
        importance: NaN where not given.
        names: A pyarrow or NumPy array of the pages' names, in order of number.
        duplicates: How many exact duplicate rows were dropped.
    """

    page: NDArray[np.int64]
    time: NDArray[np.int64]
    outcome: NDArray[np.int8]
    names: Any
    crawl_rate: NDArray[np.float64] | None = None
    last_modified: NDArray[np.int64] | None = None
    importance: NDArray[np.float64] | None = None
    duplicates: int = 0


#: The time that stands for "not told" in a column of times.
NO_TIME = np.iinfo(np.int64).min


class State(IntEnum):
    """Where a page stands."""

    ALIVE = 0
    #: It was not found at the last visit; another visit confirms it.
    MISSING = 1
    #: It was not found again and again, and is not visited any more.
    GONE = 2


@dataclass(frozen=True, slots=True)
class Validators:
    """What a server said to recognise a version by, word for word."""

    etag: str | None = None
    last_modified: str | None = None


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """What two contents have in common when nothing that matters differs.

    Attributes:
        kind: How it was made, and the version of that, such as ``text/1``. Fingerprints of
            different kinds cannot be compared.
        digest: Equal for contents that count as the same.
    """

    kind: str
    digest: bytes


@dataclass(frozen=True, slots=True)
class Page:
    """A page that is kept fresh, as the store knows it.

    Attributes:
        number: Its number, which never changes and is never given again.
        url: Its address, canonical.
        host: Whose patience it takes: the address's host, with the port if that is unusual.
        importance: What its freshness is worth.
        depth: Links between it and a page that was asked for.
        state: Whether it is there.
        last_visit: When its copy was made or last found to be current, in microseconds; None
            without a copy.
        validators: What to ask the server with.
        fingerprint: Of the copy; None before it was needed, when a body came that is not the copy
            byte by byte.
        ignored: Blocks that change without meaning, by their keys; not in the fingerprint.
        body: The digest that the copy is stored under.
        visits: Visits that taught something, the first included.
        changes: Those that found a change.
        streak: How many of the last visits in a row found a change.
        not_modified: How many of the last visits in a row were answered "not modified".
        failures: How many of the last visits in a row failed.
    """

    number: int
    url: str
    host: str
    importance: float = 1.0
    depth: int = 0
    state: State = State.ALIVE
    last_visit: int | None = None
    validators: Validators = Validators()
    fingerprint: Fingerprint | None = None
    ignored: frozenset[bytes] = frozenset()
    body: bytes | None = None
    visits: int = 0
    changes: int = 0
    streak: int = 0
    not_modified: int = 0
    failures: int = 0


@dataclass(frozen=True, slots=True)
class Response:
    """What came back when a page was asked for; a failure is a response too.

    Attributes:
        url: Where redirects ended.
        status: HTTP's, or 0 where there was no response.
        at: When it came, in microseconds.
        headers: As received, in order.
        body: The content, decompressed; None where there is none.
        truncated: Whether the body was longer than is read.
        requests: What it cost: hops of redirects and second tries included.
        transferred: Bytes of bodies received.
        seconds: How long it took.
        error: Why there is nothing to learn, in a few words; None if there is.
        retry_after: Seconds that the server asks to be left alone.
        permanent: Whether asking again is pointless until something changes: refused by
            robots.txt or by a rule of ours, not by chance.
        postponed: Whether nobody was asked, because it was not the time: no visit at all.
    """

    url: str
    status: int
    at: int
    headers: tuple[tuple[str, str], ...] = ()
    body: bytes | None = None
    truncated: bool = False
    requests: int = 1
    transferred: int = 0
    seconds: float = 0.0
    error: str | None = None
    retry_after: float | None = None
    permanent: bool = False
    postponed: bool = False

    def header(self, name: str) -> str | None:
        """Give the first header of that name, in whatever case it was sent."""
        wanted = name.lower()
        return next((value for key, value in self.headers if key.lower() == wanted), None)

    @property
    def is_not_modified(self) -> bool:
        """Whether the server says that the version it was asked about is still current."""
        return self.status == HTTPStatus.NOT_MODIFIED


def digest_of(body: bytes) -> bytes:
    """Return the digest that a body is stored under: 16 bytes of BLAKE2b.

    >>> digest_of(b"").hex()
    'cae66941d9efbd404e4d88758ea67670'
    """
    return blake2b(body, digest_size=16).digest()


@dataclass(frozen=True, slots=True)
class Visit:
    """A visit and all that it changes, to be kept in one piece.

    Attributes:
        page: The page as it is after the visit.
        outcome: What the visit found.
        response: What came back.
        previous: When the page was visited before with success, in microseconds.
        belief: Shape and time of what is now believed of its change rate; None if nothing is new.
        content: The new copy, where there is one; it is stored under ``page.body``.
        last_modified: When the server says the page changed last, in microseconds.
    """

    page: Page
    outcome: Outcome
    response: Response
    previous: int | None = None
    belief: tuple[float, float] | None = None
    content: bytes | None = None
    last_modified: int | None = None


@dataclass(frozen=True, slots=True)
class RobotsText:
    """A robots.txt as it was found, to be kept from one run to the next.

    Attributes:
        origin: Scheme and host it speaks for.
        status: HTTP's, or 0 where there was no response.
        text: The file; empty where there is none.
        fetched_at: When it was asked for, in microseconds.
        failing_since: When it was first found that it cannot be read, in microseconds; None if it
            can, or is known not to be there.
        problem: Why it cannot be read.
        permanent: Whether it is a rule of ours that forbids to read it.
    """

    origin: str
    status: int
    text: str
    fetched_at: int
    failing_since: int | None = None
    problem: str | None = None
    permanent: bool = False

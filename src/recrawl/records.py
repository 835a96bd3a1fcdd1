"""The records that packages exchange: crawl logs, pages, responses and visits."""

from dataclasses import dataclass, field, fields, make_dataclass
from enum import IntEnum
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, TypeVar

from recrawl.units import MICROSECONDS_A_DAY as MICROSECONDS_A_DAY  # noqa: PLC0414 - re-exported
from recrawl.units import SECONDS_A_DAY as SECONDS_A_DAY  # noqa: PLC0414 - re-exported

if TYPE_CHECKING:
    from collections.abc import Mapping

    # Not at run time: it would take memory in processes that only parse pages.
    import numpy as np
    from numpy.typing import NDArray

T = TypeVar("T")


def quick(kind: type[T]) -> type[T]:
    """Make creating objects of a frozen dataclass nine times as fast; a visit creates several.

    A frozen dataclass sets each attribute with `object.__setattr__`. This assigns them, and relies
    on the type checker, which still considers the class frozen, to prevent other assignments.

    >>> @quick
    ... @dataclass(frozen=True, slots=True)
    ... class Point:
    ...     x: int
    ...     y: int = 0
    >>> Point(1), Point(1) == Point(1, 0), hash(Point(1)) == hash(Point(1))
    (Point(x=1, y=0), True, True)
    """
    columns = [
        (one.name, one.type, field(default=one.default, default_factory=one.default_factory))
        for one in fields(kind)  # type: ignore[arg-type]  # it is a dataclass
    ]
    plain = make_dataclass(kind.__name__, columns, repr=False, eq=False)
    kind.__init__ = plain.__init__  # type: ignore[method-assign, misc]
    del kind.__setattr__, kind.__delattr__
    return kind


class Outcome(IntEnum):
    """What a visit found."""

    FIRST = 0
    CHANGED = 1
    UNCHANGED = 2
    FAILED = 3
    GONE = 4


#: How an outcome was determined: by a validator that still held, or by comparing contents.
SIGNALS = ("etag", "lastmod", "digest")


@dataclass(frozen=True, slots=True, repr=False)
class CrawlLog:
    """A crawl log as columns: one row per visit, sorted by page and then by time.

    Attributes:
        page: Page numbers from 0; ``names[page]`` is what the log calls the page.
        time: Microseconds since 1970, UTC.
        outcome: An `Outcome` per visit.
        names: A pyarrow or NumPy array of the pages' names, by number.
        crawl_rate: Visits per day in force during the gap that the visit ends; NaN if unknown.
        last_modified: Microseconds since 1970, UTC; ``NO_TIME`` if the server sent none.
        importance: NaN if not given.
        duplicates: The number of exact duplicate rows that were dropped.
        source: What messages call the log.
        notes: Remarks on how the log was read.
    """

    page: "NDArray[np.int64]"
    time: "NDArray[np.int64]"
    outcome: "NDArray[np.int8]"
    names: Any
    crawl_rate: "NDArray[np.float64] | None" = None
    last_modified: "NDArray[np.int64] | None" = None
    importance: "NDArray[np.float64] | None" = None
    duplicates: int = 0
    source: str = "crawl log"
    notes: tuple[str, ...] = ()

    @property
    def pages(self) -> int:
        """The number of pages."""
        return len(self.names)

    @property
    def elapsed(self) -> "NDArray[np.float64]":
        """Days since the page was last seen; NaN for a visit that is not an observation.

        A visit that found the page changed or unchanged is an observation of the gap since the
        page's last successful visit. A failed visit, or one that found the page gone, is not: the
        gap spans it. A first visit only starts a gap, and so does the first row of each page.
        """
        import numpy as np

        seen = np.flatnonzero((self.outcome != Outcome.FAILED) & (self.outcome != Outcome.GONE))
        here, before = seen[1:], seen[:-1]
        teaches = (self.page[here] == self.page[before]) & (self.outcome[here] != Outcome.FIRST)
        here, before = here[teaches], before[teaches]
        elapsed = np.full(self.page.size, np.nan)
        elapsed[here] = (self.time[here] - self.time[before]) / MICROSECONDS_A_DAY
        return elapsed

    @property
    def changed(self) -> "NDArray[np.bool_]":
        """Whether a visit found that the page had changed."""
        found: NDArray[np.bool_] = self.outcome == Outcome.CHANGED
        return found

    @property
    def facts(self) -> "LogFacts":
        """The summary of the log."""
        first, last = (int(self.time.min()), int(self.time.max())) if self.time.size else (0, 0)
        visits = int(self.time.size)
        return LogFacts(self.source, self.pages, visits, first, last, self.duplicates, self.notes)

    def __repr__(self) -> str:
        facts = self.facts
        return f"CrawlLog({facts.source!r}: {facts.visits:,} visits to {facts.pages:,} pages)"


@dataclass(frozen=True, slots=True)
class LogFacts:
    """The summary of a crawl log.

    Attributes:
        source: What messages call it.
        pages: The number of pages.
        visits: The number of rows, duplicates not counted.
        first: The time of the first visit, in microseconds.
        last: The time of the last visit.
        duplicates: The number of exact duplicate rows that were dropped.
        notes: Remarks on how it was read.
    """

    source: str
    pages: int
    visits: int
    first: int
    last: int
    duplicates: int
    notes: tuple[str, ...] = ()


_NOT_MODIFIED = 304

#: Stands for a missing time in a column of times.
NO_TIME = -(2**63)


class State(IntEnum):
    """Whether a page still exists, and may be visited."""

    ALIVE = 0
    #: Not found at the last visit; further visits confirm it.
    MISSING = 1
    #: Not found repeatedly over some time, and checked only now and then.
    GONE = 2
    #: Refused by robots.txt, the server or one of our own rules, and checked only now and then.
    REFUSED = 3


#: States of pages that are not visited until `Page.retry_at`.
RESTING = (State.GONE, State.REFUSED)
#: Why a page that robots.txt forbids is refused; when robots.txt changes, it is visited again.
DISALLOWED = "disallowed by robots.txt"
#: Why a link turned out not to lead to a page; its media type follows.
NOT_A_PAGE = "not a page"
#: Part of the reason for a page at a private address; a run that allows those visits it again.
PRIVATE = "is private; use --allow-private"


@quick
@dataclass(frozen=True, slots=True)
class Validators:
    """The validators that a server sent with a version, verbatim."""

    etag: str | None = None
    last_modified: str | None = None


#: Bytes of the digest of a page's markup.
MARKUP_BYTES = 8


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """A digest that is equal for contents without a difference that matters.

    Attributes:
        kind: How it was computed, with a version, such as ``text/1``. Fingerprints of different
            kinds cannot be compared.
        digest: Equal for contents that count as the same.
        markup: Digest of everything that was read, if that was HTML: bodies that differ only in
            parts that are not read, such as scripts, need not be compared any further.
    """

    kind: str
    digest: bytes
    markup: bytes = field(default=b"", compare=False)


@quick
@dataclass(frozen=True, slots=True)
class Page:
    """A page that is kept fresh, as the store knows it.

    Attributes:
        number: Its number, which never changes and is never reused.
        url: Its canonical URL.
        host: Its host, as `host_of` returns it, to which politeness applies.
        importance: How much its freshness counts.
        depth: The number of links from a seed to it.
        state: Whether it still exists.
        last_visit: When its copy was made or last found to be current, in microseconds; None
            without a copy.
        validators: What to send with a conditional request.
        fingerprint: Of the copy; None until it is needed, when a body differs from the copy.
        ignored: Keys of noisy blocks, which are left out of the fingerprint.
        suspects: Blocks that may be noisy, as `content.history` packs them.
        body: The digest that the copy is stored under.
        visits: The number of visits that could be compared, including the first.
        changes: The number of visits that found a change.
        streak: How many of the last visits in a row found a change.
        not_modified: How many of the last visits in a row were answered "not modified".
        failures: How many of the last visits in a row failed.
        missing_since: Since when it has been missing, in microseconds; None if the last visit found
            it.
        retry_at: When a page that is gone or refused is checked again, in microseconds.
        reason: Why it is refused.
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
    suspects: bytes = b""
    body: bytes | None = None
    visits: int = 0
    changes: int = 0
    streak: int = 0
    not_modified: int = 0
    failures: int = 0
    missing_since: int | None = None
    retry_at: int | None = None
    reason: str | None = None


@quick
@dataclass(frozen=True, slots=True)
class Response:
    """The result of requesting a page; a failure is a response too.

    Attributes:
        url: Where redirects ended.
        status: The HTTP status, or 0 if there was no response.
        at: When it arrived, in microseconds.
        headers: As received, in order.
        body: The content, decompressed; None if there is none.
        truncated: Whether the body was cut off at the size limit.
        requests: The number of requests it took, including redirects and retries.
        transferred: Bytes of bodies received.
        seconds: How long it took.
        error: Why it is a failure, in a few words; None if it is not.
        retry_after: Seconds that the server asked to wait.
        permanent: Whether a retry is pointless until something changes: disallowed by robots.txt
            or by one of our own rules.
        postponed: Whether no request was made because it was too early: not a visit at all.
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
        """Return the first header of this name, in any case, or None."""
        wanted, length = name.lower(), len(name)
        for key, value in self.headers:
            # Comparing lengths first is faster, as few are the same.
            if len(key) == length and key.lower() == wanted:
                return value
        return None

    @property
    def is_not_modified(self) -> bool:
        """Whether the server says that our version is still current."""
        return self.status == _NOT_MODIFIED


_DIGEST_BYTES = 16
#: Python releases the GIL to digest more than `_PIECE` bytes; only a body of more than `_LONG`
#: takes so long that it is worth it.
_PIECE, _LONG = 2_047, 16_384


def digest_of(body: bytes) -> bytes:
    """Return the digest that a body is stored under: 16 bytes of BLAKE2b.

    >>> digest_of(b"").hex()
    'cae66941d9efbd404e4d88758ea67670'
    """
    if len(body) > _LONG:
        return blake2b(body, digest_size=_DIGEST_BYTES).digest()
    # In pieces for which Python keeps the GIL: getting it back takes longer than the digest.
    digest = blake2b(digest_size=_DIGEST_BYTES)
    for start in range(0, len(body), _PIECE):
        digest.update(body[start : start + _PIECE])
    return digest.digest()


class ChangeKind(IntEnum):
    """The kind of difference between two versions of a page."""

    #: Its text.
    TEXT = 0
    #: Only where its links lead.
    LINKS = 1
    #: Only the site's boilerplate, which does not count as a change of the page.
    FURNITURE = 2
    #: Only the formatting of its text: headings, items, bold and italics.
    LAYOUT = 3


@dataclass(frozen=True, slots=True)
class Change:
    """A difference between two versions of a page.

    Attributes:
        kind: Its kind.
        share: The share of the page's own text that differs, from 0 to 1.
    """

    kind: ChangeKind
    share: float = 0.0


@quick
@dataclass(frozen=True, slots=True)
class Visit:
    """A visit and everything it changes, to be stored in one transaction.

    Attributes:
        page: The page as it is after the visit.
        outcome: What the visit found.
        response: The response.
        previous: The time of the previous successful visit, in microseconds.
        belief: Shape and time of the belief about its change rate; None if it did not change.
        content: The new copy, if there is one; it is stored under ``page.body``.
        last_modified: When the page last changed according to the server, in microseconds.
        links: The addresses that the new copy links to, if links are followed.
        change: How the page differs from its copy, if it does.
        sketches: Digests of the page's elements, for the template of its site.
        octaves: The evidence of visits about the change rate, packed; None if unchanged.
        no_text: Whether the new copy has next to no text, as if scripts were to write it.
    """

    page: Page
    outcome: Outcome
    response: Response
    previous: int | None = None
    belief: tuple[float, float] | None = None
    content: bytes | None = None
    last_modified: int | None = None
    links: tuple[str, ...] = ()
    change: Change | None = None
    sketches: "Mapping[bytes, tuple[int, ...]] | None" = None
    octaves: bytes | None = None
    no_text: bool = False

    def with_belief(self, belief: tuple[float, float], octaves: bytes) -> "Visit":
        """Return the visit with the new belief; faster than `dataclasses.replace`."""
        return Visit(
            self.page,
            self.outcome,
            self.response,
            self.previous,
            belief,
            self.content,
            self.last_modified,
            self.links,
            self.change,
            self.sketches,
            octaves,
            self.no_text,
        )

    @property
    def is_refusal(self) -> bool:
        """Whether the page was refused: not a visit, though requests may have been made."""
        return self.page.state is State.REFUSED


@dataclass(frozen=True, slots=True)
class RobotsText:
    """A robots.txt as it was fetched, kept from one run to the next.

    Attributes:
        origin: The scheme and host it applies to.
        status: The HTTP status, or 0 if there was no response.
        text: The file; empty if there is none.
        fetched_at: When it was requested, in microseconds.
        failing_since: Since when it cannot be read, in microseconds; None if it can, or is known
            not to exist.
        problem: Why it cannot be read.
        permanent: Whether one of our own rules forbids fetching it.
    """

    origin: str
    status: int
    text: str
    fetched_at: int
    failing_since: int | None = None
    problem: str | None = None
    permanent: bool = False

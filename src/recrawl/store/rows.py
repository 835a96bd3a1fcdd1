"""Records that go into the store and come out of it, in addition to those in `recrawl.records`."""

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from recrawl.estimation.shown.rates import ShownRates
from recrawl.kernels.jit import Bools, Floats, Ints
from recrawl.records import (
    MICROSECONDS_A_DAY,
    NO_TIME,
    Change,
    Outcome,
    Page,
    Response,
    Validators,
)


class NewPage(NamedTuple):
    """A page to add.

    Attributes:
        url: Its canonical URL.
        host: The host it is requested from.
        importance: How much its freshness counts; None leaves the importance of a known page
            unchanged, and means 1 for a new one.
        depth: Number of links between it and a page that the user added.
        source: Who asked for it: a ``user``, or a ``sitemap`` that one named, when it was first
            read; otherwise where it was found: ``listed`` by a sitemap later, ``link`` or ``push``.
        initial_importance: The importance of a new page that has none given, instead of 1.
    """

    url: str
    host: str
    importance: float | None = None
    depth: int = 0
    source: str = "user"
    initial_importance: float | None = None


@dataclass(frozen=True, slots=True)
class Added:
    """The result of adding pages.

    Attributes:
        new: Pages that were not known.
        known: Pages that were known already.
        revived: Pages that were gone and will be visited again.
        importance: Pages, known or revived, whose importance changed.
    """

    new: int
    known: int
    revived: int
    importance: int = 0


@dataclass(frozen=True, slots=True)
class Edits:
    """A summary of edits to pages, for a run to follow.

    Attributes:
        serial: The serial to pass to `changes_since` next time.
        added: New pages, including those that the run itself added.
        revived: Pages that were gone and will be visited again.
        removed: Numbers of removed pages.
        importance: Page numbers and new importances.
        asked: Numbers of those new pages that a user asked for.
    """

    serial: int
    added: list[Page]
    revived: list[Page]
    removed: list[int]
    importance: list[tuple[int, float]]
    asked: frozenset[int] = frozenset()


@dataclass(frozen=True, eq=False)
class PageTable:
    """Every page to visit, as columns with one element per page, in order of page number.

    Attributes:
        serial: The serial to pass to `changes_since`: later edits are not in the columns.
        number: The page's number.
        host: Its host, as an index into ``hosts``.
        hosts: Host names.
        url: Its URL.
        importance: How much its freshness counts.
        shape: The shape of the belief about its change rate; NaN if there is none.
        time: The time of that belief, in days; NaN if there is none.
        octaves: The evidence of its visits about that rate, packed; None if there is none yet.
        last_visit: When it was last found, in microseconds; ``NO_TIME`` if never.
        failures: How many of its latest visits failed in a row.
        asked: Whether a user asked for it.
    """

    serial: int
    number: Ints
    host: Ints
    hosts: list[str]
    url: list[str]
    importance: Floats
    shape: Floats
    time: Floats
    octaves: list[bytes | None]
    last_visit: Ints
    failures: Ints
    asked: Bools


@dataclass(frozen=True, eq=False)
class Outlook:
    """The freshness of every page to visit, as columns: a subset of `PageTable`, and its rates."""

    number: Ints
    host: Ints
    hosts: list[str]
    importance: Floats
    shape: Floats
    time: Floats
    last_visit: Ints
    failures: Ints
    rates: ShownRates

    def fresh(self, now: int) -> Floats:
        """Return the chance that each page's copy is fresh; 0 without a copy."""
        return self.rates.fresh(days_since(self.last_visit, now))


class Belief(NamedTuple):
    """What is believed about a page's change rate.

    Attributes:
        shape: The shape of the Gamma with the mean and variance of what decides about its visits.
        time: The time of that Gamma, in days.
        rates: The rate as it is shown, of this page alone.
    """

    shape: float
    time: float
    rates: ShownRates


def days_since(last_visit: Ints, now: int) -> Floats:
    """Return the days since copies were made, infinity for ``NO_TIME``."""
    # Convert to floats first: subtracting NO_TIME would overflow an integer.
    since = np.maximum(now - last_visit.astype(np.float64), 0.0) / MICROSECONDS_A_DAY
    return np.where(last_visit == NO_TIME, np.inf, since)


@dataclass(frozen=True, eq=False)
class Observed:
    """Observations, grouped by page and in order of time.

    Attributes:
        page: The page's number.
        elapsed: Microseconds since the previous visit.
        changed: Whether the page had changed since then.
    """

    page: Ints
    elapsed: Ints
    changed: Bools


@dataclass(frozen=True, slots=True)
class Spent:
    """Requests in addition to those that the responses of visits count.

    Attributes:
        at: When, in microseconds.
        robots: Requests for robots.txt.
        sitemaps: Requests for sitemaps.
        lost: Requests for pages that did not end in a visit.
    """

    at: int
    robots: int = 0
    sitemaps: int = 0
    lost: int = 0


@dataclass(frozen=True, slots=True)
class Spending:
    """Requests and visits over a period.

    Attributes:
        requests: Requests for pages, which is what the budget limits.
        robots: Requests for robots.txt.
        sitemaps: Requests for sitemaps.
        outcomes: Number of visits by outcome.
    """

    requests: int
    robots: int
    sitemaps: int
    outcomes: dict[Outcome, int]


@dataclass(frozen=True, slots=True)
class Totals:
    """What the store holds.

    Attributes:
        pages: Number of pages.
        alive: Pages that were found at the last visit, or were never visited.
        missing: Pages that were not found at the last visit.
        gone: Pages that were not found for so long that they are checked only now and then.
        refused: Pages that may not be visited.
        with_copy: Pages with a current copy.
        unvisited: Pages that are to be visited but were never found.
        visits: Rows in the log.
        bodies: Distinct bodies.
        content_bytes: Their total size.
        stored_bytes: Their total size as stored, compressed.
    """

    pages: int
    alive: int
    missing: int
    gone: int
    refused: int
    with_copy: int
    unvisited: int
    visits: int
    bodies: int
    content_bytes: int
    stored_bytes: int


@dataclass(frozen=True, slots=True)
class Trouble:
    """Pages in trouble.

    Attributes:
        missing: Not found at the last visit.
        gone: Not found for so long that they are checked only now and then.
        refused: Refused by robots.txt, the server or one of our own rules.
        failing: Others whose last visit failed.
    """

    missing: int = 0
    gone: int = 0
    refused: int = 0
    failing: int = 0


@dataclass(frozen=True, slots=True)
class LoggedVisit:
    """A row of the log.

    Attributes:
        at: When the response arrived, in microseconds.
        outcome: What the visit found.
        previous: When the page was last visited successfully before.
        status: The HTTP status, or 0 if there was no response.
        signal: How the outcome was determined: ``etag``, ``lastmod`` or ``digest``; None if
            nothing was compared.
        last_modified: When the page last changed, according to the server.
        bytes: Bytes received.
        ms: Duration in milliseconds.
        requests: Number of requests it took.
        truncated: Whether the body was longer than the limit.
        mime: The content type, without parameters.
        redirect: The final URL, if the page was redirected.
        error: Why the visit failed.
        change: How the page differed from its copy; None if it did not, or if that is unknown.
    """

    at: int
    outcome: Outcome
    previous: int | None
    status: int
    signal: str | None
    last_modified: int | None
    bytes: int
    ms: int
    requests: int
    truncated: bool
    mime: str | None
    redirect: str | None
    error: str | None
    change: Change | None = None


class LastVisit(NamedTuple):
    """How the last visit to a page ended: a subset of `LoggedVisit`."""

    at: int
    outcome: Outcome
    status: int


@dataclass(frozen=True, slots=True)
class Copy:
    """The current copy of a page: the response it came from, with the body."""

    page: Page
    response: Response


@dataclass(frozen=True, slots=True)
class SitemapFile:
    """A sitemap or feed, which is read at regular intervals.

    Attributes:
        url: Its URL.
        read_at: When it was last read, in microseconds; None if never.
        validators: Validators for the next conditional request.
        pages: Number of entries when it was last read: pages or, for an index, sitemaps.
        tried_at: When it was last requested; None if never.
        next_at: When to read it next; None for at once.
        failures: How many of the latest attempts failed in a row.
        error: Why it could not be read, or not completely; None if all is well.
        kind: ``sitemap``, ``index``, ``feed`` or ``list``; None if it was never read.
        skipped: Entries that were left out because they belong to hosts that do not name it.
        root: The first of the chain of indexes that name it; None if no index does.
        host: Its host.
        depth: The number of indexes in that chain.
    """

    url: str
    read_at: int | None = None
    validators: Validators = field(default_factory=Validators)
    pages: int = 0
    tried_at: int | None = None
    next_at: int | None = None
    failures: int = 0
    error: str | None = None
    kind: str | None = None
    skipped: int = 0
    root: str | None = None
    host: str = ""
    depth: int = 0


@dataclass(frozen=True, slots=True)
class Retention:
    """How much of the past is kept.

    Attributes:
        changes: The number of changes in the feed.
        time: How long changes and versions are kept, in microseconds; None for no limit.
        versions: The number of old copies of each page.
    """

    changes: int = 1_000_000
    time: int | None = round(90 * MICROSECONDS_A_DAY)
    versions: int = 2

"""What goes into the store and comes out of it, beside the records everybody shares."""

from dataclasses import dataclass

from recrawl.kernels.jit import Bools, Floats, Ints
from recrawl.records import Outcome, Page, Response, Validators


@dataclass(frozen=True, slots=True)
class NewPage:
    """A page to be added.

    Attributes:
        url: Its address, canonical.
        host: Whose patience it takes.
        importance: What its freshness is worth; None leaves a known page's as it is, and is 1 for
            a new one.
        depth: Links between it and a page that was asked for.
        source: Who named it, such as ``user``, ``sitemap`` or ``link``.
    """

    url: str
    host: str
    importance: float | None = None
    depth: int = 0
    source: str = "user"


@dataclass(frozen=True, slots=True)
class Added:
    """How many of the pages named were new, known, or given up before and are now wanted again."""

    new: int
    known: int
    revived: int


@dataclass(frozen=True, slots=True)
class Edits:
    """What was done to the pages beside a run, in sum.

    Attributes:
        serial: What to ask with next time.
        added: Pages that are new; also what the run itself added.
        revived: Pages that were given up and are to be visited again.
        removed: Numbers of pages that are no longer wanted.
        importance: Numbers and new importances.
    """

    serial: int
    added: list[Page]
    revived: list[Page]
    removed: list[int]
    importance: list[tuple[int, float]]


@dataclass(frozen=True, eq=False)
class Fleet:
    """Every page that is visited, as columns of one element a page, in order of number.

    Attributes:
        serial: What to ask `changes_since` with: edits after it are not in the columns.
        number: The page's number.
        host: Its host, a place in ``hosts``.
        hosts: The hosts' names.
        url: Its address.
        importance: What its freshness is worth.
        shape: The shape of what is believed of its change rate; NaN where nothing is.
        time: The time of that belief, likewise.
        last_visit: When it was last found, in microseconds; ``NO_TIME`` where never.
        failures: How many of its last visits in a row failed.
    """

    serial: int
    number: Ints
    host: Ints
    hosts: list[str]
    url: list[str]
    importance: Floats
    shape: Floats
    time: Floats
    last_visit: Ints
    failures: Ints


@dataclass(frozen=True, eq=False)
class Observed:
    """What visits taught, a page's rows together and in order of time.

    Attributes:
        page: The page's number.
        elapsed: Microseconds since the visit before.
        changed: Whether it had changed since then.
    """

    page: Ints
    elapsed: Ints
    changed: Bools


@dataclass(frozen=True, slots=True)
class Spent:
    """Requests made beside those that the answers of visits count.

    Attributes:
        at: When, in microseconds.
        robots: Requests for robots.txt.
        sitemaps: Requests for sitemaps.
        lost: Requests for pages that ended in no visit.
    """

    at: int
    robots: int = 0
    sitemaps: int = 0
    lost: int = 0


@dataclass(frozen=True, slots=True)
class Spending:
    """What was spent over a time.

    Attributes:
        requests: Requests for pages: this is what a budget limits.
        robots: Requests for robots.txt.
        sitemaps: Requests for sitemaps.
        outcomes: How many visits found what.
    """

    requests: int
    robots: int
    sitemaps: int
    outcomes: dict[Outcome, int]


@dataclass(frozen=True, slots=True)
class Totals:
    """How much there is.

    Attributes:
        pages: Pages in all.
        alive: Those that were there when last visited, or were never visited.
        missing: Those not found at the last visit.
        gone: Those given up.
        with_copy: Those with a current copy.
        visits: Rows in the log.
        bodies: Different contents.
        content_bytes: Their size.
        stored_bytes: Their size as stored, deflated.
    """

    pages: int
    alive: int
    missing: int
    gone: int
    with_copy: int
    visits: int
    bodies: int
    content_bytes: int
    stored_bytes: int


@dataclass(frozen=True, slots=True)
class LoggedVisit:
    """A row of the log.

    Attributes:
        at: When the response came, in microseconds.
        outcome: What the visit found.
        previous: When the page was visited before with success.
        status: HTTP's, or 0 where there was no response.
        signal: How the outcome is known: ``etag``, ``lastmod`` or ``digest``; None where nothing
            was compared.
        last_modified: When the server says the page changed last.
        bytes: Bytes received.
        ms: How long it took, in milliseconds.
        requests: What it cost.
        truncated: Whether the content was longer than is read.
        mime: The content's type, without parameters.
        redirect: Where redirects ended, if there were any.
        error: Why there was nothing to learn.
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


@dataclass(frozen=True, slots=True)
class Copy:
    """The current copy of a page: the response that brought it, content included."""

    page: Page
    response: Response


@dataclass(frozen=True, slots=True)
class SitemapFile:
    """A sitemap that is read again and again.

    Attributes:
        url: Its address.
        read_at: When it was read last, in microseconds; None if never.
        validators: What to ask the server with.
        pages: How many pages it named.
    """

    url: str
    read_at: int | None
    validators: Validators
    pages: int

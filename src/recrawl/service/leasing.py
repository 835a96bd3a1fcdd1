"""What other crawlers ask for, what they get, and the results of their reports."""

from collections.abc import Collection
from dataclasses import dataclass
from enum import StrEnum

from recrawl.records import Page


class Answer(StrEnum):
    """The result of a report."""

    #: It is written, and learned from.
    RECORDED = "recorded"
    #: It had been before.
    DUPLICATE = "duplicate"
    #: It is too late: the lease has ended, and the page is with somebody else.
    SUPERSEDED = "superseded"
    #: The page was never on this lease.
    NOT_LEASED = "not_leased"
    #: There is no such page, or no such lease, or it ended too long ago.
    UNKNOWN = "unknown"
    #: The page was found, and neither body nor digest nor anything else says whether it changed.
    UNCLEAR = "unclear"


@dataclass(frozen=True, slots=True)
class Leased:
    """Pages for a crawler to visit.

    Attributes:
        id: The lease's id.
        deadline: When it ends, in microseconds.
        pages: The pages.
        delays: Seconds between two requests, for the host of each page.
    """

    id: str
    deadline: int
    pages: list[Page]
    delays: list[float]


@dataclass(frozen=True, slots=True)
class Wish:
    """What a crawler wants to lease.

    Attributes:
        limit: How many pages at most.
        max_hosts: Of how many hosts at most; None for any number.
        pages_per_host: How many of one host at most.
        hosts: Only of these hosts; None for any.
        seconds: For how long; None for the usual time.
        key: The same for a request that is repeated because it was not answered.
    """

    limit: int = 100
    max_hosts: int | None = None
    pages_per_host: int = 1
    hosts: Collection[str] | None = None
    seconds: float | None = None
    key: str | None = None

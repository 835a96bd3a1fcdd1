"""What the API takes and returns. Times are ISO 8601 in UTC, rates per day, delays in seconds."""

import math
import re
from datetime import UTC, datetime
from functools import cache
from types import UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, StrictBool, model_validator

from recrawl.crawler.page_list import ListedPage
from recrawl.records import Outcome
from recrawl.service.service import PageDetails, ServiceStatus
from recrawl.store.changes import PageChange
from recrawl.store.listing import HostCounts
from recrawl.store.rows import Added, LoggedVisit, SitemapFile

URL_EXAMPLE = "https://example.org/news"
MAX_URL = 8_192
#: Pages that may be named in one request.
MAX_PAGES = 5_000
MAX_IMPORTANCE = 1e12
#: What a field may be expected to be.
NUMBER, TIME = "a number", "a time such as 2026-01-31T12:00:00Z"
_TIME = re.compile(r"\d{4}-\d\d-\d\d[Tt ]", re.ASCII)
MIN_BUDGET, MAX_BUDGET = 1e-3, 1e9


def when(microseconds: int | None) -> datetime | None:
    """Return a time as the API has it.

    >>> when(0).isoformat()
    '1970-01-01T00:00:00+00:00'
    """
    return None if microseconds is None else datetime.fromtimestamp(microseconds / 1e6, UTC)


def finite(number: float | None) -> float | None:
    """Return a number that JSON knows, None for others."""
    return None if number is None or not math.isfinite(number) else number


Flag = StrictBool
Url = Annotated[str, Field(min_length=1, max_length=MAX_URL, examples=[URL_EXAMPLE])]
Importance = Annotated[
    float,
    Field(
        ge=0.0,
        le=MAX_IMPORTANCE,
        allow_inf_nan=False,
        description="How much its freshness counts.",
    ),
]


class Body(BaseModel):
    """A request's body; a field that is not known is an error, as it may be misspelt."""

    model_config = ConfigDict(extra="forbid")

    @model_validator(mode="before")
    @classmethod
    def _is_as_described(cls, given: object) -> object:
        """Refuse what would be converted, such as text for a number: it may be a mistake."""
        if isinstance(given, dict):
            kinds = _kinds_of(cls)
            for name, value in given.items():
                _check(name, kinds.get(name, ""), value)
        return given


def _check(name: str, kind: str, value: object) -> None:
    if isinstance(value, str):
        if kind == NUMBER or (kind == TIME and _TIME.match(value) is None):
            raise ValueError(f"{name}: expected {kind}")
        if not value.isascii():
            value.encode()  # A lone surrogate is a ValueError.
    elif isinstance(value, list):
        for one in value:
            _check(name, "", one)
    elif kind and value is not None and (kind == TIME or isinstance(value, bool)):
        raise ValueError(f"{name}: expected {kind}")


@cache
def _kinds_of(model: type[BaseModel]) -> dict[str, str]:
    """Return which fields of a model are numbers, and which are times."""
    kinds = {name: _kinds(field.annotation) for name, field in model.model_fields.items()}
    times = {name: TIME for name, found in kinds.items() if found & {datetime, AwareDatetime}}
    return times | {name: NUMBER for name, found in kinds.items() if found & {int, float}}


def _kinds(annotation: object) -> set[object]:
    """Return the types that an annotation allows.

    >>> sorted(kind.__name__ for kind in _kinds(Importance | None))
    ['NoneType', 'float']
    """
    if get_origin(annotation) is Annotated:
        return _kinds(get_args(annotation)[0])
    if get_origin(annotation) in {Union, UnionType}:
        return {kind for part in get_args(annotation) for kind in _kinds(part)}
    return {annotation}


class PageOut(BaseModel):
    """A page in a list."""

    url: str = Field(examples=[URL_EXAMPLE])
    host: str = Field(examples=["example.org"])
    state: str = Field(description="alive, missing, gone or refused.", examples=["alive"])
    importance: float = Field(examples=[1.0])
    change_rate: float | None = Field(description="Changes per day, as believed.", examples=[0.2])
    visits: int
    changes: int = Field(description="Visits that found a change.")
    last_visit: datetime | None = Field(description="When the copy was found to be current.")
    next_visit: datetime | None = Field(description="When a visit is worth its price.")
    failures: int = Field(description="Visits in a row that failed.")
    status: int | None = Field(description="The HTTP status of the last visit; 0 for none.")
    error: str | None

    @classmethod
    def of(cls, page: ListedPage) -> "PageOut":
        """Return a page as the API has it."""
        return cls(
            url=page.url,
            host=page.host,
            state=page.state.name.lower(),
            importance=page.importance,
            change_rate=page.change_rate,
            visits=page.visits,
            changes=page.changes,
            last_visit=when(page.last_visit),
            next_visit=when(page.next_visit),
            failures=page.failures,
            status=page.status,
            error=page.error,
        )


class PagesOut(BaseModel):
    """A part of a list of pages."""

    found: int = Field(description="How many pages match.")
    offset: int
    pages: list[PageOut]


class VisitOut(BaseModel):
    """A visit to a page."""

    at: datetime
    outcome: str = Field(examples=["changed"])
    status: int
    signal: str | None = Field(description="How a change was told: etag, lastmod or digest.")
    last_modified: datetime | None
    bytes: int
    ms: int
    requests: int
    mime: str | None
    redirect: str | None
    error: str | None
    share: float | None = Field(description="The share of the page's own text that differed.")

    @classmethod
    def of(cls, visit: LoggedVisit) -> "VisitOut":
        """Return a visit as the API has it."""
        return cls(
            at=_time(visit.at),
            outcome=visit.outcome.name.lower(),
            status=visit.status,
            signal=visit.signal,
            last_modified=when(visit.last_modified),
            bytes=visit.bytes,
            ms=visit.ms,
            requests=visit.requests,
            mime=visit.mime,
            redirect=visit.redirect,
            error=visit.error,
            share=None if visit.change is None else visit.change.share,
        )


class PageDetailsOut(BaseModel):
    """One page: what is believed about it, when it is visited next and why, and its visits."""

    url: str = Field(examples=[URL_EXAMPLE])
    host: str
    state: str
    importance: float
    change_rate: float | None = Field(description="Changes per day, as believed.")
    change_rate_low: float | None = Field(description="With 95 % probability, at least this.")
    change_rate_high: float | None = Field(description="With 95 % probability, at most this.")
    stale: float | None = Field(description="The chance that the copy is stale.")
    value: float | None = Field(description="What a visit now is worth, importance times days.")
    price: float | None = Field(description="What a visit must be worth.")
    next_visit: datetime | None
    why: str = Field(description="When the page is visited next, and why, in words.")
    last_visit: datetime | None
    last_changed: datetime | None
    digest: str | None = Field(description="Of the copy: BLAKE2b, 16 bytes, as hexadecimal.")
    etag: str | None
    last_modified: str | None
    visits: list[VisitOut] = Field(description="The latest visits, newest first.")

    @classmethod
    def of(cls, details: PageDetails) -> "PageDetailsOut":
        """Return a page as the API has it."""
        found = details.explanation
        page = found.page
        return cls(
            url=page.url,
            host=page.host,
            state=page.state.name.lower(),
            importance=page.importance,
            change_rate=finite(found.change_rate),
            change_rate_low=finite(found.low),
            change_rate_high=finite(found.high),
            stale=finite(found.stale),
            value=finite(found.value),
            price=None if found.price is None else found.price.value,
            next_visit=when(found.due),
            why=found.why(),
            last_visit=when(page.last_visit),
            last_changed=when(details.changed_at),
            digest=None if page.body is None else page.body.hex(),
            etag=page.validators.etag,
            last_modified=page.validators.last_modified,
            visits=[VisitOut.of(visit) for visit in details.visits],
        )


class NewPageIn(Body):
    """A page to keep fresh."""

    url: Url
    importance: Importance | None = None


class NewPagesIn(Body):
    """Pages to keep fresh."""

    pages: list[NewPageIn] = Field(min_length=1, max_length=MAX_PAGES)


class AddedOut(BaseModel):
    """What became of the pages to add."""

    new: int
    known: int
    revived: int = Field(description="Pages that were gone and are to be visited again.")
    importance: int = Field(description="Known pages whose importance changed.")
    problems: list[str] = Field(description="Why URLs cannot be crawled; they are not added.")

    @classmethod
    def of(cls, added: Added, problems: list[str]) -> "AddedOut":
        """Return what became of pages, as the API has it."""
        return cls(
            new=added.new,
            known=added.known,
            revived=added.revived,
            importance=added.importance,
            problems=problems,
        )


class PagesIn(Body):
    """Pages to remove."""

    urls: list[Url] = Field(min_length=1, max_length=MAX_PAGES, examples=[[URL_EXAMPLE]])


class RemovedOut(BaseModel):
    """What became of the pages to remove."""

    removed: int = Field(description="Those that were there.")


class PageIn(Body):
    """What to change about a page."""

    importance: Importance


class SignalIn(Body):
    """Evidence that a page has changed."""

    url: Url
    probability: float = Field(
        0.9, ge=0.0, le=1.0, description="That it has changed since its last visit.", examples=[0.9]
    )


class SignalsIn(Body):
    """Evidence that pages have changed."""

    signals: list[SignalIn] = Field(min_length=1, max_length=MAX_PAGES)


class SignalsOut(BaseModel):
    """What became of the evidence."""

    known: int = Field(description="Pages that are kept fresh; the others are not known.")


class HostOut(BaseModel):
    """A host."""

    host: str = Field(examples=["example.org"])
    pages: int
    missing: int
    gone: int
    refused: int
    failing: int
    delay: float = Field(description="Seconds between two requests.")

    @classmethod
    def of(cls, host: HostCounts, delay: float) -> "HostOut":
        """Return a host as the API has it."""
        return cls(
            host=host.name,
            pages=host.pages,
            missing=host.missing,
            gone=host.gone,
            refused=host.refused,
            failing=host.failing,
            delay=delay,
        )


class HostsOut(BaseModel):
    """Hosts, those with the most pages first."""

    found: int
    hosts: list[HostOut]


class SitemapOut(BaseModel):
    """A sitemap or feed."""

    url: str
    kind: str | None
    entries: int
    last_read: datetime | None
    next_read: datetime | None
    failures: int
    error: str | None = Field(description="Why it could not be read, or not completely.")

    @classmethod
    def of(cls, sitemap: SitemapFile) -> "SitemapOut":
        """Return a sitemap as the API has it."""
        return cls(
            url=sitemap.url,
            kind=sitemap.kind,
            entries=sitemap.pages,
            last_read=when(sitemap.read_at),
            next_read=when(sitemap.next_at),
            failures=sitemap.failures,
            error=sitemap.error,
        )


class SitemapsOut(BaseModel):
    """Sitemaps and feeds, those that cannot be read first."""

    sitemaps: list[SitemapOut]


class ChangeOut(BaseModel):
    """What became of a page."""

    cursor: str = Field(description="Where to read on after this change.", examples=["1042"])
    url: str = Field(examples=[URL_EXAMPLE])
    kind: Literal["new", "changed", "gone", "back", "removed"]
    at: datetime = Field(description="When it was found.")
    previous: datetime | None = Field(description="When the page was last found before.")
    digest_before: str | None
    digest: str | None
    share: float | None = Field(description="The share of the page's own text that differs.")

    @classmethod
    def of(cls, change: PageChange) -> "ChangeOut":
        """Return a change as the API has it."""
        kind: Any = change.kind.name.lower()
        return cls(
            cursor=str(change.cursor),
            url=change.url,
            kind=kind,
            at=_time(change.at),
            previous=when(change.previous),
            digest_before=None if change.before is None else change.before.hex(),
            digest=None if change.after is None else change.after.hex(),
            share=change.share,
        )


class ChangesOut(BaseModel):
    """What follows a cursor."""

    cursor: str = Field(description="Where to read on.", examples=["1042"])
    changes: list[ChangeOut]


class StatusOut(BaseModel):
    """What there is, what is being done, and whether it keeps up."""

    now: datetime
    began: datetime = Field(description="When the process began.")
    crawls: bool = Field(description="Whether the process fetches pages itself.")
    budget: float = Field(description="Requests per day.")
    budget_used: float = Field(description="As a share of what the budget allows since it began.")
    pages: int = Field(description="Pages that are kept fresh.")
    price: float | None = Field(description="What a visit must be worth, importance times days.")
    expected_freshness: float | None = Field(
        description="The share of importance whose copies are believed to be current."
    )
    due: int = Field(description="Pages with a copy whose visit is due.")
    without_copy: int = Field(description="Pages without a copy.")
    lateness: float = Field(description="Seconds for which they have been due, on average.")
    latest: float = Field(description="Seconds for which the longest overdue has been due.")
    missing: int
    gone: int
    refused: int
    failing: int
    visits: dict[str, int] = Field(description="Visits since it began, by outcome.")
    visits_last_day: dict[str, int] = Field(description="Visits in 24 hours, by outcome.")
    requests_last_day: int
    under_way: int = Field(description="Visits that are under way.")

    @classmethod
    def of(cls, status: ServiceStatus) -> "StatusOut":
        """Return the status as the API has it."""
        up, stats = status.keeping_up, status.stats
        return cls(
            now=_time(status.now),
            began=_time(status.began),
            crawls=status.crawls,
            budget=status.budget,
            budget_used=stats.budget_used,
            pages=status.pages,
            price=status.price,
            expected_freshness=up.expected_freshness,
            due=up.due,
            without_copy=up.without_copy,
            lateness=up.lateness,
            latest=up.latest,
            missing=status.trouble.missing,
            gone=status.trouble.gone,
            refused=status.trouble.refused,
            failing=status.trouble.failing,
            visits={one.name.lower(): stats.outcomes[one] for one in Outcome},
            visits_last_day={
                one.name.lower(): count for one, count in status.last_day.outcomes.items()
            },
            requests_last_day=status.last_day.requests,
            under_way=stats.under_way,
        )


class PlanPoint(BaseModel):
    """What a budget leads to."""

    budget: float = Field(description="Requests per day.", examples=[2000.0])
    freshness: float = Field(
        description="The share of importance whose copies are current.", examples=[0.93]
    )


class PlanOut(BaseModel):
    """What other budgets would lead to, with visits at regular times."""

    now: PlanPoint = Field(description="With the present budget.")
    plan: list[PlanPoint]


class BudgetIn(Body):
    """A budget."""

    budget: float = Field(
        ge=MIN_BUDGET, le=MAX_BUDGET, allow_inf_nan=False, description="Requests per day."
    )


class BudgetOut(BaseModel):
    """A budget."""

    budget: float = Field(description="Requests per day.")


class SettingOut(BaseModel):
    """A setting."""

    name: str = Field(examples=["host_delay"])
    value: str | float | bool | list[str] | None = Field(examples=[1.0])
    kind: str
    meaning: str


class SettingsOut(BaseModel):
    """All settings."""

    settings: list[SettingOut]


class HealthOut(BaseModel):
    """That the service answers."""

    status: Literal["ok"] = "ok"


def _time(microseconds: int) -> datetime:
    return datetime.fromtimestamp(microseconds / 1e6, UTC)

"""What the API returns about the whole: status, hosts, sitemaps and health."""

from datetime import datetime
from typing import Literal

from pydantic import BaseModel, Field

from recrawl.records import Outcome
from recrawl.service.bodies import utc, when
from recrawl.service.service import ServiceStatus
from recrawl.store.listing import HostCounts
from recrawl.store.rows import SitemapFile
from recrawl.store.subscriptions import Subscription


class HostOut(BaseModel):
    """A host."""

    host: str = Field(description="Its name; the port is part of it if it is an unusual one.")
    pages: int = Field(description="All pages, also those that are gone or refused.")
    missing: int = Field(description="Not found at the last visit.")
    gone: int = Field(description="Not found for long; looked at only now and then.")
    refused: int = Field(description="Pages that may not be visited, as by robots.txt.")
    failing: int = Field(description="The others whose last visit failed.")
    delay: float = Field(description="Seconds between two requests.")
    closed_until: datetime | None = Field(
        description="Until when it is left alone, because it fails or asked for that."
    )

    @classmethod
    def of(cls, host: HostCounts, delay: float, closed_until: int | None) -> "HostOut":
        """Return a host as the API shows it."""
        return cls(
            host=host.name,
            pages=host.pages,
            missing=host.missing,
            gone=host.gone,
            refused=host.refused,
            failing=host.failing,
            delay=delay,
            closed_until=when(closed_until),
        )


class HostsOut(BaseModel):
    """Hosts, those with the most pages first."""

    found: int = Field(description="How many hosts there are.")
    hosts: list[HostOut] = Field(description="The hosts.")


class HubOut(BaseModel):
    """A WebSub hub that says when a feed changes."""

    url: str = Field(description="Where it is.")
    until: datetime | None = Field(description="How long it has promised to; null if it has not.")
    last_message: datetime | None = Field(description="When it last said something.")
    error: str | None = Field(description="Why it is not subscribed to.")

    @classmethod
    def of(cls, known: Subscription) -> "HubOut":
        """Return a subscription as the API shows it."""
        return cls(
            url=known.hub,
            until=when(known.lease_until),
            last_message=when(known.received_at),
            error=known.error,
        )


class SitemapOut(BaseModel):
    """A sitemap or feed."""

    url: str = Field(description="Where it is.")
    kind: str | None = Field(description="sitemap, index, feed or list; null if it was never read.")
    entries: int = Field(description="Pages in it or, of an index, sitemaps.")
    last_read: datetime | None = Field(description="When it was last read.")
    next_read: datetime | None = Field(description="When it is read next.")
    failures: int = Field(description="Times in a row that it could not be read.")
    error: str | None = Field(description="Why it could not be read, or not completely.")
    hub: HubOut | None = Field(description="Who says when it changes, if somebody was asked to.")

    @classmethod
    def of(cls, sitemap: SitemapFile, known: Subscription | None) -> "SitemapOut":
        """Return a sitemap as the API shows it."""
        return cls(
            url=sitemap.url,
            kind=sitemap.kind,
            entries=sitemap.pages,
            last_read=when(sitemap.read_at),
            next_read=when(sitemap.next_at),
            failures=sitemap.failures,
            error=sitemap.error,
            hub=None if known is None else HubOut.of(known),
        )


class SitemapsOut(BaseModel):
    """Sitemaps and feeds, those that cannot be read first."""

    sitemaps: list[SitemapOut] = Field(description="The sitemaps and feeds.")


class StatusOut(BaseModel):
    """What there is, what is being done, and whether it keeps up."""

    now: datetime = Field(description="The time of the service.")
    began: datetime = Field(description="When the process began.")
    crawls: bool = Field(description="Whether the process fetches pages itself.")
    budget: float = Field(description="Requests per day.")
    budget_used: float | None = Field(
        description="As a share of what the budget allows since it began; null before that is a "
        "request."
    )
    pages: int = Field(description="All pages, also those that are gone or refused.")
    kept_fresh: int = Field(description="Pages that are visited.")
    price: float | None = Field(description="What a visit must be worth, importance times days.")
    expected_freshness: float | None = Field(
        description="The share of importance whose copies are believed to be current."
    )
    due: int = Field(description="Pages with a copy whose visit is due.")
    without_copy: int = Field(description="Pages without a copy.")
    lateness: float = Field(description="Seconds for which they have been due, on average.")
    latest: float = Field(description="Seconds for which the longest overdue has been due.")
    missing: int = Field(description="Not found at the last visit.")
    gone: int = Field(description="Not found for long; looked at only now and then.")
    refused: int = Field(description="Pages that may not be visited, as by robots.txt.")
    failing: int = Field(description="The others whose last visit failed.")
    visits: dict[str, int] = Field(description="Visits since it began, by outcome.")
    visits_last_day: dict[str, int] = Field(description="Visits in 24 hours, by outcome.")
    requests_last_day: int = Field(description="Requests in 24 hours, with redirects.")
    under_way: int = Field(description="Visits that are under way.")

    @classmethod
    def of(cls, status: ServiceStatus) -> "StatusOut":
        """Return the status as the API shows it."""
        up, stats = status.keeping_up, status.stats
        return cls(
            now=utc(status.now),
            began=utc(status.began),
            crawls=status.crawls,
            budget=status.budget,
            budget_used=stats.budget_used,
            pages=status.pages + status.trouble.gone + status.trouble.refused,
            kept_fresh=status.pages,
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


class HealthOut(BaseModel):
    """That the service answers."""

    status: Literal["ok"] = Field(default="ok", description="Always ok.")

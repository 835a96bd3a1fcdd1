"""What the API returns about the crawl as a whole: status, hosts, sitemaps and health."""

from datetime import datetime
from typing import Literal

from pydantic import BaseModel, Field

from recrawl.records import Outcome
from recrawl.service.models.bodies import utc, when
from recrawl.service.service import ServiceStatus
from recrawl.store.listing import HostCounts
from recrawl.store.rows import SitemapFile
from recrawl.store.subscriptions import Subscription


class HostOut(BaseModel):
    """A host."""

    host: str = Field(description="Its name, with the port unless it is the default one.")
    pages: int = Field(description="All pages, including those that are gone or refused.")
    missing: int = Field(description="Pages not found at the last visit.")
    gone: int = Field(
        description="Pages not found for long enough to be gone; checked only now and then."
    )
    refused: int = Field(
        description="Pages that may not be visited, for example because of robots.txt."
    )
    failing: int = Field(description="Other pages whose last visit failed.")
    delay: float = Field(description="Minimum seconds between two requests.")
    closed_until: datetime | None = Field(
        description="When its backoff ends; null if it is not in backoff."
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

    found: int = Field(description="Total number of hosts.")
    hosts: list[HostOut] = Field(description="The hosts.")


class HubOut(BaseModel):
    """A WebSub hub that announces changes of a feed."""

    url: str = Field(description="Its URL.")
    until: datetime | None = Field(description="When the subscription expires; null without one.")
    last_message: datetime | None = Field(description="When it last sent a message.")
    error: str | None = Field(description="Why there is no subscription.")

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

    url: str = Field(description="Its URL.")
    kind: str | None = Field(description="sitemap, index, feed or list; null if it was never read.")
    entries: int = Field(description="Number of pages in it or, for an index, of sitemaps.")
    last_read: datetime | None = Field(description="When it was last read.")
    next_read: datetime | None = Field(description="When it is read next.")
    failures: int = Field(description="Number of failed reads in a row.")
    error: str | None = Field(description="Why it could not be read, or not completely.")
    hub: HubOut | None = Field(description="The hub that announces its changes, if there is one.")

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
    """What there is, what is going on, and whether the crawl is keeping up."""

    now: datetime = Field(description="The service's current time.")
    began: datetime = Field(description="When the process started.")
    crawls: bool = Field(description="Whether the process fetches pages itself.")
    budget: float = Field(description="Requests per day.")
    budget_used: float | None = Field(
        description="Requests since the process started, as a share of what the budget allows; "
        "null before it allows one."
    )
    outside_budget: int = Field(
        description="Requests since the process started for first visits outside the budget."
    )
    pages: int = Field(description="All pages, including those that are gone or refused.")
    health: Literal["good", "busy", "bad"] = Field(
        description="Whether visits happen when they are due: bad is worth an alert; busy, while "
        "pages are visited for the first time, passes by itself."
    )
    health_reason: str = Field(description="Why, in a sentence.")
    kept_fresh: int = Field(description="Pages that are kept fresh.")
    price: float | None = Field(description="What a visit must be worth, in importance times days.")
    expected_freshness: float | None = Field(
        description="The share of importance whose copies are expected to be fresh; null without "
        "a copy."
    )
    due: int = Field(description="Pages with a copy whose visit is due.")
    without_copy: int = Field(description="Pages without a copy.")
    lateness: float = Field(description="Mean seconds for which due pages have been due.")
    latest: float = Field(description="Seconds for which the longest overdue page has been due.")
    missing: int = Field(description="Pages not found at the last visit.")
    gone: int = Field(
        description="Pages not found for long enough to be gone; checked only now and then."
    )
    refused: int = Field(
        description="Pages that may not be visited, for example because of robots.txt."
    )
    failing: int = Field(description="Other pages whose last visit failed.")
    visits: dict[str, int] = Field(description="Visits since the process started, by outcome.")
    visits_last_day: dict[str, int] = Field(description="Visits in the last 24 hours, by outcome.")
    requests_last_day: int = Field(
        description="Requests in the last 24 hours, including redirects."
    )
    in_flight: int = Field(description="Visits in flight.")

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
            outside_budget=stats.filled,
            pages=status.pages + status.trouble.gone + status.trouble.refused,
            health=status.health.state,
            health_reason=status.health.reason,
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
            in_flight=stats.in_flight,
        )


class HealthOut(BaseModel):
    """The service is up."""

    status: Literal["ok"] = Field(default="ok", description="Always ok.")

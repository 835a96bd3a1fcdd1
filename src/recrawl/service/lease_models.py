"""What the API takes and returns about leases and reports."""

import base64
from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, Any

from pydantic import AwareDatetime, BaseModel, Field

from recrawl.content.compare import wants_full
from recrawl.scheduling.leases import Lease
from recrawl.service.bodies import Body, Flag, Url, when
from recrawl.service.leasing import Answer, Leased, Wish
from recrawl.service.reports import Report

MAX_LEASED, MAX_REPORTS = 5_000, 5_000
MAX_PAGE = 2**31 - 2
MAX_SECONDS = 86_400.0

BASE64 = r"^([A-Za-z0-9+/]{4})*([A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$"

Header = Annotated[str, Field(max_length=8_192)]
Seconds = Annotated[float, Field(ge=0.0, le=MAX_SECONDS, allow_inf_nan=False)]


class LeaseIn(Body):
    """What to lease."""

    limit: int = Field(100, ge=1, le=MAX_LEASED, description="How many pages at most.")
    max_hosts: int | None = Field(None, ge=1, le=MAX_LEASED, description="Of how many hosts.")
    pages_per_host: int = Field(
        1,
        ge=1,
        le=MAX_LEASED,
        description="How many of one host; whoever leases more than one keeps the delay between "
        "them.",
    )
    hosts: list[Annotated[str, Field(max_length=255)]] | None = Field(
        None, max_length=1_000, description="Only of these hosts."
    )
    seconds: float | None = Field(
        None,
        ge=1.0,
        le=MAX_SECONDS,
        description="For how long; by default as `lease_time` is set.",
    )

    def wish(self, key: str | None) -> Wish:
        """Return what is wanted."""
        return Wish(self.limit, self.max_hosts, self.pages_per_host, self.hosts, self.seconds, key)


class LeasedPageOut(BaseModel):
    """A page to visit."""

    page: int = Field(description="Its number, for the report.")
    url: str = Field(description="What to request.")
    host: str = Field(description="Its host.")
    delay: float = Field(description="Seconds between two requests to its host.")
    importance: float = Field(description="How much its freshness counts.")
    etag: str | None = Field(description="For If-None-Match.")
    last_modified: str | None = Field(description="For If-Modified-Since.")


class LeaseOut(BaseModel):
    """Pages to visit before the deadline."""

    lease: str = Field(description="Its id, for reports.")
    deadline: datetime = Field(description="After this, pages go to others.")
    pages: list[LeasedPageOut] = Field(description="There may be fewer than wanted, or none.")

    @classmethod
    def of(cls, leased: Leased) -> "LeaseOut":
        """Return a lease as the API shows it."""
        pages = []
        for page, delay in zip(leased.pages, leased.delays, strict=True):
            validators = None if wants_full(page) else page.validators
            pages.append(
                LeasedPageOut(
                    page=page.number,
                    url=page.url,
                    host=page.host,
                    delay=delay,
                    importance=page.importance,
                    etag=None if validators is None else validators.etag,
                    last_modified=None if validators is None else validators.last_modified,
                )
            )
        deadline = when(leased.deadline)
        assert deadline is not None
        return cls(lease=leased.id, deadline=deadline, pages=pages)


class OpenLeaseOut(BaseModel):
    """A lease that has not ended."""

    lease: str = Field(description="Its id.")
    granted: datetime | None = Field(description="When it began.")
    deadline: datetime | None = Field(description="When it ends.")
    out: int = Field(description="Pages that have not been reported.")
    done: int = Field(description="Pages that have.")


class LeasesOut(BaseModel):
    """The leases that have not ended."""

    out: int = Field(description="Pages that are on them.")
    leases: list[OpenLeaseOut] = Field(description="The leases.")

    @classmethod
    def of(cls, leases: Sequence[Lease]) -> "LeasesOut":
        """Return leases as the API has them."""
        return cls(
            out=sum(len(lease.pages) for lease in leases),
            leases=[
                OpenLeaseOut(
                    lease=lease.id,
                    granted=when(round(lease.granted)),
                    deadline=when(round(lease.deadline)),
                    out=len(lease.pages),
                    done=lease.done,
                )
                for lease in leases
            ],
        )


class ReleasedOut(BaseModel):
    """What became of a lease."""

    released: int = Field(description="Pages that had not been reported.")


class ReportIn(Body):
    """What a visit found. A page that was found needs a body, a digest or changed."""

    page: int = Field(ge=0, le=MAX_PAGE, description="Its number on the lease.")
    status: int = Field(ge=0, le=599, description="The HTTP status; 0 for no response.")
    fetched_at: AwareDatetime | None = Field(None, description="When; by default, just now.")
    url: Url | None = Field(None, description="Where redirects ended.")
    etag: Header | None = Field(None, description="The header ETag, as received.")
    last_modified: Header | None = Field(None, description="The header Last-Modified.")
    content_type: Header | None = Field(None, description="The header Content-Type.")
    body: str | None = Field(
        None,
        pattern=BASE64,
        description="The content in Base64; it is compared, kept, and searched for links.",
    )
    digest: str | None = Field(
        None,
        max_length=200,
        description="Instead of a body: equal for contents that count as the same.",
    )
    changed: Flag | None = Field(None, description="Instead of both.")
    error: str | None = Field(None, max_length=1_000, description="Why there is no response.")
    disallowed: Flag = Field(False, description="Whether robots.txt forbids to visit it.")  # noqa: FBT003
    retry_after: Seconds | None = Field(
        None, description="Seconds that the server asks to wait for (Retry-After)."
    )
    crawl_delay: Seconds | None = Field(None, description="Seconds that robots.txt asks for.")
    requests: int = Field(1, ge=0, le=100, description="With redirects.")
    seconds: Seconds = Field(0.0, description="How long it took.")
    size: int | None = Field(None, ge=0, le=2**40, description="Bytes received.")
    truncated: Flag = Field(False, description="Whether the body was cut at a limit.")  # noqa: FBT003

    def report(self) -> Report:
        """Return the report."""
        named: list[tuple[str, Any]] = [
            ("ETag", self.etag),
            ("Last-Modified", self.last_modified),
            ("Content-Type", self.content_type),
        ]
        return Report(
            page=self.page,
            status=self.status,
            at=None if self.fetched_at is None else round(self.fetched_at.timestamp() * 1e6),
            url=self.url,
            headers=tuple((name, value) for name, value in named if value is not None),
            body=None if self.body is None else base64.b64decode(self.body),
            digest=self.digest,
            changed=self.changed,
            error=self.error,
            disallowed=self.disallowed,
            retry_after=self.retry_after,
            crawl_delay=self.crawl_delay,
            requests=self.requests,
            seconds=self.seconds,
            size=self.size,
            truncated=self.truncated,
        )


class ReportsIn(Body):
    """What visits to the pages of a lease found."""

    lease: str = Field(min_length=1, max_length=100, description="The id of the lease.")
    reports: list[ReportIn] = Field(
        min_length=1, max_length=MAX_REPORTS, description="One per visit."
    )


class ReportsOut(BaseModel):
    """What became of each report, in their order."""

    answers: list[Answer] = Field(description="What became of each, in their order.")

"""What the API takes and returns about leases and reports."""

import base64
from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, Any

from pydantic import AwareDatetime, BaseModel, Field

from recrawl.content.compare import wants_full
from recrawl.engine.leases import Answer, Lease, Leased, LeaseRequest
from recrawl.engine.reports import Report
from recrawl.service.models.bodies import Body, Flag, Url, when

MAX_LEASED, MAX_REPORTS = 5_000, 5_000
MAX_PAGE = 2**31 - 2
MAX_SECONDS = 86_400.0

BASE64 = r"^([A-Za-z0-9+/]{4})*([A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$"

Header = Annotated[str, Field(max_length=8_192)]
Seconds = Annotated[float, Field(ge=0.0, le=MAX_SECONDS, allow_inf_nan=False)]


class LeaseIn(Body):
    """What to lease."""

    limit: int = Field(100, ge=1, le=MAX_LEASED, description="Maximum number of pages.")
    max_hosts: int | None = Field(None, ge=1, le=MAX_LEASED, description="Maximum number of hosts.")
    pages_per_host: int = Field(
        1,
        ge=1,
        le=MAX_LEASED,
        description="Maximum number of pages per host; leave the delay between requests to a host.",
    )
    hosts: list[Annotated[str, Field(max_length=255)]] | None = Field(
        None, max_length=1_000, description="Only pages of these hosts."
    )
    seconds: float | None = Field(
        None,
        ge=1.0,
        le=MAX_SECONDS,
        description="How long, in seconds; by default the setting `lease_time`.",
    )

    def request(self, key: str | None) -> LeaseRequest:
        """Return the request as a `LeaseRequest`."""
        return LeaseRequest(
            self.limit, self.max_hosts, self.pages_per_host, self.hosts, self.seconds, key
        )


class LeasedPageOut(BaseModel):
    """A page to visit."""

    page: int = Field(description="Its number, to be used in the report.")
    url: str = Field(description="What to request.")
    host: str = Field(description="Its host.")
    delay: float = Field(description="Seconds between two requests to its host.")
    importance: float = Field(description="How much its freshness counts.")
    etag: str | None = Field(description="For If-None-Match.")
    last_modified: str | None = Field(description="For If-Modified-Since.")


class LeaseOut(BaseModel):
    """Pages to visit before the deadline."""

    lease: str = Field(description="Its id, to be used in reports.")
    deadline: datetime = Field(description="When pages that were not reported are released.")
    pages: list[LeasedPageOut] = Field(description="There may be fewer than requested, or none.")

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
    """An active lease."""

    lease: str = Field(description="Its id.")
    granted: datetime | None = Field(description="When it was granted.")
    deadline: datetime | None = Field(description="When it expires.")
    out: int = Field(description="Pages not reported yet.")
    done: int = Field(description="Pages already reported.")


class LeasesOut(BaseModel):
    """The active leases."""

    out: int = Field(description="Total number of leased pages.")
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
                    done=len(lease.done),
                )
                for lease in leases
            ],
        )


class ReleasedOut(BaseModel):
    """What happened to a lease."""

    released: int = Field(description="Pages that had not been reported.")


class ReportIn(Body):
    """What a visit found. A page that was found needs a body, a digest or changed."""

    page: int = Field(ge=0, le=MAX_PAGE, description="Its number, from the lease.")
    status: int = Field(ge=0, le=599, description="The HTTP status; 0 for no response.")
    fetched_at: AwareDatetime | None = Field(
        None, description="When the response arrived; by default, just now."
    )
    url: Url | None = Field(None, description="Where redirects ended.")
    etag: Header | None = Field(None, description="The ETag header, as received.")
    last_modified: Header | None = Field(None, description="The Last-Modified header, as received.")
    content_type: Header | None = Field(None, description="The Content-Type header.")
    body: str | None = Field(
        None,
        pattern=BASE64,
        description="The content in Base64; it is compared, stored, and searched for links.",
    )
    digest: str | None = Field(
        None,
        max_length=200,
        description="Instead of a body: text that is equal for contents that count as the same.",
    )
    changed: Flag | None = Field(
        None, description="Instead of both: whether the page has changed since its last visit."
    )
    error: str | None = Field(None, max_length=1_000, description="Why there is no response.")
    disallowed: Flag = Field(False, description="Whether robots.txt disallows visiting it.")  # noqa: FBT003
    retry_after: Seconds | None = Field(
        None, description="Seconds to wait according to the server (Retry-After)."
    )
    crawl_delay: Seconds | None = Field(
        None, description="Delay in seconds that robots.txt asks for."
    )
    requests: int = Field(1, ge=0, le=100, description="With redirects.")
    seconds: Seconds = Field(0.0, description="How long it took.")
    size: int | None = Field(None, ge=0, le=2**40, description="Bytes received.")
    truncated: Flag = Field(False, description="Whether the body was cut off at a limit.")  # noqa: FBT003

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
    """The result of each report, in the same order."""

    answers: list[Answer] = Field(description="The result of each report, in the same order.")

"""What the API takes and returns about pages."""

from datetime import datetime

from pydantic import BaseModel, Field

from recrawl.inspect.pages import ListedPage
from recrawl.service.models.bodies import (
    MAX_PAGES,
    Body,
    Importance,
    Url,
    finite,
    utc,
    when,
)
from recrawl.service.service import PageDetails
from recrawl.store.rows import Added, LoggedVisit

NO_TEXT = "Whether the copy has next to no text, as if scripts were to write it."


class PageOut(BaseModel):
    """A page in a list."""

    url: str = Field(description="Its URL in canonical form.")
    host: str = Field(description="Its host, with the port unless it is the default one.")
    state: str = Field(description="alive, missing, gone or refused.")
    importance: float = Field(description="How much its freshness counts.")
    change_rate: float | None = Field(description="Estimated changes per day.")
    is_guess: bool = Field(description="Whether the estimate rests on other pages alone.")
    visits: int = Field(description="Visits that found the page.")
    changes: int = Field(description="Visits that found a change.")
    last_visit: datetime | None = Field(
        description="When the copy was last found to be up to date."
    )
    next_visit: datetime | None = Field(
        description="When a visit is worth its price, or a gone or refused page is checked again."
    )
    failures: int = Field(description="Number of failed visits in a row.")
    status: int | None = Field(description="The HTTP status of the last visit; 0 for no response.")
    error: str | None = Field(
        description="Why the last visit failed or did not find the page, or why it is refused."
    )
    no_text: bool = Field(description=NO_TEXT)

    @classmethod
    def of(cls, page: ListedPage) -> "PageOut":
        """Return a page as the API shows it."""
        return cls(
            url=page.url,
            host=page.host,
            state=page.state.name.lower(),
            importance=page.importance,
            change_rate=page.change_rate,
            is_guess=page.is_guess,
            visits=page.visits,
            changes=page.changes,
            last_visit=when(page.last_visit),
            next_visit=when(page.next_visit),
            failures=page.failures,
            status=page.status,
            error=page.error,
            no_text=page.no_text,
        )


class PagesOut(BaseModel):
    """A part of a list of pages."""

    found: int = Field(description="How many pages match.")
    offset: int = Field(description="How many of them precede these.")
    pages: list[PageOut] = Field(description="The pages, in the requested order.")


class VisitOut(BaseModel):
    """A visit to a page."""

    at: datetime = Field(description="When the page was fetched.")
    outcome: str = Field(description="first, changed, unchanged, failed or gone.")
    status: int = Field(description="The HTTP status; 0 for no response.")
    signal: str | None = Field(description="How a change was detected: etag, lastmod or digest.")
    last_modified: datetime | None = Field(
        description="When the page last changed, according to the server."
    )
    bytes: int = Field(description="Bytes received.")
    ms: int = Field(description="How long it took, in milliseconds.")
    requests: int = Field(description="Number of requests, including redirects.")
    mime: str | None = Field(description="The media type.")
    redirect: str | None = Field(description="Where redirects ended.")
    error: str | None = Field(description="Why the visit failed.")
    share: float | None = Field(description="The share of the page's own text that differed.")

    @classmethod
    def of(cls, visit: LoggedVisit) -> "VisitOut":
        """Return a visit as the API shows it."""
        return cls(
            at=utc(visit.at),
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
    """One page: its estimated change rate, when and why it is visited next, and its visits."""

    url: str = Field(description="Its URL in canonical form.")
    host: str = Field(description="Its host.")
    state: str = Field(description="alive, missing, gone or refused.")
    importance: float = Field(description="How much its freshness counts.")
    change_rate: float | None = Field(description="Estimated changes per day.")
    change_rate_low: float | None = Field(description="Lower end of the 95 % interval.")
    change_rate_high: float | None = Field(description="Upper end of the 95 % interval.")
    stale: float | None = Field(description="The probability that the copy is stale.")
    value: float | None = Field(description="What a visit is worth now, in importance times days.")
    price: float | None = Field(description="What a visit must be worth.")
    next_visit: datetime | None = Field(description="When it is visited next.")
    why: str = Field(description="When the page is visited next, and why, in words.")
    last_visit: datetime | None = Field(
        description="When the copy was last found to be up to date."
    )
    last_changed: datetime | None = Field(description="When a visit last found a change.")
    digest: str | None = Field(description="Digest of the copy: BLAKE2b, 16 bytes, in hexadecimal.")
    no_text: bool = Field(description=NO_TEXT)
    etag: str | None = Field(description="The ETag of the copy.")
    last_modified: str | None = Field(description="The Last-Modified of the copy.")
    visits: list[VisitOut] = Field(description="The latest visits, newest first.")

    @classmethod
    def of(cls, details: PageDetails) -> "PageDetailsOut":
        """Return a page as the API shows it."""
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
            next_visit=when(details.next_visit),
            why=details.why,
            last_visit=when(page.last_visit),
            last_changed=when(details.changed_at),
            digest=None if page.body is None else page.body.hex(),
            no_text=details.no_text,
            etag=page.validators.etag,
            last_modified=page.validators.last_modified,
            visits=[VisitOut.of(visit) for visit in details.visits],
        )


class NewPageIn(Body):
    """A page to keep fresh."""

    url: Url
    importance: Importance | None = Field(
        None, description="How much its freshness counts; by default 1 for a new page."
    )


class NewPagesIn(Body):
    """Pages to keep fresh."""

    pages: list[NewPageIn] = Field(min_length=1, max_length=MAX_PAGES, description="The pages.")


class AddedOut(BaseModel):
    """What happened to the pages to add."""

    new: int = Field(description="Pages that are new.")
    known: int = Field(description="Pages that were already known.")
    revived: int = Field(description="Pages that were gone and will be visited again.")
    importance: int = Field(description="Known pages whose importance changed.")
    problems: list[str] = Field(
        description="URLs that cannot be crawled and were not added, with the reason."
    )

    @classmethod
    def of(cls, added: Added, problems: list[str]) -> "AddedOut":
        """Return what happened to pages, as the API shows it."""
        return cls(
            new=added.new,
            known=added.known,
            revived=added.revived,
            importance=added.importance,
            problems=problems,
        )


class PagesIn(Body):
    """Pages to remove."""

    urls: list[Url] = Field(min_length=1, max_length=MAX_PAGES, description="Their URLs.")


class RemovedOut(BaseModel):
    """What happened to the pages to remove."""

    removed: int = Field(description="Pages that were removed.")


class PageIn(Body):
    """What to change about a page."""

    importance: Importance


class SignalIn(Body):
    """Evidence that a page has changed."""

    url: Url
    probability: float = Field(
        0.9, ge=0.0, le=1.0, description="The probability that it has changed since its last visit."
    )


class SignalsIn(Body):
    """Evidence that pages have changed."""

    signals: list[SignalIn] = Field(min_length=1, max_length=MAX_PAGES, description="The pages.")


class SignalsOut(BaseModel):
    """What happened to the evidence."""

    known: int = Field(description="Pages that are known; the others are not kept fresh.")

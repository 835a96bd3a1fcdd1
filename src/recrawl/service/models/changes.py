"""What the API returns about changes."""

from datetime import datetime
from typing import Any, Literal

from pydantic import BaseModel, Field

from recrawl.service.models.bodies import utc, when
from recrawl.store.changes import PageChange


class ChangeOut(BaseModel):
    """Something that happened to a page."""

    cursor: str = Field(description="The cursor to continue after this change.")
    url: str = Field(description="The page.")
    kind: Literal["new", "changed", "gone", "back", "removed", "refused"] = Field(
        description="What happened to the page."
    )
    at: datetime = Field(description="When it was found.")
    previous: datetime | None = Field(description="When the page was last found before that.")
    digest_before: str | None = Field(description="Digest of the old copy.")
    digest: str | None = Field(
        description="Digest of the new copy: BLAKE2b, 16 bytes, in hexadecimal."
    )
    share: float | None = Field(description="The share of the page's own text that differs.")
    reason: str | None = Field(description="Why the page is refused; null for other kinds.")

    @classmethod
    def of(cls, change: PageChange) -> "ChangeOut":
        """Return a change as the API shows it."""
        kind: Any = change.kind.name.lower()
        return cls(
            cursor=str(change.cursor),
            url=change.url,
            kind=kind,
            at=utc(change.at),
            previous=when(change.previous),
            digest_before=None if change.before is None else change.before.hex(),
            digest=None if change.after is None else change.after.hex(),
            share=change.share,
            reason=change.reason,
        )


class ChangesOut(BaseModel):
    """What follows a cursor."""

    cursor: str = Field(description="The cursor to continue from.")
    changes: list[ChangeOut] = Field(description="The changes, oldest first.")

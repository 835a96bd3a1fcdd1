"""What the API returns about changes."""

from datetime import datetime
from typing import Any, Literal

from pydantic import BaseModel, Field

from recrawl.service.bodies import utc, when
from recrawl.store.changes import PageChange


class ChangeOut(BaseModel):
    """What became of a page."""

    cursor: str = Field(description="Where to read on after this change.")
    url: str = Field(description="The page.")
    kind: Literal["new", "changed", "gone", "back", "removed"] = Field(
        description="What became of it."
    )
    at: datetime = Field(description="When it was found.")
    previous: datetime | None = Field(description="When the page was last found before.")
    digest_before: str | None = Field(description="Of the copy before.")
    digest: str | None = Field(description="Of the copy now: BLAKE2b, 16 bytes, as hexadecimal.")
    share: float | None = Field(description="The share of the page's own text that differs.")

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
        )


class ChangesOut(BaseModel):
    """What follows a cursor."""

    cursor: str = Field(description="Where to read on.")
    changes: list[ChangeOut] = Field(description="What follows, the oldest first.")

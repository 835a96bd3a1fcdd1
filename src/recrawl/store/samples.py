"""How a crawl went over the years: by minute, by hour and by day, a fixed number of each."""

from dataclasses import dataclass
from enum import IntEnum
from typing import final

from recrawl.store.database import Database


class Span(IntEnum):
    """What a kept sample stands for, in seconds."""

    MINUTE = 60
    HOUR = 3_600
    DAY = 86_400

    @property
    def kept(self) -> int:
        """How many are kept: of a day, of a month, of ten years."""
        return {Span.MINUTE: 1_440, Span.HOUR: 744, Span.DAY: 3_660}[self]

    @property
    def microseconds(self) -> int:
        """How long it is."""
        return self.value * 1_000_000


@dataclass(frozen=True, slots=True)
class KeptSample:
    """How a crawl went in a span of time.

    Attributes:
        at: When its last sample was taken, in microseconds.
        freshness: The share of importance whose copies were believed to be current, on average;
            None without pages.
        due: Pages whose visit was due at the end of it.
        changed: Visits in it that found a change, first visits included.
        unchanged: Visits in it that found none.
        failed: Visits in it that failed, or found the page gone.
    """

    at: int
    freshness: float | None
    due: int
    changed: int
    unchanged: int
    failed: int


@final
class KeptSamples:
    """Samples that outlive the process.

    Args:
        database: The store's database.
    """

    def __init__(self, database: Database) -> None:
        self._database = database

    def add(self, sample: KeptSample) -> None:
        """Add what happened since the sample before to its minute, its hour and its day."""
        with self._database.transaction():
            for span in Span:
                number = sample.at // span.microseconds
                self._database.execute(
                    "add_sample",
                    span=span,
                    slot=number % span.kept,
                    number=number,
                    size=span.microseconds,
                    at=sample.at,
                    freshness=sample.freshness,
                    due=sample.due,
                    changed=sample.changed,
                    unchanged=sample.unchanged,
                    failed=sample.failed,
                )

    def since(self, at: int, span: Span) -> list[KeptSample]:
        """Return the samples of spans that ended at a time or later, the oldest first."""
        return [KeptSample(*row) for row in self._database.rows("samples_since", span, at)]

"""How the crawl went: samples of the last hour, and stored samples of the time before."""

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import final

from recrawl.store.samples import KeptSample, Span

HOUR, DAY = Span.HOUR.microseconds, Span.DAY.microseconds
#: Samples that are held: with one every 2 s, those of an hour.
CAPACITY = 1_800
#: Kept samples that are missing in a row where nothing is drawn: the process did not run.
MAX_MISSING = 3


@dataclass(frozen=True, slots=True)
class Sample:
    """The state of a crawl at one time.

    Attributes:
        at: When, in microseconds.
        freshness: The share of importance whose copies are expected to be fresh; None without
            pages.
        price: What a visit must be worth, importance times days; None before that is known.
        due: Pages whose visit is due.
        latest: Seconds for which the longest overdue of them has been due.
        requests: Requests for pages so far.
        changed: Visits so far that found a change, first visits included.
        unchanged: Visits so far that found none.
        failed: Visits so far that failed, or found the page gone.
    """

    at: int
    freshness: float | None
    price: float | None
    due: int
    latest: float
    requests: int
    changed: int
    unchanged: int
    failed: int

    @property
    def visits(self) -> int:
        """Visits so far."""
        return self.changed + self.unchanged + self.failed

    @property
    def counts(self) -> tuple[int, int, int]:
        """Visits so far by what they found: a change, none, or no page."""
        return self.changed, self.unchanged, self.failed

    def kept_after(self, before: "Sample | None") -> KeptSample:
        """Return what to store: what happened since the previous sample."""
        since = (0, 0, 0) if before is None else before.counts
        new = (now - then for now, then in zip(self.counts, since, strict=True))
        return KeptSample(self.at, self.freshness, self.due, *new)


@final
@dataclass(frozen=True)
class Window:
    """The time range of a chart.

    Attributes:
        name: Its name.
        length: How far back it goes, in microseconds.
        span: The samples that are drawn of the time before the process began.
        is_fine: Whether all samples of this process are drawn.
    """

    name: str
    length: int
    span: Span
    is_fine: bool = False


#: The shortest first.
WINDOWS = (
    Window("hour", HOUR, Span.MINUTE, is_fine=True),
    Window("day", DAY, Span.MINUTE),
    Window("month", 31 * DAY, Span.HOUR),
    Window("years", Span.DAY.kept * DAY, Span.DAY),
)


def window_of(name: str, oldest: int, now: int) -> Window:
    """Return the window of a name; without one, the hour if nothing is older, otherwise the day.

    >>> window_of("month", 0, 0).length == 31 * DAY
    True
    >>> window_of("", 0, 30 * 60 * 1_000_000).name, window_of("", 0, 2 * HOUR).name
    ('hour', 'day')
    """
    named = (window for window in WINDOWS if window.name == name)
    hour, day, *_ = WINDOWS
    return next(named, hour if now - oldest <= HOUR else day)


@final
class Samples:
    """Samples of this process: those of the last hour.

    Attributes:
        kept: The last one that the store keeps; None before there is one.
    """

    def __init__(self) -> None:
        self._samples: deque[Sample] = deque(maxlen=CAPACITY)
        self.kept: Sample | None = None

    def __iter__(self) -> Iterator[Sample]:
        """Iterate over the samples, the oldest first."""
        return iter(self._samples)

    def __len__(self) -> int:
        return len(self._samples)

    @property
    def newest(self) -> Sample | None:
        """The newest sample; None without any."""
        return self._samples[-1] if self._samples else None

    def add(self, sample: Sample) -> None:
        """Add a sample that is newer than all others."""
        self._samples.append(sample)

    def within(self, window: Window, now: int) -> list[Sample]:
        """Return the samples to draw in a window: all, or the last one kept and the newest."""
        if window.is_fine:
            recent = [one for one in self._samples if one.at >= now - window.length]
            return recent or list(self._samples)[-1:]
        ends = [self.kept, self.newest] if self.kept is not self.newest else [self.newest]
        return [sample for sample in ends if sample is not None]


#: Time in seconds, freshness in percent, visits so far that found a change, none, or no page, and
#: pages that are due.
Row = list[float | None]


def row_of(sample: Sample) -> Row:
    """Return a sample as charts have it."""
    return _row(sample.at, sample.freshness, sample.counts, sample.due)


def rows_of(kept: Sequence[KeptSample], live: Sequence[Sample], span: Span) -> list[Row]:
    """Return kept samples, and after them those of this process, as charts have them.

    Visits are counted back from those of this process: before it, their number is below zero.

    Args:
        kept: Samples that the store keeps, the oldest first.
        live: Samples of this process, the oldest first, of which there is one at least.
        span: What a kept sample stands for.
    """
    rows = [row_of(sample) for sample in live[::-1]]
    first, counts, later = live[0].at, live[0].counts, live[0].at
    for one in reversed(kept):
        if one.at < first:
            if later - one.at > MAX_MISSING * span.microseconds:
                # Nothing is known about the time in which the process did not run.
                rows.append(_row(one.at + span.microseconds, None, counts, None))
            rows.append(_row(one.at, one.freshness, counts, one.due))
            later = one.at
        if one.at <= first:
            changed, unchanged, failed = counts
            counts = changed - one.changed, unchanged - one.unchanged, failed - one.failed
    return rows[::-1]


def _row(at: int, freshness: float | None, counts: Iterable[int], due: int | None) -> Row:
    return [at / 1e6, None if freshness is None else round(100 * freshness, 3), *counts, due]

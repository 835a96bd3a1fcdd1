"""Simulated worlds: when pages change, drawn from a model or recorded."""

import os
from dataclasses import dataclass, replace
from datetime import datetime

import numpy as np
from numpy.typing import ArrayLike, NDArray

from recrawl.errors import ArgumentError
from recrawl.kernels.jit import Floats, Ints, read_only
from recrawl.quantities import duration, number
from recrawl.simulation import models, recorded
from recrawl.simulation.signals import Signals, draw_signals


@dataclass(frozen=True, eq=False)
class World:
    """When a set of pages changes during a window of time; times are days since its start.

    Attributes:
        days: The length of the window.
        starts: Page i changes at ``change[starts[i] : starts[i + 1]]``.
        change: Times in (0, days], each page's in order.
        importance: One number per page.
        change_rate: The true mean change rate: the model's, or a recorded page's changes / days.
        host: Each page's host, numbered from 0.
        section: Each page's section, numbered from 0; pages of a section may change together.
        signals: When pages are signalled to have changed, if at all.
        left_out: How many pages of a trace are not among these, and why.
    """

    days: float
    starts: Ints
    change: Floats
    importance: Floats
    change_rate: Floats
    host: Ints
    section: Ints
    signals: Signals | None = None
    left_out: recorded.LeftOut = recorded.NONE_LEFT_OUT

    def __post_init__(self) -> None:
        _check(self)
        for name in ("starts", "change", "importance", "change_rate", "host", "section"):
            object.__setattr__(self, name, read_only(np.ascontiguousarray(getattr(self, name))))

    @property
    def pages(self) -> int:
        """The number of pages."""
        return self.importance.size

    @classmethod
    def poisson(
        cls,
        change_rate: ArrayLike,
        *,
        days: float,
        importance: ArrayLike | None = None,
        host: ArrayLike | None = None,
        section: ArrayLike | None = None,
        seed: int = 0,
    ) -> "World":
        """Draw pages that change as Poisson processes, the model that estimators assume.

        Args:
            change_rate: Changes per day, one number per page.
            days: The length of the window.
            importance: 1 for every page by default.
            host: Each page's host, numbered from 0; by default all are on one host.
            section: Each page's section, numbered from 0; by default each page is its own.
            seed: The same seed gives the same world.

        >>> world = World.poisson([1.0, 0.0, 2.0], days=100.0, seed=1)
        >>> np.diff(world.starts)
        array([100,   0, 192])
        """
        rate = models.checked_rates(change_rate)
        drawn = models.poisson(rate, models.checked_days(days), np.random.default_rng(seed))
        return cls._of(drawn, rate, days, importance, host, section)

    @classmethod
    def bursty(
        cls,
        change_rate: ArrayLike,
        *,
        days: float,
        burst: float = 5.0,
        importance: ArrayLike | None = None,
        host: ArrayLike | None = None,
        section: ArrayLike | None = None,
        seed: int = 0,
    ) -> "World":
        """Draw pages whose changes come in bursts, at the same mean rate (Bartlett and Lewis).

        Bursts begin as a Poisson process of rate Δ/burst. Each has a geometric number of changes,
        ``burst`` on average: one at its start, and each further one an exponential time after the
        one before, a twentieth of 1/Δ on average. ``burst=1`` is the Poisson world.
        """
        rate = models.checked_rates(change_rate)
        burst = number("burst", burst)
        if not 1.0 <= burst < np.inf:
            raise ArgumentError(f"burst: {burst} is not a number of changes; it must be at least 1")
        rng = np.random.default_rng(seed)
        drawn = models.bursty(rate, models.checked_days(days), burst, rng)
        return cls._of(drawn, rate, days, importance, host, section)

    @classmethod
    def drifting(
        cls,
        change_rate: ArrayLike,
        *,
        days: float,
        half_life: float = 90.0,
        importance: ArrayLike | None = None,
        host: ArrayLike | None = None,
        section: ArrayLike | None = None,
        seed: int = 0,
    ) -> "World":
        """Draw pages whose change rate drifts around its mean.

        The logarithm of a page's rate is an Ornstein–Uhlenbeck process with standard deviation 1,
        half of which is forgotten in ``half_life`` days. It is constant for a tenth of a half-life
        at a time, during which changes are Poisson; the mean rate is ``change_rate``.
        """
        rate = models.checked_rates(change_rate)
        half_life = duration("half_life", half_life)
        if not 0.0 < half_life < np.inf:
            raise ArgumentError(f"half_life: {half_life} is not a positive number of days")
        rng = np.random.default_rng(seed)
        drawn = models.drifting(rate, models.checked_days(days), half_life, rng)
        return cls._of(drawn, rate, days, importance, host, section)

    @classmethod
    def from_trace(
        cls,
        path: str | os.PathLike[str],
        *,
        start: datetime | str | None = None,
        end: datetime | str | None = None,
        min_share: float = recorded.MIN_SHARE,
        ignore_unknown: bool = False,
    ) -> "World":
        """Read the changes of a trace's pages that existed throughout the window.

        Args:
            path: The trace's folder.
            start: When the window starts, an aware time or ISO 8601; by default when a quarter of
                all changes have happened.
            end: When it ends; by default at the last change.
            min_share: The minimum share of pages that existed throughout the window, among those
                that existed during any of it.
            ignore_unknown: Skip unknown columns instead of rejecting them.

        Pages without a change in the window are kept. Pages named by URLs are numbered by host; all
        others share one host.

        Raises:
            InputError: The trace cannot be read.
            ArgumentError: The window is empty, or too few pages existed throughout it.
        """
        kept = recorded.read(path, start, end, min_share=min_share, ignore_unknown=ignore_unknown)
        rate = np.diff(kept.changes.starts) / kept.days
        made = cls._of(kept.changes, rate, kept.days, kept.importance, kept.host, kept.section)
        return replace(made, left_out=kept.left_out)

    def with_signals(self, precision: ArrayLike, recall: ArrayLike, *, seed: int = 0) -> "World":
        """Return the same world with signals that pages have changed, right ones and wrong ones.

        Args:
            precision: The share of a page's signals that are right, one number or one per page.
            recall: The share of its changes that are signalled, one number or one per page.
            seed: The same seed gives the same signals.

        >>> world = World.poisson([1.0, 0.5], days=100.0).with_signals(0.5, [1.0, 0.0])
        >>> int(world.starts[1]), world.signals.time.size
        (104, 192)
        """
        drawn = draw_signals(
            self.starts, self.change, self.change_rate, self.days, precision, recall, seed
        )
        return replace(self, signals=drawn)

    def reordered(self, page: Ints) -> "World":
        """Return a world with the same pages in another order, which breaks ties differently."""
        signals = self.signals
        if signals is not None:
            starts, time = _gathered(signals.starts, signals.time, page)
            signals = Signals(starts, time, signals.precision[page], signals.recall[page])
        starts, change = _gathered(self.starts, self.change, page)
        named = ("importance", "change_rate", "host", "section")
        columns = {name: getattr(self, name)[page] for name in named}
        return World(self.days, starts, change, **columns, signals=signals)

    @classmethod
    def _of(
        cls,
        changes: models.Changes,
        change_rate: Floats,
        days: float,
        importance: ArrayLike | None,
        host: ArrayLike | None,
        section: ArrayLike | None,
    ) -> "World":
        pages = change_rate.size
        weight = np.ones(pages) if importance is None else np.asarray(importance, np.float64)
        return cls(
            models.checked_days(days),
            changes.starts,
            changes.change,
            weight,
            change_rate,
            np.zeros(pages, np.int64) if host is None else _numbers("host", host),
            np.arange(pages) if section is None else _numbers("section", section),
        )


def _gathered(starts: Ints, values: Floats, page: Ints) -> tuple[Ints, Floats]:
    """Return the values of some pages, in their order."""
    count = np.diff(starts)[page]
    ends = np.cumsum(count)
    row = np.arange(ends[-1]) + np.repeat(starts[page] - (ends - count), count)
    return np.concatenate([[0], ends]), values[row]


def _numbers(name: str, values: ArrayLike) -> Ints:
    raw: NDArray[np.generic] = np.asarray(values)
    if raw.dtype.kind not in "iu" or (raw.size and int(raw.min()) < 0):
        raise ArgumentError(f"{name}: expected whole numbers from 0, one per page")
    return raw.astype(np.int64)


def _check(world: World) -> None:
    """Raise `ArgumentError` if a world is inconsistent."""
    models.checked_days(world.days)
    pages = world.importance.size
    for name in ("importance", "change_rate", "host", "section"):
        shape = getattr(world, name).shape
        if shape != (pages,):
            raise ArgumentError(
                f"{name}: has shape {shape}; expected {pages} numbers, one per page"
            )
    if not ((world.importance >= 0) & (world.importance < np.inf)).all() or not (
        0.0 < world.importance.sum() < np.inf
    ):
        raise ArgumentError("importance: expected numbers from 0 up, one of them above 0")
    starts, change = world.starts, world.change
    if starts.shape != (pages + 1,) or starts[0] != 0 or (np.diff(starts) < 0).any():
        raise ArgumentError(f"starts: expected {pages + 1} numbers in order, the first of them 0")
    if starts[-1] != change.size:
        raise ArgumentError(f"starts: ends at {starts[-1]}, but there are {change.size} changes")
    if not ((change > 0.0) & (change <= world.days)).all():
        raise ArgumentError(f"change: times must be above 0 and at most {world.days} days")
    later = np.diff(change) >= 0.0
    first_of_page = starts[1:-1][(starts[1:-1] > 0) & (starts[1:-1] < change.size)]
    later[first_of_page - 1] = True
    if not later.all():
        raise ArgumentError("change: each page's times must be in order")
    _check_signals(world)


def _check_signals(world: World) -> None:
    signals, pages = world.signals, world.importance.size
    if signals is None:
        return
    sizes = (signals.starts.size - 1, signals.precision.size, signals.recall.size)
    if sizes != (pages, pages, pages) or signals.starts[-1] != signals.time.size:
        raise ArgumentError(f"signals: expected those of {pages} pages")
    if not ((signals.time > 0.0) & (signals.time <= world.days)).all():
        raise ArgumentError(f"signals: times must be above 0 and at most {world.days} days")

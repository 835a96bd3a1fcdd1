"""Signals of a simulated world that pages have changed, right or wrong."""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from recrawl.errors import ArgumentError
from recrawl.kernels.jit import Floats, Ints
from recrawl.quantities import numbers
from recrawl.simulation.models import in_order

#: The kind of signals in a simulated world.
KIND = "sitemap"


class Signals(NamedTuple):
    """When pages are signalled: page i at ``time[starts[i] : starts[i + 1]]``, in order.

    Attributes:
        starts: Where each page's signals start.
        time: Times in (0, days].
        precision: The share of each page's signals that are right.
        recall: The share of its changes that are signalled.
    """

    starts: Ints
    time: Floats
    precision: Floats
    recall: Floats


def draw_signals(
    starts: Ints,
    change: Floats,
    change_rate: Floats,
    days: float,
    precision: ArrayLike,
    recall: ArrayLike,
    seed: int,
) -> Signals:
    """Signal each change with a probability, and add wrong signals as a Poisson process.

    A page with change rate Δ, precision π and recall λ has wrong signals at rate λΔ(1 − π)/π, so
    that a share π of its signals is right. They come at the very times of the changes.
    """
    pages = change_rate.size
    right, heard = (
        shares(name, value, pages) for name, value in (("precision", precision), ("recall", recall))
    )
    if ((right == 0.0) & (heard > 0.0)).any():
        raise ArgumentError(
            "precision: 0 is impossible where changes are signalled; use a number above 0"
        )
    rng = np.random.default_rng((seed, 1))
    page = np.repeat(np.arange(pages), np.diff(starts))
    signalled = rng.random(page.size) < heard[page]
    wrong = np.divide(
        heard * change_rate * (1.0 - right), right, out=np.zeros(pages), where=right > 0
    )
    noise = np.repeat(np.arange(pages), rng.poisson(wrong * days))
    time = np.concatenate([change[signalled], days * (1.0 - rng.random(noise.size))])
    ordered = in_order(np.concatenate([page[signalled], noise]), time, pages)
    return Signals(ordered.starts, ordered.change, right, heard)


def shares(name: str, value: ArrayLike, pages: int) -> Floats:
    """Return one probability per page, or raise `ArgumentError`."""
    given = numbers(name, value)
    if given.shape not in ((), (pages,)):
        raise ArgumentError(
            f"{name}: has shape {given.shape}; expected one number, or one per page"
        )
    if not ((given >= 0.0) & (given <= 1.0)).all():
        raise ArgumentError(f"{name}: expected numbers from 0 to 1")
    return np.array(np.broadcast_to(given, pages), np.float64)


class SignalQueue:
    """Returns signals in order of time."""

    def __init__(self, signals: Signals) -> None:
        page = np.repeat(np.arange(signals.starts.size - 1), np.diff(signals.starts))
        order = np.argsort(signals.time, kind="stable")
        self._page, self._time = page[order], signals.time[order]
        self._next = 0

    def until(self, now: float) -> Ints:
        """Return the pages signalled since the last call, once per signal."""
        end = int(np.searchsorted(self._time, now, side="right"))
        first, self._next = self._next, end
        return self._page[first:end]

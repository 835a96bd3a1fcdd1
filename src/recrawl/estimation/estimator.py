"""The estimator interface: a fold over observations, with settings separate from state."""

from operator import index
from typing import Any, ClassVar, Protocol, TypeVar, runtime_checkable

from recrawl.errors import ArgumentError
from recrawl.estimation.observations import Observations
from recrawl.kernels.jit import Floats, Ints
from recrawl.quantities import number

#: The upper end of an interval without data: the largest float, as results are finite.
ANYTHING = 1.7976931348623157e308


class State(Protocol):
    """A tuple of arrays with one element per page, ``visits`` among them."""

    @property
    def visits(self) -> Ints:
        """How many observations each page has."""
        ...


S = TypeVar("S", bound=State)


@runtime_checkable
class Estimator(Protocol[S]):
    """An estimator has ``start``, ``update`` and ``rate``; ``interval`` gives the uncertainty.

    The object is immutable and holds settings only. The state is a `typing.NamedTuple` of arrays
    with one element per page; ``update`` returns a new one and does not modify its arguments.
    """

    #: Incremented when the meaning of the state's columns changes, so that old files are refused.
    state_version: ClassVar[int]

    def start(self, pages: int) -> S:
        """Return the state of pages without observations."""
        ...

    def update(self, state: S, observations: Observations) -> S:
        """Return the state after these observations."""
        ...

    def rate(self, state: S) -> Floats:
        """Return each page's change rate, finite and never negative."""
        ...

    def interval(self, state: S, level: float = 0.95) -> tuple[Floats, Floats]:
        """Return the ends of an interval that contains the rate with probability ``level``."""
        ...


def copied(state: S) -> S:
    """Return a copy of a state that may be changed in place."""
    columns: Any = state
    return type(state)(*(column.copy() for column in columns))


def normal_quantile(level: float) -> float:
    """Return z such that ± z standard deviations contain ``level`` of a normal distribution.

    >>> round(normal_quantile(0.95), 3)
    1.96
    """
    from scipy import special

    return float(special.ndtri(0.5 + 0.5 * checked_level(level)))


def checked_level(level: float) -> float:
    """Return the level, or raise `ArgumentError`."""
    share = number("level", level)
    if not 0.0 < share < 1.0:
        raise ArgumentError(f"level: {level} is not between 0 and 1; 0.95 is usual")
    return share


def checked_pages(pages: int) -> int:
    """Return the number of pages, or raise `ArgumentError`."""
    try:
        count = index(pages)
    except TypeError:
        raise ArgumentError(f"pages: {pages!r} is not a whole number") from None
    if count < 0:
        raise ArgumentError(f"pages: {count} is negative")
    return count

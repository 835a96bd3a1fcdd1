"""What every estimator is: a fold over observations, with its settings apart from its state."""

from typing import Any, ClassVar, Protocol, TypeVar, runtime_checkable

from scipy import special

from recrawl.errors import ArgumentError
from recrawl.estimation.observations import Observations
from recrawl.kernels.jit import Floats, Ints

#: The end of an interval about which nothing is known: finite, as every number here is.
ANYTHING = 1.7976931348623157e308


class State(Protocol):
    """A tuple of columns with one element a page, ``visits`` among them."""

    @property
    def visits(self) -> Ints:
        """How many observations each page has."""
        ...


S = TypeVar("S", bound=State)


@runtime_checkable
class Estimator(Protocol[S]):
    """Three steps make an estimator: ``start``, ``update``, ``rate``; ``interval`` says how sure.

    The object holds settings only and never changes. The state is a `typing.NamedTuple` of arrays,
    one element a page; ``update`` returns a new one and leaves its arguments as they were.
    """

    #: Raised when the meaning of the state's columns changes, so that old files are recognised.
    state_version: ClassVar[int]

    def start(self, pages: int) -> S:
        """Give the state of pages that nothing is known about."""
        ...

    def update(self, state: S, observations: Observations) -> S:
        """Give the state after these observations."""
        ...

    def rate(self, state: S) -> Floats:
        """Give each page's change rate; finite and never negative."""
        ...

    def interval(self, state: S, level: float = 0.95) -> tuple[Floats, Floats]:
        """Give the ends of an interval that holds the change rate with probability ``level``."""
        ...


def copied(state: S) -> S:
    """Give a state of its own columns, to be changed in place."""
    columns: Any = state
    return type(state)(*(column.copy() for column in columns))


def normal_quantile(level: float) -> float:
    """Give how many standard deviations either side hold ``level`` of a normal distribution.

    >>> round(normal_quantile(0.95), 3)
    1.96
    """
    return float(special.ndtri(0.5 + 0.5 * checked_level(level)))


def checked_level(level: float) -> float:
    """Give the level back, or say what is wrong with it."""
    if not 0.0 < level < 1.0:
        raise ArgumentError(f"level: {level} is not between 0 and 1; 0.95 is usual")
    return level


def checked_pages(pages: int) -> int:
    """Give the number of pages back, or say what is wrong with it."""
    if pages < 0:
        raise ArgumentError(f"pages: {pages} is negative")
    return pages

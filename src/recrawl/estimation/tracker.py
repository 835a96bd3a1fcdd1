"""Track one page, visit by visit."""

from typing import Generic

from recrawl.estimation.estimator import Estimator, S
from recrawl.estimation.observations import Observations


class Tracker(Generic[S]):
    """Tracks one page's change rate as visits come in.

    >>> from recrawl import GammaFilter
    >>> page = Tracker(GammaFilter())
    >>> page.observe(changed=True, elapsed=2.0)
    >>> page
    Tracker(GammaFilter, 1 visit, 0.955 changes per day)
    >>> page.observe(changed=False, elapsed=1.0)
    >>> page
    Tracker(GammaFilter, 2 visits, 0.602 changes per day)
    """

    def __init__(self, estimator: Estimator[S]) -> None:
        self.estimator = estimator
        self.state: S = estimator.start(1)

    def observe(
        self,
        changed: bool,  # noqa: FBT001
        elapsed: float,
        *,
        crawl_rate: float | None = None,
        age: float | None = None,
    ) -> None:
        """Record a visit ``elapsed`` days after the previous one.

        Args:
            changed: Whether the page had changed since the previous visit.
            elapsed: Days since the previous visit.
            crawl_rate: Visits per day in force during the gap, if known.
            age: Days since the page last changed, if its server dates it.
        """
        seen = Observations.of([elapsed], [changed], crawl_rate=crawl_rate, age=age)
        self.state = self.estimator.update(self.state, seen)

    def __repr__(self) -> str:
        name = type(self.estimator).__name__
        visits = f"{self.visits} {'visit' if self.visits == 1 else 'visits'}"
        return f"Tracker({name}, {visits}, {self.rate:.3g} changes per day)"

    @property
    def visits(self) -> int:
        """The number of observations."""
        return int(self.state.visits[0])

    @property
    def rate(self) -> float:
        """The change rate, in changes per day."""
        return float(self.estimator.rate(self.state)[0])

    def interval(self, level: float = 0.95) -> tuple[float, float]:
        """Return the ends of the estimator's interval."""
        low, high = self.estimator.interval(self.state, level)
        return float(low[0]), float(high[0])

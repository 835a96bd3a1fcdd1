"""How well a policy performed."""

from dataclasses import dataclass

from recrawl.kernels.jit import Floats, Ints
from recrawl.simulation.calibration import Calibration


@dataclass(frozen=True, eq=False)
class Score:
    """How fresh a policy kept the copy, and what it spent.

    Attributes:
        policy: The policy's name.
        staleness: The share of time during which copies were stale, weighted by importance.
        mean_age: Days since the first change not yet seen by a visit, 0 while a copy is fresh;
            averaged over time and weighted by importance.
        visits: The number of visits.
        budget_used: Visits, as a share of budget · days.
        wasted: The share of visits that found no change; 0 without visits.
        busiest_day: The most visits in a day, as a share of the budget. Only whole days since the
            start of the window count; a window shorter than a day counts as one.
        quietest_day: The fewest visits in a day, as a share of the budget.
        host_visits: Visits to each host.
        curve: Staleness in each of a hundred equal slices of the window.
        calibration: Predicted and actual frequency of changes, for policies that make predictions.
    """

    policy: str
    staleness: float
    mean_age: float
    visits: int
    budget_used: float
    wasted: float
    busiest_day: float
    quietest_day: float
    host_visits: Ints
    curve: Floats
    calibration: Calibration | None = None

    @property
    def freshness(self) -> float:
        """The share of time during which copies were fresh, weighted by importance."""
        return 1.0 - self.staleness

    def as_dict(self) -> dict[str, str | int | float]:
        """Return the numbers by name, in reading order, without curves and hosts."""
        return {
            "policy": self.policy,
            "staleness": self.staleness,
            "freshness": self.freshness,
            "mean_age": self.mean_age,
            "visits": self.visits,
            "budget_used": self.budget_used,
            "wasted": self.wasted,
            "busiest_day": self.busiest_day,
            "quietest_day": self.quietest_day,
        }

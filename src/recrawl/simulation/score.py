"""How well a policy did."""

from dataclasses import dataclass

from recrawl.kernels.jit import Floats, Ints


@dataclass(frozen=True, eq=False)
class Score:
    """How fresh a policy kept the copy, and what it spent.

    Attributes:
        policy: Its name.
        staleness: The share of time that copies were stale, weighted by importance.
        mean_age: Days since the first change that no visit has seen, 0 while a copy is fresh;
            averaged over time and weighted by importance.
        visits: How many there were.
        budget_used: Visits, as a share of budget · days.
        wasted: The share of visits that found nothing new; 0 if there were none.
        busiest_day: Most visits in a day, as a share of the budget. A day is the first, the second
            and so on of the window, as long as they are whole; a shorter window is one.
        quietest_day: Fewest, likewise.
        host_visits: Visits to each host.
        curve: Staleness in each of a hundred equal slices of the window.
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

    @property
    def freshness(self) -> float:
        """The share of time that copies were fresh, weighted by importance."""
        return 1.0 - self.staleness

    def as_dict(self) -> dict[str, str | int | float]:
        """Give the numbers by name, in the order people read them; curve and hosts stay here."""
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

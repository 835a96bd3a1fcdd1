"""What a policy is: it says which pages to visit now, and is told what the visits found."""

from dataclasses import dataclass
from typing import Protocol

from recrawl.kernels.jit import Bools, Floats, Ints


@dataclass(frozen=True, eq=False)
class Pages:
    """What a policy is told about the pages before it starts.

    Attributes:
        importance: One number a page.
        host: Each page's host, numbered from 0.
        section: Each page's section, numbered from 0.
        true_rate: The true mean change rates, for a policy that says it knows them; NaN for others.
        days: How long the policy will run, for those that plan ahead.
    """

    importance: Floats
    host: Ints
    section: Ints
    true_rate: Floats
    days: float

    @property
    def count(self) -> int:
        """How many pages there are."""
        return self.importance.size


class Run(Protocol):
    """A policy at work. Every page was visited at time 0, and its copy was fresh then."""

    def take(self, now: float, limit: int) -> Ints:
        """Give the pages to visit now, none of them twice; at most ``limit`` to keep a budget."""
        ...

    def report(self, page: Ints, now: float, changed: Bools) -> None:
        """Hear what the visits that were taken found."""
        ...


class Policy(Protocol):
    """A rule to decide by; it holds settings only, and a `Run` holds the rest."""

    @property
    def name(self) -> str:
        """What it is called in tables."""
        ...

    @property
    def keeps_budget(self) -> bool:
        """Whether it obeys the limit; if not, it spends what it spends."""
        ...

    @property
    def knows_rates(self) -> bool:
        """Whether it is told the true change rates, which nobody knows in life."""
        ...

    def start(self, pages: Pages, budget: float, *, tick: float, seed: int) -> Run:
        """Begin at time 0; the policy will be asked every ``tick`` days."""
        ...

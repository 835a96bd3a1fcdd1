"""A rule that keeps no budget, slowed down or sped up until it spends just that."""

from dataclasses import dataclass
from typing import final

from recrawl.errors import ArgumentError
from recrawl.kernels.jit import Bools, Ints
from recrawl.simulation.policy import Pages, Policy, Run


@final
@dataclass(frozen=True)
class Scaled:
    """A rule with all its intervals multiplied by one number, first, least and longest included.

    The rule does not notice: it lives by a clock that runs slow by that number. `replay` finds the
    number with which the rule's visits come within one percent of the budget, unless it is given.
    A rule with few pages and coarse steps may have none; then it is the nearest found.
    """

    rule: Policy
    stretch: float | None = None

    def __post_init__(self) -> None:
        if self.rule.keeps_budget:
            raise ArgumentError(f"rule: '{self.rule.name}' keeps its budget; nothing is to scale")
        if self.stretch is not None and not 0.0 < self.stretch < float("inf"):
            raise ArgumentError(f"stretch: {self.stretch} is not a positive number")

    @property
    def name(self) -> str:
        """The rule's name, and that it is scaled."""
        return f"{self.rule.name}-scaled"

    @property
    def keeps_budget(self) -> bool:
        """No: it is met by the search, not by obeying."""
        return False

    @property
    def knows_rates(self) -> bool:
        """As the rule."""
        return self.rule.knows_rates

    def start(self, pages: Pages, budget: float, *, tick: float, seed: int) -> Run:
        """Start the rule on the slow clock."""
        stretch = self.stretch or 1.0
        slowed = Pages(
            pages.importance,
            pages.host,
            pages.section,
            pages.true_rate * stretch,
            pages.days / stretch,
        )
        run = self.rule.start(slowed, budget * stretch, tick=tick / stretch, seed=seed)
        return _Slowed(run, stretch)


class _Slowed:
    def __init__(self, run: Run, stretch: float) -> None:
        self._run = run
        self._stretch = stretch

    def take(self, now: float, limit: int) -> Ints:
        return self._run.take(now / self._stretch, limit)

    def report(self, page: Ints, now: float, changed: Bools) -> None:
        self._run.report(page, now / self._stretch, changed)

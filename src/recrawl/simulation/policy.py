"""The interface of a policy: it picks the pages to visit now and learns what the visits found."""

from dataclasses import dataclass, replace
from typing import NamedTuple, Protocol, final, runtime_checkable

from recrawl.errors import ArgumentError
from recrawl.kernels.jit import Bools, Floats, Ints


class TrueSignals(NamedTuple):
    """How good the signals of each page are.

    Attributes:
        precision: The share of its signals that are right.
        recall: The share of its changes that are signalled.
    """

    precision: Floats
    recall: Floats


@dataclass(frozen=True, eq=False)
class PageSet:
    """What a policy knows about the pages before it starts.

    Attributes:
        importance: One number per page.
        host: Each page's host, numbered from 0.
        section: Each page's section, numbered from 0.
        true_rate: The true mean change rates if the policy `knows_rates`, else NaN.
        days: How long the policy will run, for policies that plan ahead.
        true_signals: How good signals are if the policy `knows_rates` and there are any, else None.
    """

    importance: Floats
    host: Ints
    section: Ints
    true_rate: Floats
    days: float
    true_signals: TrueSignals | None = None

    @property
    def count(self) -> int:
        """The number of pages."""
        return self.importance.size


class Run(Protocol):
    """A running policy. Every page was visited at time 0, and its copy was fresh then."""

    def take(self, now: float, limit: int) -> Ints:
        """Return the pages to visit now, each at most once; at most ``limit`` to keep a budget."""
        ...

    def report(self, page: Ints, now: float, changed: Bools) -> None:
        """Learn what the visits just taken found."""
        ...


@runtime_checkable
class UsesSignals(Protocol):
    """A `Run` that uses signals; others do not receive any."""

    def signal(self, page: Ints, now: float, kind: str) -> None:
        """Receive signals that pages have changed, before `Run.take` at the same time.

        Args:
            page: The pages, once per signal.
            now: The present; the signals are not older than the previous tick.
            kind: Where they come from, such as "sitemap".
        """
        ...


@runtime_checkable
class Predicts(Protocol):
    """A `Run` that predicts changes, so that its calibration can be measured."""

    def chance(self, page: Ints, now: float) -> Floats:
        """Return the chance that each page just taken has changed, before it is reported."""
        ...


class Policy(Protocol):
    """A rule that decides which pages to visit: settings only, while a `Run` holds the state."""

    @property
    def name(self) -> str:
        """Its name in tables."""
        ...

    @property
    def keeps_budget(self) -> bool:
        """Whether it obeys the limit; if not, it visits whatever its rule says."""
        ...

    @property
    def knows_rates(self) -> bool:
        """Whether it is given the true change rates, which nobody knows in practice."""
        ...

    def start(self, pages: PageSet, budget: float, *, tick: float, seed: int) -> Run:
        """Start at time 0; `Run.take` will be called every ``tick`` days."""
        ...


@final
@dataclass(frozen=True)
class Scaled:
    """A rule with all its intervals (first, shortest and longest included) multiplied by a factor.

    The rule itself is unchanged; its clock runs slow by that factor. Unless the factor is given,
    `replay` searches for the one with which the visits come within one percent of the budget. For
    few pages and coarse steps there may be none; then the closest one found is used.
    """

    rule: Policy
    stretch: float | None = None

    def __post_init__(self) -> None:
        if self.rule.keeps_budget:
            raise ArgumentError(
                f"rule: '{self.rule.name}' keeps its budget; there is nothing to scale"
            )
        if self.stretch is not None and not 0.0 < self.stretch < float("inf"):
            raise ArgumentError(f"stretch: {self.stretch} is not a positive number")

    @property
    def name(self) -> str:
        """The rule's name with "-scaled" appended."""
        return f"{self.rule.name}-scaled"

    @property
    def keeps_budget(self) -> bool:
        """False: the budget is met by the search, not by obeying a limit."""
        return False

    @property
    def knows_rates(self) -> bool:
        """Whether the rule does."""
        return self.rule.knows_rates

    def start(self, pages: PageSet, budget: float, *, tick: float, seed: int) -> Run:
        """Start the rule on the slow clock."""
        stretch = self.stretch or 1.0
        slowed = replace(pages, true_rate=pages.true_rate * stretch, days=pages.days / stretch)
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

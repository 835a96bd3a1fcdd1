"""Why a page is visited when it is: what is believed about it, what a visit is worth and costs.

How often a page changes, and how likely its copy is stale, is what `recrawl.estimation.shown.rates`
says. What a visit is worth follows from what the scheduler believes, which is more cautious, and of
which the store has the Gamma distribution with the same mean and variance. A run uses the belief
itself, weights on change rates, so its visits may come earlier or later.
Evidence that only a run has, such as sitemaps and changes of neighbours, may bring a visit forward;
host delays may postpone it.
"""

import math
from dataclasses import dataclass
from typing import final

import numpy as np

from recrawl.config.intervals import Intervals
from recrawl.content.absence import OUTAGE
from recrawl.estimation.shown.rates import HIGH, LOW
from recrawl.records import DISALLOWED, MICROSECONDS_A_DAY, RESTING, Page, State
from recrawl.scheduling.value import days_until_due, value_of_belief
from recrawl.store.rows import Belief
from recrawl.units import format_duration, format_rate, format_worth

#: An interval whose ends differ by more than this factor says nothing.
WIDE = 1_000.0
#: The store's name for what a visit must be worth, importance times days.
PRICE = "price"
#: The store's name for the requests per day of the present or the last run.
BUDGET = "budget"


@final
@dataclass(frozen=True)
class Price:
    """What a visit must be worth.

    Attributes:
        value: Importance times days.
        is_now: Whether a run is active; otherwise it is the last run's price.
    """

    value: float
    is_now: bool


@final
@dataclass(frozen=True)
class Explanation:
    """What is believed about a page, and when a visit to it is worth its price.

    Attributes:
        page: The page.
        now: The present, in microseconds.
        price: What a visit must be worth; None before the first run.
        elapsed: Days since the last successful visit; None without one.
        change_rate: Changes per day; None where nothing is believed yet.
        low: The lower end of the interval that it is in with a chance of 95 %.
        high: The upper end.
        stale: The chance that the copy is stale.
        value: What a visit now is worth, importance times days.
        visit_after: Days after which a visit is worth its price, infinity for never.
        limits: The minimum and maximum interval between two visits, in days.
        retry_at: The earliest retry of a page whose last visit failed, in microseconds; None for
            others.
        closed_until: When its host may be visited again, in microseconds; None if it may be now.
        error: Why its last visit failed; None if it did not, or if that is not known.
    """

    page: Page
    now: int
    price: Price | None
    elapsed: float | None = None
    change_rate: float | None = None
    low: float | None = None
    high: float | None = None
    stale: float | None = None
    value: float | None = None
    visit_after: float | None = None
    limits: tuple[float, float] = (0.0, math.inf)
    retry_at: int | None = None
    closed_until: int | None = None
    error: str | None = None

    @property
    def is_guess(self) -> bool:
        """Whether the belief comes from other pages alone: no two visits could be compared."""
        return is_guess(self.page.visits)

    @property
    def is_vague(self) -> bool:
        """Whether the interval is so wide that the change rate is not known yet."""
        return self.low is not None and self.high is not None and self.high > WIDE * self.low

    @property
    def crawl_rate(self) -> float | None:
        """Visits per day that the page gets at this price."""
        if self.page.state in RESTING:
            return 0.0
        return None if self.visit_after is None else _inverse(self._within(self.visit_after))

    @property
    def due(self) -> int | None:
        """When the next visit is, in microseconds; None for never or unknown."""
        wanted = self._wanted
        if wanted is None or self.closed_until is None:
            return wanted
        return max(wanted, self.closed_until)

    @property
    def _wanted(self) -> int | None:
        """When a visit is wanted, whatever its host asks for."""
        last, needed = self.page.last_visit, self.visit_after
        if self.page.state in RESTING:
            return self.page.retry_at
        is_missing = self.page.state is State.MISSING and self.retry_at is not None
        if last is None or is_missing:
            # A missing page is checked again whatever a visit is worth.
            return self.retry_at
        if needed is None or math.isinf(after := self._within(needed)):
            return None
        worth = last + round(after * MICROSECONDS_A_DAY)
        return worth if self.retry_at is None else max(worth, self.retry_at)

    def _within(self, after: float) -> float:
        """Apply the interval limits to the next visit; a page without importance has none."""
        return float(Intervals(*self.limits).applied(after, self.page.importance))

    def _limited(self) -> str:
        """Return how the interval settings affect the next visit, if at all."""
        needed = self.visit_after
        if needed is None or self._within(needed) == needed:
            return ""
        limit = format_duration(self._within(needed))
        if needed < self.limits[0]:
            if self._within(needed) <= (self.elapsed or 0.0):
                return ""
            return f"Because of min_interval, it is not visited within {limit} of the last visit."
        return f"Because of max_interval, it is visited no later than {limit} after the last visit."

    def why(self) -> str:
        """Explain in words when the page is visited next, and why.

        >>> from recrawl.estimation.shown.evidence import no_evidence
        >>> from recrawl.estimation.shown.rates import RatePrior, ShownRates
        >>> page = Page(0, "https://example.org/", "example.org", last_visit=0, visits=9)
        >>> now = round(3.2 * MICROSECONDS_A_DAY)
        >>> rates = ShownRates(no_evidence(1), RatePrior.world())
        >>> belief = Belief(6.0, 30.0, rates)
        >>> print(explain(page, belief, Price(2.4, is_now=True), now).why())
        The copy is 3.2 days old. How often the page changes is not known yet; going by its visits
        and by pages like it, the guess is every 61 days, so the probability that the copy is stale
        is 19 %. A visit is worth 15 h of freshness now, and the price of a visit is 2.4 days of
        freshness; it will be worth that in 5.4 days.
        """
        return " ".join(sentence for sentence in self._sentences() if sentence)

    def _sentences(self) -> list[str]:
        page = self.page
        if page.state in RESTING:
            return [self._rest(), f"`recrawl add {page.url}` has it visited again."]
        if page.last_visit is None:
            first = "There is no copy yet; it is made as soon as host and budget allow."
            return [self._trouble(), first, self._closed()]
        sentences = [self._trouble(), self._copy(), self._believed(), self._worth()]
        return [*sentences, self._limited(), self._closed()]

    def _closed(self) -> str:
        if self.closed_until is None or self.closed_until <= self.now:
            return ""
        ahead = format_duration((self.closed_until - self.now) / MICROSECONDS_A_DAY)
        return f"Its host is left alone for another {ahead}."

    def _rest(self) -> str:
        if self.page.state is State.REFUSED:
            reason = self.page.reason or "no reason was given"
            is_disallowed = self.page.reason == DISALLOWED
            when = "when robots.txt changes, or later" if is_disallowed else "later"
            return f"It is refused: {reason}. It is checked again {when}{self._next_look()}."
        often = "It was not found several times in a row and is no longer visited"
        return f"{often}, except for a check now and then{self._next_look()}."

    def _next_look(self) -> str:
        at = self.page.retry_at
        if at is None:
            return ""
        ahead = max(at - self.now, 0) / MICROSECONDS_A_DAY
        return (
            f", next in {format_duration(ahead)}" if ahead > 0.0 else ", next as soon as possible"
        )

    def _trouble(self) -> str:
        page = self.page
        if page.missing_since is not None and page.state is State.ALIVE and not self._is_mistaken:
            return (
                "It was not found, like most pages around it: this looks like an outage, so they "
                "do not count as gone."
            )
        if page.state is State.MISSING:
            when = "" if self.retry_at is None else f", the next of them {self._retry()},"
            return (
                f"It was not found at the last visit; further visits{when} will confirm whether it "
                "is gone."
            )
        if page.retry_at is not None and not page.failures:
            return "It was refused at the last visit, and is being checked again."
        why = f" ({self.error})" if self.error else ""
        if page.failures == 1:
            return f"The last visit failed{why}; it is retried {self._retry()}."
        if page.failures:
            times = f"The last {page.failures} visits failed{why}"
            return f"{times}; it is retried {self._retry()}, and each retry waits longer."
        return ""

    @property
    def _is_mistaken(self) -> bool:
        """Whether the last visit found something else than the page, which is no outage."""
        return self.error is not None and not self.error.startswith(OUTAGE)

    @property
    def _is_paused(self) -> bool:
        """Whether a failed visit is not retried yet."""
        return self.retry_at is not None and self.retry_at > self.now

    def _retry(self) -> str:
        if self.retry_at is None or not self._is_paused:
            return "soon"
        ahead = (self.retry_at - self.now) / MICROSECONDS_A_DAY
        return f"in {format_duration(ahead)} at the earliest"

    def _copy(self) -> str:
        return f"The copy is {format_duration(self.elapsed or 0.0)} old."

    def _believed(self) -> str:
        if self.change_rate is None or self.stale is None or self.low is None or self.high is None:
            return ""
        rate, chance = how_often(self.change_rate), percent_sign(self.stale)
        if self.is_guess:
            return (
                "It was visited only once; going by pages like it, the guess is that it changes "
                f"{rate}, so the probability that the copy is stale is {chance}."
            )
        if self.is_vague:
            return (
                "How often the page changes is not known yet; going by its visits and by pages "
                f"like it, the guess is {rate}, so the probability that the copy is stale is "
                f"{chance}."
            )
        ends = f"between {how_often(self.low)} and {how_often(self.high)}"
        return (
            f"The page changes {rate} (95 % sure: {ends}), "
            f"so the probability that the copy is stale is {chance}."
        )

    def _worth(self) -> str:
        if self.page.importance <= 0.0:
            return "Its importance is 0, so no visit is worth anything."
        if self.value is None:
            return ""
        if self.price is None or self.visit_after is None:
            return "The price of a visit is not known yet; `recrawl run` determines it."
        worth = f"A visit is worth {format_worth(self.value)} now"
        verb = "is" if self.price.is_now else "in the last run was"
        price = f"the price of a visit {verb} {format_worth(self.price.value)}"
        if math.isinf(self.visit_after):
            return (
                f"{worth}, and {price}. It changes too often for that: a copy would not stay fresh "
                "long enough, whenever it is visited, before some of what was learned is forgotten."
            )
        ahead = self.visit_after - (self.elapsed or 0.0)
        if ahead > 0.0:
            return f"{worth}, and {price}; it will be worth that in {format_duration(ahead)}."
        when = "due now" if self.price.is_now else "due as soon as `recrawl run` starts"
        is_held_back = self._within(self.visit_after) > (self.elapsed or 0.0) or self._is_paused
        return f"{worth}, and {price}: it is {'already worth that' if is_held_back else when}."


def explain(
    page: Page,
    belief: Belief | None,
    price: Price | None,
    now: int,
    limits: tuple[float, float] = (0.0, math.inf),
    retry_at: int | None = None,
    closed_until: int | None = None,
    error: str | None = None,
) -> Explanation:
    """Explain when a page is visited next.

    Args:
        page: The page.
        belief: What is believed about its change rate, if anything.
        price: What a visit must be worth, if known.
        now: The present, in microseconds.
        limits: The minimum and maximum interval between two visits, in days.
        retry_at: The earliest retry, in microseconds, if its last visit failed.
        closed_until: When its host may be visited again, in microseconds, if not now.
        error: Why its last visit failed, if it did.
    """
    if belief is None or page.last_visit is None:
        return Explanation(
            page, now, price, retry_at=retry_at, closed_until=closed_until, error=error
        )
    shape, time, rates = belief
    elapsed = max(now - page.last_visit, 0) / MICROSECONDS_A_DAY
    needed = None if price is None else days_until_due(page.importance, shape, time, price.value)
    return Explanation(
        page=page,
        now=now,
        price=price,
        elapsed=elapsed,
        change_rate=float(rates.typical[0]),
        low=float(rates.quantile(LOW)[0]),
        high=float(rates.quantile(HIGH)[0]),
        stale=1.0 - float(rates.fresh(np.array([elapsed]))[0]),
        value=page.importance * value_of_belief(shape, time, elapsed),
        visit_after=needed,
        limits=limits,
        retry_at=retry_at,
        closed_until=closed_until,
        error=error,
    )


def is_guess(visits: int) -> bool:
    """Whether a belief comes from other pages alone: no two visits could be compared."""
    return visits <= 1


def _inverse(days: float) -> float:
    return 1.0 / days if days > 0.0 else math.inf


def how_often(rate: float) -> str:
    """Describe a rate per day in words that can follow a verb.

    >>> how_often(3.2), how_often(0.2)
    ('3.2 times per day', 'every 5 days')
    """
    return format_rate(rate).replace(" per ", " times per ")


def percent_sign(share: float) -> str:
    """Return a probability in whole percent, but never 0 % or 100 %.

    >>> percent_sign(0.466), percent_sign(0.0001), percent_sign(0.9999)
    ('47 %', 'under 1 %', 'over 99 %')
    """
    if 0.0 < share <= 0.005:  # noqa: PLR2004 - what would be rounded to 0
        return "under 1 %"
    if 0.995 <= share < 1.0:  # noqa: PLR2004 - what would be rounded to 100
        return "over 99 %"
    return f"{100 * share:.0f} %"

"""The budget: how many visits it pays for by now, and how much may be saved for better times."""

import math
from dataclasses import dataclass
from typing import NamedTuple

from recrawl.errors import ArgumentError
from recrawl.scheduling import inputs
from recrawl.scheduling.state import Rows

#: This many days of budget may be saved by default, but never more than a share of the mean gap.
SLACK = 3.0
MAX_SLACK = 1 / 3
#: Days for which unspent budget is kept.
CATCH_UP = 0.25
#: The share of the budget for the first visits to discovered pages, and that of one host's.
NEW_SHARE, NEW_HOST_SHARE = 0.5, 0.05
#: With saved budget, this many times the budget of the time since the last take is spent at once.
MAX_BURST = 8.0
#: The price for saved budget follows spending over this many days at most, or half a mean gap; and
#: it pulls savings back to half of their maximum.
LONGEST_MEMORY = 14.0
CENTRING = 0.1
#: The maximum number of visits from the origin of time to now, as slots of time are numbered.
MAX_VISITS = 1e15
#: A visit that is paid for up to this rounding error counts as paid for.
ROUNDING = 1e-9


class Allowance(NamedTuple):
    """What may be taken now.

    Attributes:
        most: Visits that may be made.
        must: Visits to make whatever they are worth; for others, budget may be saved.
        since: Days since the last take, as far as unspent budget is kept.
    """

    most: int
    must: int
    since: float


@dataclass(slots=True)
class Budget:
    """The account that pays for visits. Time never runs backwards.

    Attributes:
        per_day: Visits per day.
        catch_up: Days for which unspent budget is kept.
        slack: Days of budget that may be saved.
        pages: The number of pages that share it.
        waiting: How many of them are discovered pages without a copy. They do not count in the mean
            time between visits: otherwise a host that lists many would change it for everyone.
        now: The present.
        taken_at: When pages were last taken.
        began: When time began.
        credit: Visits that are paid for and not made yet.
    """

    per_day: float
    catch_up: float
    slack: float
    pages: int = 0
    waiting: int = 0
    now: float = -math.inf
    taken_at: float = -math.inf
    began: float = -math.inf
    credit: float = 0.0

    @property
    def counted(self) -> int:
        """The number of pages that count in the mean time between visits; at least 1."""
        return max(self.pages - self.waiting, 1)

    @property
    def mean_gap(self) -> float:
        """The mean days between two visits to a page."""
        return self.counted / self.per_day

    @property
    def affordable_at(self) -> float:
        """When the budget pays for another visit; the present if it does now."""
        return self.now + max(1.0 - self.credit, 0.0) / self.per_day

    def pass_time(self, now: float) -> None:
        """Credit the time since the last call."""
        time = inputs.time("now", now)
        if abs(time) * self.per_day > MAX_VISITS:
            raise ArgumentError(f"now: {time} is too far from 0 for the budget; move the origin")
        if self.now == -math.inf:
            self.now = self.taken_at = self.began = time
        max_credit = self.per_day * self.catch_up + 1.0
        # A pause earns no more than this, however much may be saved.
        earned = min(self.per_day * max(time - self.now, 0.0), max_credit)
        self.credit = min(self.credit + earned, max_credit + self._savings())
        self.now = max(self.now, time)

    def allowance(self, limit: int) -> Allowance:
        """Return what may be taken now, ``limit`` visits at most."""
        since = min(self.now - self.taken_at, self.catch_up)
        savings, most = self._savings(), int(self.credit + ROUNDING)
        if savings > 0.0:
            at_once = MAX_BURST * self.per_day * since + 1.0
            most = min(most, int(max(at_once, self.credit - savings)))
        most = max(min(limit, most, self.pages), 0)
        must = min(max(int(self.credit - savings + ROUNDING), 0), most)
        return Allowance(most, must, since)

    def charge(self, visits: int) -> None:
        """Charge visits that are made now."""
        self.credit -= visits
        self.taken_at = self.now

    def move_saving_price(self, shared: Rows, taken: int) -> None:
        """Move the price for saved budget up if much was spent now, and down if little was."""
        price, savings = shared["saving_price"], self._savings()
        if savings <= 0.0:
            price[0] = 0.0
            return
        if price[0] == 0.0:
            price[0] = shared["price"][0]
        days = self.now - self.taken_at
        memory = max(self.mean_gap / 2.0, min(LONGEST_MEMORY, 4.0 * self.mean_gap))
        drift = (taken - self.per_day * days) / (self.per_day * memory)
        centre = CENTRING * days / memory * (self.credit / savings - 0.5)
        price[0] *= math.exp(min(max(drift - centre, -1.0), 1.0))

    def _savings(self) -> float:
        """Return how many visits may be saved; none in the first round, when all is unknown."""
        if self.now - self.began < self.mean_gap:
            return 0.0
        return self.per_day * min(self.slack, MAX_SLACK * self.mean_gap)

"""Query a frontier; this changes nothing but its time, which may advance."""

import math

import numpy as np
from numpy.typing import ArrayLike

from recrawl.errors import ArgumentError
from recrawl.estimation.belief import Prior
from recrawl.estimation.octaves import Octaves, gamma_of
from recrawl.kernels.jit import Bools, Floats, Ints
from recrawl.scheduling import inputs
from recrawl.scheduling.budget import Budget
from recrawl.scheduling.due import chances_fresh, due_times, fresh_importance
from recrawl.scheduling.first_visits import TRIES
from recrawl.scheduling.rescheduling import first_octave
from recrawl.scheduling.state import ABSENT, FREE, Tables


class FrontierView:
    """The pages of a frontier, and the beliefs about them."""

    def __init__(self, tables: Tables, budget: Budget) -> None:
        self._tables = tables
        self._budget = budget

    def __len__(self) -> int:
        return self._budget.pages

    def __contains__(self, page: object) -> bool:
        status = self._tables.pages["status"]
        if not isinstance(page, int | np.integer) or not 0 <= page < status.size:
            return False
        return bool(status[page] != ABSENT)

    @property
    def now(self) -> float:
        """The latest time it has seen; it never runs backwards."""
        return self._budget.now

    def pass_time(self, now: float) -> None:
        """Let time pass until a time, without a visit."""
        self._budget.pass_time(now)

    @property
    def affordable_at(self) -> float:
        """When the budget pays for another visit; the present if it does now."""
        return self._budget.affordable_at

    @property
    def price(self) -> float:
        """What a visit must be worth, importance times days; 0 before the first take."""
        return float(self._tables.shared["price"][0])

    def is_free(self, page: ArrayLike) -> Bools:
        """Return whether the next visit to these pages is their first and costs no budget."""
        rows = self._tables.pages[self._present("page", page)]
        is_first: Bools = (rows["last_visit"] == -np.inf) & (rows["failures"] < TRIES)
        is_first &= rows["needed"] == FREE
        return is_first

    def due(self, page: ArrayLike) -> Floats:
        """Return when visits to these pages will be worth the current price; infinity for never."""
        return due_times(self._tables, self._present("page", page), self._now)

    def host(self, page: ArrayLike) -> Ints:
        """Return the numbers of the pages' hosts; -1 for pages that are not in the frontier."""
        pages, size = inputs.pages("page", page), self._tables.pages.size
        if not size:
            return np.full(pages.size, -1)
        rows = self._tables.pages[np.minimum(pages, size - 1)]
        there = (pages < size) & (rows["status"] != ABSENT)
        return np.where(there, rows["host"], -1).astype(np.int64)

    def pages_of(self, host: ArrayLike) -> Ints:
        """Return the pages of these hosts."""
        wanted = np.zeros(self._tables.hosts.size, np.bool_)
        wanted[inputs.hosts("host", host, wanted.size)] = True
        rows = self._tables.pages
        return np.flatnonzero((rows["status"] != ABSENT) & wanted[rows["host"]])

    def all_pages(self) -> Ints:
        """Return all pages."""
        return np.flatnonzero(self._tables.pages["status"] != ABSENT)

    def last_visit(self, page: ArrayLike) -> Floats:
        """Return when the copies of pages were made; −∞ without a copy."""
        return self._tables.pages["last_visit"][self._present("page", page)].copy()

    def failures(self, page: ArrayLike) -> Ints:
        """Return how many of the latest visits to pages failed in a row."""
        return self._tables.pages["failures"][self._present("page", page)].astype(np.int64)

    def open_at(self, page: ArrayLike) -> Floats:
        """Return when the hosts of pages may be visited again: delays, pauses and budgets."""
        host = self._tables.hosts[self._tables.pages["host"][self._present("page", page)]]
        paid = np.where(host["spacing"] > 0.0, host["paid_until"] + host["spacing"], -math.inf)
        opens: Floats = np.maximum(host["open_at"], paid)
        return opens

    def importance(self, page: ArrayLike) -> Floats:
        """Return the importance of pages."""
        return self._tables.pages["importance"][self._present("page", page)].copy()

    def belief(self, page: ArrayLike) -> Prior:
        """Return the Gammas with the mean and variance of the beliefs about these pages."""
        weight = self._tables.pages["weight"][self._present("page", page)]
        return Prior(*gamma_of(first_octave(self._tables), weight))

    def octaves(self, page: ArrayLike) -> Octaves:
        """Return the evidence of visits to these pages, for `add` in another frontier."""
        rows = self._tables.pages["likelihood"][self._present("page", page)]
        return Octaves(first_octave(self._tables), rows)

    def calibration(self) -> tuple[float, float]:
        """Return the numbers of changes that recent visits found, and that were expected.

        More recent visits count more, and each host starts with a few of both, in equal numbers.
        """
        hosts = self._tables.hosts
        return float(hosts["all_found"].sum()), float(hosts["all_expected"].sum())

    def chance_fresh(self, page: ArrayLike, now: float) -> Floats:
        """Return the chances that the pages' copies are fresh."""
        pages = self._present("page", page)
        self._budget.pass_time(now)
        return chances_fresh(self._tables, pages, self._now)

    def expected_freshness(self, now: float) -> float:
        """Return the share of importance whose copies are expected to be fresh; 1 without pages."""
        self._budget.pass_time(now)
        fresh, total = fresh_importance(self._tables, self._now)
        return fresh / total if total > 0.0 else 1.0

    @property
    def _now(self) -> float:
        return self._budget.now

    def _present(self, name: str, page: ArrayLike) -> Ints:
        pages = inputs.pages(name, page)
        status = self._tables.pages["status"]
        is_there = pages < status.size
        if is_there.all():
            is_there = status[pages] != ABSENT
            if is_there.all():
                return pages
        else:
            is_there[is_there] = status[pages[is_there]] != ABSENT
        missing = pages[np.argmin(is_there)]
        raise ArgumentError(f"{name}: {missing} is not in the frontier; add it first")

"""A frontier led through any operations, with all that it promises checked on the way."""

import math
from collections import defaultdict
from typing import Any

import numpy as np
from hypothesis import strategies as st
from scheduling.plain import tables_of

from recrawl.estimation.signals import PRECISION
from recrawl.kernels.jit import Ints
from recrawl.scheduling.frontier import Frontier
from recrawl.scheduling.state import (
    ABSENT,
    FIRST_VALUE,
    FIRST_WAITING,
    LISTS,
    NEW,
    NONE,
    PARKED,
    QUEUED,
    READY,
    TAKEN,
    WAITING,
)

#: A step: what to do, a seed for what it is done with, and the days until then.
Step = tuple[str, int, float]

HOSTS = 4
CLOSE = 1e-9
KINDS = [
    *("take", "take", "take", "take", "report", "report", "report"),
    *("add", "remove", "signal", "defer", "importance", "limit", "visit", "ask"),
]
steps = st.lists(
    st.tuples(
        st.sampled_from(KINDS),
        st.integers(0, 2**16),
        st.sampled_from([0.0, 1e-6, 0.01, 0.04, 0.2, 1.0, 30.0, -0.5]),
    ),
    max_size=60,
)


def kinds_of(where: int) -> tuple[int, ...]:
    """Return the status that the pages in a list may have."""
    if where >= FIRST_WAITING:
        return WAITING, PARKED
    return (READY,) if where >= FIRST_VALUE else (QUEUED,)


@st.composite
def settings_of_frontiers(draw: st.DrawFn) -> dict[str, Any]:
    """Draw how a frontier is made."""
    return {
        "budget": draw(st.sampled_from([3.0, 40.0, 700.0])),
        "half_life": draw(st.sampled_from([None, 5.0, 365.0])),
        "host_delay": draw(st.sampled_from([0.0, 0.03])),
        "host_budget": draw(st.sampled_from([None, 2.0, 50.0])),
        "neighbours": draw(st.booleans()),
        "pooling": draw(st.booleans()),
        "rhythm": draw(st.booleans()),
        "slack": draw(st.sampled_from([0.0, 1.0])),
        "spend": draw(st.sampled_from(["worth", "all"])),
        "catch_up": draw(st.sampled_from([0.01, 0.25, 2.0])),
    }


class Session:
    """Does steps to a frontier and knows, from outside, who may be given out.

    Args:
        settings: How the frontier is made.
        origin: When the story begins.
    """

    def __init__(self, settings: dict[str, Any], origin: float = 0.0) -> None:
        self.frontier, self.settings = Frontier(**settings), settings
        self.now = origin
        self.host: dict[int, int] = {}
        self.worthless: set[int] = set()
        self.out: set[int] = set()
        self.takes: list[tuple[float, int]] = []
        self.delay = dict.fromkeys(range(HOSTS), settings["host_delay"])
        self.budget = dict.fromkeys(range(HOSTS), settings["host_budget"])
        self.open_at: dict[int, float] = defaultdict(lambda: -math.inf)
        self.visits: dict[int, list[tuple[float, float]]] = defaultdict(list)
        self.taken_at = origin
        self.add(np.random.default_rng(0), 30, origin)

    def do(self, step: Step) -> list[int] | None:
        """Do a step; give the pages if it was a take."""
        kind, seed, gap = step
        rng = np.random.default_rng(seed)
        now = self.now + gap
        if kind == "take":
            return self.take(now, int(rng.choice([0, 1, 5, 1_000])))
        if kind == "add":
            self.add(rng, int(rng.integers(0, 12)), now)
        elif kind == "report":
            self.report(rng, now)
        elif kind == "limit":
            self.limit(rng)
        elif kind == "ask":
            self.ask(now)
        elif kind == "defer":
            host, until = int(rng.integers(HOSTS)), now + float(rng.exponential())
            self.frontier.defer(host, until)
            self.open_at[host] = max(self.open_at[host], until)
        elif self.host:
            self.change(kind, rng, now)
        return None

    def change(self, kind: str, rng: np.random.Generator, now: float) -> None:
        """Do something to some pages."""
        page = self.some(rng, sorted(self.host))
        if kind == "remove":
            self.frontier.remove(page)
            for here in page.tolist():
                del self.host[here]
            self.out -= set(page.tolist())
            self.worthless -= set(page.tolist())
        elif kind == "signal":
            self.pass_time(now)
            keep = rng.choice([1.0, 0.5, 1e-9, 0.0], page.size)
            self.frontier.evidence(page, now, keep)
            self.frontier.signal(rng.choice(page, 3), now, str(rng.choice(list(PRECISION))))
        elif kind == "importance":
            importance = rng.choice([0.0, 1.0, 1.0, 1e6, 1e-6], page.size)
            self.frontier.set_importance(page, importance)
            self.worthless -= set(page.tolist())
            self.worthless |= set(page[importance == 0.0].tolist())
        elif kind == "visit":
            self.pass_time(now)
            self.frontier.report(page, now, rng.random(page.size) < 0.5)
            self.out -= set(page.tolist())

    def pass_time(self, now: float) -> None:
        """Note the present as the frontier does; time never runs backwards."""
        self.now = max(self.now, now)

    @staticmethod
    def some(rng: np.random.Generator, page: list[int]) -> Ints:
        return rng.choice(page, rng.integers(1, min(len(page), 8) + 1), replace=False)

    def add(self, rng: np.random.Generator, many: int, now: float) -> None:
        self.pass_time(now)
        absent = np.setdiff1d(np.arange(80), list(self.host))
        page = rng.permutation(absent)[:many]
        host = page % HOSTS
        section = np.where(page % 3 == 0, host, host + HOSTS)
        last = self.now - float(rng.exponential()) if rng.random() < 0.5 else None
        self.frontier.add(page, now=self.now, host=host, section=section, last_visit=last)
        self.host |= dict(zip(page.tolist(), host.tolist(), strict=True))

    def report(self, rng: np.random.Generator, now: float) -> None:
        if not self.out:
            return
        page = self.some(rng, sorted(self.out))
        self.pass_time(now)
        self.frontier.report(
            page,
            now,
            changed=rng.random(page.size) < 0.5,
            failed=rng.random(page.size) < 0.3,
            age=np.where(rng.random(page.size) < 0.3, rng.exponential(size=page.size), math.nan),
        )
        self.out -= set(page.tolist())

    def limit(self, rng: np.random.Generator) -> None:
        host = int(rng.integers(HOSTS))
        delay = (None, 0.0, 0.1, 2.0)[rng.integers(4)]
        budget = (None, 1.0, 30.0)[rng.integers(3)]
        self.frontier.limit_host(host, delay=delay, budget=budget)
        if delay is not None:
            self.delay[host] = delay
        if budget is not None:
            self.budget[host] = budget
            self.visits[host].clear()

    def take(self, now: float, limit: int) -> list[int]:
        self.pass_time(now)
        taken: list[int] = self.frontier.take(now, limit).tolist()
        assert len(taken) == len(set(taken)) <= limit
        assert not self.out & set(taken)
        assert set(taken) <= set(self.host) - self.worthless
        self.out |= set(taken)
        self.takes.append((self.now, len(taken)))
        self.check_budget()
        gap = min(self.now - self.taken_at, self.settings["catch_up"])
        for page in taken:
            self.visit_host(self.host[page], gap)
        if taken:
            self.taken_at = self.now
        return taken

    def check_budget(self) -> None:
        """In every window that ends now, no more than it and the budget kept pay for."""
        total = 0
        kept = self.settings["catch_up"] + self.settings["slack"]
        max_credit = self.settings["budget"] * kept + 1.0
        for begin, size in reversed(self.takes):
            total += size
            assert total <= self.settings["budget"] * (self.now - begin) + max_credit + CLOSE

    def visit_host(self, host: int, gap: float) -> None:
        """Check a visit to a host that comes after a pause of the frontier."""
        assert self.open_at[host] <= self.now + CLOSE
        if self.delay[host] > 0.0:
            self.open_at[host] = self.now + self.delay[host]
        if self.budget[host] is not None:
            visits = self.visits[host]
            visits.append((self.now, gap))
            for first, (begin, pause) in enumerate(visits):
                paid = self.budget[host] * (self.now - begin + pause) + 1.0
                assert len(visits) - first <= paid + CLOSE

    def ask(self, now: float) -> None:
        self.pass_time(now)
        page = sorted(self.host)
        assert 0.0 <= self.frontier.expected_freshness(now) <= 1.0 + CLOSE
        assert 0.0 <= self.frontier.price < math.inf
        assert not np.isnan(self.frontier.due(page)).any()
        belief = self.frontier.belief(page)
        for column in (belief.shape, belief.time):
            assert (np.isfinite(column) & (np.asarray(column) > 0.0)).all()

    def check_lists(self) -> None:
        """Each page is in the one list that its status says, and the counters are right."""
        pages, hosts, _, shared, heads, _ = tables_of(self.frontier)
        found: dict[int, int] = {}
        for where in range(LISTS):
            before, page = -2 - where, int(heads[where])
            while page != NONE:
                assert page not in found
                assert pages["before"][page] == before
                found[page] = where
                before, page = page, int(pages["next"][page])
        status = pages["status"].tolist()
        there = {page for page, kind in enumerate(status) if kind != ABSENT}
        listed = {page for page in there if status[page] not in (TAKEN, NEW)}
        assert there == set(self.host)
        assert {page for page in there if status[page] == TAKEN} == self.out
        assert set(found) == listed
        for page, where in found.items():
            assert status[page] in kinds_of(where)
        assert shared["ready"][0] == sum(kinds_of(where) == (READY,) for where in found.values())
        for name, kind in (("waiting", WAITING), ("parked", PARKED)):
            those = [page for page in found if status[page] == kind]
            counts = np.bincount(pages["host"][those], minlength=hosts.size)
            assert hosts[name].tolist() == counts.tolist()

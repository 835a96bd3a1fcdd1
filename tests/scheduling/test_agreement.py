"""The frontier takes whom looking at every page each time would take."""

import itertools
import math
from dataclasses import dataclass

import numpy as np
import pytest
from scheduling.plain import PlainFrontier, Shadow, poisson_changes, replay, tables_of

from recrawl import allocate
from recrawl.estimation.belief import Prior
from recrawl.estimation.octaves import ONE
from recrawl.kernels.jit import Floats, Ints
from recrawl.scheduling.frontier import Frontier


def ticks(days: float, tick: float) -> list[float]:
    return [number * tick for number in range(1, round(days / tick) + 1)]


def begun(budget: float, importance: Floats, half_life: float | None) -> Frontier:
    frontier = Frontier(
        budget, neighbours=False, half_life=half_life, rhythm=False, slack=0.0, spend="all"
    )
    page = np.arange(importance.size)
    frontier.add(page, now=0.0, importance=importance, last_visit=0.0)
    return frontier


def world(seed: int, pages: int, days: float) -> tuple[list[Floats], Floats]:
    """Draw pages whose change rates and importances differ by orders of magnitude."""
    rng = np.random.default_rng(seed)
    rate, importance = rng.lognormal(-1.5, 1.5, pages), rng.pareto(1.5, pages) + 0.1
    return poisson_changes(rng, rate, days), importance


def assert_beliefs_agree(frontier: Frontier, plain: PlainFrontier) -> None:
    """Weights are kept in units of 1/65535, and so are the priors made of them."""
    pages = plain.beliefs.seen.size
    weight = tables_of(frontier).pages["weight"][:pages]
    assert (weight.sum(1, dtype=np.int64) == ONE).all()
    assert weight[:, :14] / ONE == pytest.approx(plain.beliefs.weight, abs=2e-3)
    assert not weight[:, 14:].any()


#: Fleets that are looked at as a whole each time, and larger ones of which a part is.
SMALL = [(30, 10.0, 365.0), (150, 40.0, 365.0), (100, 30.0, 20.0), (100, 30.0, None)]
LARGE = [(1_000, 200.0, 365.0), (3_000, 1_000.0, None)]


@pytest.mark.parametrize(
    ("pages", "budget", "half_life", "seed"),
    [(*fleet, seed) for seed in (1, 2) for fleet in SMALL] + [(*fleet, 1) for fleet in LARGE],
)
def test_after_the_same_past_nearly_all_pages_taken_are_the_most_valuable(
    pages: int, budget: float, half_life: float | None, seed: int
) -> None:
    changes, importance = world(seed, pages, 60.0)
    plain = PlainFrontier(budget, importance, half_life=half_life or math.inf)
    # In the first round all copies are of one age, and pages come by when they will be due.
    shadow = Shadow(begun(budget, importance, half_life), plain, since=pages / budget)
    replay(shadow, changes, importance, ticks(60.0, 0.1))
    same, value = (0.995, 0.999) if pages < 200 else (0.9, 0.99)
    if half_life is None:
        # Of a page that never changes, small weights decide, and those are rounded.
        same, value = 0.85, min(value, 0.994)
    assert shadow.same > same * shadow.taken
    assert shadow.value > value * shadow.best
    assert_beliefs_agree(shadow.frontier, plain)


def test_each_in_its_own_past_both_keep_copies_as_fresh() -> None:
    ours = theirs = 0.0
    for seed, (pages, budget, half_life) in itertools.product(range(4), SMALL[1:] + LARGE[:1]):
        changes, importance = world(seed, pages, 60.0)
        plain = PlainFrontier(budget, importance, half_life=half_life or math.inf)
        stories = [
            replay(frontier, changes, importance, ticks(60.0, 0.1))
            for frontier in (begun(budget, importance, half_life), plain)
        ]
        ours, theirs = ours + stories[0].staleness, theirs + stories[1].staleness
        sizes = [[len(taken) for taken in story.picks] for story in stories]
        assert sizes[0] == sizes[1]
    # Once two pasts differ they drift apart: one run differs by 1 to 2 %, the mean of 16 by less.
    assert ours == pytest.approx(theirs, rel=0.01)


def test_equally_valuable_pages_come_in_order_of_their_numbers() -> None:
    frontier = begun(8.0, np.ones(20), None)
    assert frontier.take(0.25, 9).tolist() == [0, 1]
    assert frontier.take(0.50, 9).tolist() == [2, 3]


def test_evidence_and_ages_are_learned_from_as_in_the_plain_version() -> None:
    rng = np.random.default_rng(5)
    importance = np.ones(30)
    frontier, plain = begun(10.0, importance, 40.0), PlainFrontier(10.0, importance, half_life=40.0)
    now = 0.0
    for _ in range(150):
        now += rng.exponential(0.4)
        chosen = rng.choice(30, 4, replace=False)
        keep = float(rng.choice([1.0, 0.9, 0.5, 0.01, 1e-6]))
        frontier.evidence(chosen, now, keep)
        plain.evidence(chosen, keep)
        page = rng.choice(30, 5, replace=False)
        changed = rng.random(5) < 0.5
        age = float(rng.choice([math.nan, math.nan, 0.0, 0.7, 100.0]))
        now += rng.exponential(0.1)
        frontier.report(page, now, changed, age=age)
        plain.report(page.tolist(), now, changed.tolist(), age)
    assert_beliefs_agree(frontier, plain)


@dataclass
class Expected:
    """The freshness that visits give in the mean when change rates are known, from a time on."""

    rate: Floats
    importance: Floats
    since: float

    def __post_init__(self) -> None:
        self.last, self.fresh = np.zeros(self.rate.size), 0.0

    def visit(self, page: Ints, now: float) -> None:
        """Add what pages were fresh for since their last visits: the integral of e^(−Δt)."""
        rate, last = self.rate[page], self.last[page]
        begin = np.minimum(np.maximum(last, self.since), now)
        area = np.exp(-rate * (begin - last)) - np.exp(-rate * (now - last))
        self.fresh += float((self.importance[page] * area / rate).sum())
        self.last[page] = now

    def freshness(self, end: float) -> float:
        self.visit(np.arange(self.rate.size), end)
        return self.fresh / float(self.importance.sum()) / (end - self.since)


@pytest.mark.parametrize(("pages", "budget"), [(40, 60.0), (400, 100.0), (2_000, 300.0)])
def test_known_rates_give_the_freshness_of_the_best_regular_visits(
    pages: int, budget: float
) -> None:
    rng = np.random.default_rng(pages)
    rate, importance = rng.lognormal(-1.0, 1.2, pages), rng.uniform(0.5, 3.0, pages)
    sure, gap = 1e9, pages / budget
    frontier = Frontier(
        budget, prior=Prior(np.full(pages, sure), sure / rate), neighbours=False, slack=0.0
    )
    frontier.add(np.arange(pages), now=0.0, importance=importance, last_visit=0.0)
    expected = Expected(rate, importance, 10.0 * gap)
    for now in ticks(40.0 * gap, gap / 400):
        page = frontier.take(now, 100)
        changed = rng.random(page.size) < -np.expm1(-rate[page] * (now - expected.last[page]))
        expected.visit(page, now)
        frontier.report(page, now, changed)
    best = allocate(rate, budget, importance=importance, visits="periodic").freshness
    assert expected.freshness(40.0 * gap) == pytest.approx(best, rel=0.005)

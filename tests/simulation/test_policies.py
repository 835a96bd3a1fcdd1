"""Policies that rank pages, and what all policies have in common."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recrawl.errors import ArgumentError
from recrawl.estimation import LLN, MLE, GammaFilter, Prior, estimate
from recrawl.kernels.jit import Floats
from recrawl.simulation.policies import POLICIES, policy_named
from recrawl.simulation.policies.ranked import largest
from recrawl.simulation.policy import PageSet
from recrawl.simulation.replay import replay
from recrawl.simulation.world import World


@given(st.lists(st.sampled_from([0.0, 1.0, 2.0, 3.0]), min_size=1), st.integers(-1, 20))
def test_the_largest_are_chosen_and_ties_broken_by_number(values: list[float], count: int) -> None:
    ranked = sorted(range(len(values)), key=lambda page: (-values[page], page))
    assert largest(np.array(values), count).tolist() == sorted(ranked[: max(count, 0)])


def small_world(seed: int) -> World:
    rng = np.random.default_rng(seed)
    importance = rng.integers(1, 4, 12).astype(np.float64)
    return World.poisson(rng.choice([0.05, 0.3, 2.0], 12), days=30.0, importance=importance)


def known_value(rate: float, elapsed: float) -> float:
    return (1.0 - math.exp(-rate * elapsed) * (1.0 + rate * elapsed)) / rate


class Plain:
    """A policy of few pages written plainly: all rows kept, all pages sorted at every tick."""

    def __init__(self, name: str, world: World, budget: float) -> None:
        self.name = name
        self.world = world
        self.uniform = budget / world.pages
        self.last = [0.0] * world.pages
        self.rows: list[tuple[int, float, bool]] = []
        self.rate = np.full(world.pages, self.uniform if name == "proportional" else 0.0)

    def fit(self) -> None:
        gap = 1.0 / self.uniform
        method = {
            "proportional": GammaFilter(Prior(0.5, 0.5 * gap)),
            "index-lln": LLN(),
            "index-mle": MLE(),
        }.get(self.name)
        if method is None or not self.rows:
            return
        page, elapsed, changed = zip(*self.rows, strict=True)
        found = estimate(np.array(page), elapsed, changed, method=method)  # type: ignore[arg-type]
        self.rate[found.page] = found.rate

    def urgency(self, page: int, now: float) -> float:
        elapsed, importance = now - self.last[page], float(self.world.importance[page])
        if self.name == "age":
            return importance * elapsed
        if self.name == "proportional":
            return float(self.rate[page]) * elapsed
        if self.name == "index-known":
            return importance * known_value(float(self.world.change_rate[page]), elapsed)
        return importance * known_value(max(float(self.rate[page]), 0.02 * self.uniform), elapsed)


@pytest.mark.parametrize("name", ["age", "proportional", "index-known", "index-lln", "index-mle"])
@pytest.mark.parametrize("seed", [1, 2])
def test_the_most_urgent_pages_are_visited(name: str, seed: int) -> None:
    world, budget = small_world(seed), 4.0
    plain = Plain(name, world, budget)
    pages = PageSet(world.importance, world.host, world.section, world.change_rate, world.days)
    run = policy_named(name).start(pages, budget, tick=0.25, seed=0)
    rng = np.random.default_rng(seed)
    for number in range(1, 120):
        now = number * 0.25
        if number % 4 == 0:
            plain.fit()
        chosen = run.take(now, 1 + number % 3)
        urgency = [plain.urgency(page, now) for page in range(world.pages)]
        least = min(urgency[page] for page in chosen)
        passed_over = [urgency[page] for page in range(world.pages) if page not in chosen]
        assert least >= max(passed_over) * (1.0 - 1e-6)
        assert chosen.size == 1 + number % 3
        changed = rng.random(chosen.size) < 0.4
        run.report(chosen, now, changed)
        for page, bit in zip(chosen.tolist(), changed.tolist(), strict=True):
            plain.rows.append((page, now - plain.last[page], bit))
            plain.last[page] = now


def visits_per_page(name: str, importance: Floats, rate: Floats) -> Floats:
    """Return each page's visits, by giving each its own host."""
    pages = importance.size
    world = World.poisson(rate, days=300.0, importance=importance, host=np.arange(pages), seed=1)
    return replay(world, policy_named(name), 5.0).host_visits.astype(np.float64)


def test_uniform_visits_all_pages_alike() -> None:
    visits = visits_per_page("uniform", np.array([1.0, 2.0, 3.0]), np.array([0.0, 1.0, 2.0]))
    assert visits.tolist() == [500.0, 500.0, 500.0]


def test_age_visits_in_proportion_to_importance() -> None:
    visits = visits_per_page("age", np.array([1.0, 2.0, 4.0, 8.0]), np.ones(4))
    assert visits / visits.sum() == pytest.approx(np.array([1, 2, 4, 8]) / 15, rel=0.03)


def test_the_index_does_not_visit_pages_that_never_change_or_do_not_matter() -> None:
    importance, rate = np.array([1.0, 0.0, 2.0, 1.0]), np.array([0.0, 1.0, 1.0, 100.0])
    visits = visits_per_page("index-known", importance, rate)
    assert visits[:2].tolist() == [0.0, 0.0]
    assert visits.sum() == 1_500.0


def test_proportional_visits_in_proportion_to_change() -> None:
    rate = np.array([0.1, 0.2, 0.4, 0.8])
    visits = visits_per_page("proportional", np.ones(4), rate)
    # 1,500 visits tell the slowest page's 30 changes to some 20 %.
    assert visits / visits.sum() == pytest.approx(rate / rate.sum(), rel=0.4)
    assert (np.diff(visits) > 0).all()


def test_names_are_those_that_policies_go_by() -> None:
    assert [make().name for make in POLICIES.values()] == list(POLICIES)
    with pytest.raises(ArgumentError, match="policy: 'nutsch' is unknown; choose one of "):
        policy_named("nutsch")


@pytest.mark.parametrize("name", [name for name in POLICIES if not name.endswith("-scaled")])
def test_replays_are_the_same_for_a_seed_and_budgets_are_kept(name: str) -> None:
    rng = np.random.default_rng(3)
    rate, importance = rng.lognormal(-2.0, 1.0, 80), rng.pareto(2.0, 80) + 0.1
    world = World.poisson(rate, days=120.0, importance=importance, seed=4)
    policy = policy_named(name)
    one, again = (replay(world, policy, 16.0, seed=5) for _ in range(2))
    assert one.as_dict() == again.as_dict()
    assert 0.0 < one.staleness < 0.6
    if policy.keeps_budget:
        # A frontier may save budget for better hours, of a third of 5 days at most.
        saved = 16.0 * min(getattr(policy, "slack", 0.0), 5.0 / 3.0)
        assert 1920 - saved <= one.visits <= 1920
        assert one.busiest_day <= (17.0 + saved) / 16.0
    elif name not in ("nutch", "stormcrawler", "news"):
        # Random clocks: 1,920 visits have a standard deviation of 44.
        assert one.budget_used == pytest.approx(1.0, abs=0.1)


def test_seeds_draw_other_visits() -> None:
    world = small_world(1)
    policy = policy_named("paper-gamma")
    assert (
        replay(world, policy, 4.0, seed=1).staleness != replay(world, policy, 4.0, seed=2).staleness
    )

"""The replay's books against a plain scan, and what it refuses."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from simulation.plain import Scripted, scan, world_of

from recrawl.errors import ArgumentError
from recrawl.kernels.jit import Bools, Ints
from recrawl.simulation.policies import policy_named
from recrawl.simulation.policy import PageSet, Run
from recrawl.simulation.replay import replay
from recrawl.simulation.world import World

TICK = 0.25

#: Times on ticks, between them, and anywhere.
TIMES = st.one_of(
    st.integers(1, 80).map(lambda n: n * TICK / 2), st.floats(1e-6, 10.0, allow_subnormal=False)
)


@st.composite
def worlds(draw: st.DrawFn) -> World:
    pages = draw(st.integers(1, 5))
    changes = [draw(st.lists(TIMES, max_size=8, unique=True)) for _ in range(pages)]
    importance = draw(st.lists(st.floats(0.1, 10.0), min_size=pages, max_size=pages))
    host = draw(st.lists(st.integers(0, 3), min_size=pages, max_size=pages))
    return world_of(changes, draw(st.sampled_from([10.0, 10.1])), importance=importance, host=host)


@given(worlds(), st.integers(0, 100), st.sampled_from([0.0, 0.1, 0.5, 1.0]))
def test_the_books_agree_with_a_plain_scan(world: World, seed: int, share: float) -> None:
    policy = Scripted(share)
    score = replay(world, policy, 2.0, tick=TICK, seed=seed)
    found = scan(world, policy.visits)
    total = world.importance.sum() * world.days
    assert score.staleness == pytest.approx(found.stale / total, rel=1e-12, abs=1e-12)
    assert score.mean_age == pytest.approx(found.age / total, rel=1e-12, abs=1e-12)
    assert score.freshness == 1.0 - score.staleness
    assert score.visits == len(policy.visits)
    assert score.budget_used == pytest.approx(len(policy.visits) / (2.0 * world.days))
    assert score.wasted * score.visits == pytest.approx(found.useless)
    hosts = [int(world.host[page]) for _, page in policy.visits]
    assert score.host_visits.tolist() == np.bincount(hosts, minlength=world.host.max() + 1).tolist()


@given(worlds(), st.integers(0, 100))
def test_the_curve_is_the_staleness_of_each_slice(world: World, seed: int) -> None:
    policy = Scripted(0.2)
    score = replay(world, policy, 2.0, tick=TICK, seed=seed)
    edges = np.linspace(0.0, world.days, 101)
    stale = np.zeros(100)
    for begin, end, weight in scan(world, policy.visits).spells:
        stale += weight * np.clip(np.minimum(edges[1:], end) - np.maximum(edges[:-1], begin), 0, 99)
    expected = stale / (world.importance.sum() * world.days / 100)
    np.testing.assert_allclose(score.curve, expected, atol=1e-12)
    assert score.curve.mean() == pytest.approx(score.staleness)


@given(worlds(), st.integers(0, 100), st.floats(0.3, 30.0))
def test_the_allowance_is_what_the_budget_has_left(world: World, seed: int, budget: float) -> None:
    policy = Scripted(0.7, keeps_budget=True)
    replay(world, policy, budget, tick=TICK, seed=seed)
    times = TICK * np.arange(1, len(policy.limits) + 1)
    assert len(policy.limits) == 40
    for now, limit in zip(times, policy.limits, strict=True):
        spent = sum(time < now for time, _ in policy.visits)
        assert limit == np.floor(budget * now - spent + 1e-9)


def test_a_visit_sees_the_changes_up_to_its_tick() -> None:
    """At 1 the first is seen, the second is not; at 2 it is, the copy is stale for ½ of 4 days."""
    world = world_of([[1.0, 1.5]], 4.0)
    policy = Scripted(1.0)
    score = replay(world, policy, 1.0, tick=1.0)
    assert policy.reported == [True, True, False, False]
    assert score.staleness == pytest.approx(0.5 / 4)
    assert score.mean_age == pytest.approx(0.5**2 / 2 / 4)
    assert score.wasted == 0.5


def test_busiest_and_quietest_day_are_of_whole_days() -> None:
    world = world_of([[1.0]] * 8, 3.5)

    class Bursts(Scripted):
        def take(self, now: float, limit: int) -> Ints:
            del limit
            return np.arange({1.0: 2, 1.5: 3, 2.0: 3, 3.5: 8}.get(now, 0))

        def report(self, page: Ints, now: float, changed: Bools) -> None:
            pass

    score = replay(world, Bursts(), 2.0, tick=0.5)
    assert (score.busiest_day, score.quietest_day) == (3.0, 0.0)
    assert score.visits == 16


def test_a_window_shorter_than_a_day_is_one() -> None:
    score = replay(world_of([[0.1]] * 4, 0.5), policy_named("uniform"), 16.0, tick=0.25)
    assert score.busiest_day == score.quietest_day == 1.0


def test_scores_become_rows() -> None:
    row = replay(world_of([[0.5]], 2.0), policy_named("uniform"), 1.0).as_dict()
    assert list(row)[:6] == [
        "policy",
        "staleness",
        "freshness",
        "mean_age",
        "visits",
        "budget_used",
    ]
    assert all(isinstance(value, str | int | float) for value in row.values())


@pytest.mark.parametrize(
    ("pages", "every", "days", "tick"),
    [(7346, 30.0, 1784.0, 0.25), (216, 7.0, 1308.0, 0.25), (10, 1.0, 1e3, 0.04), (10, 9, 50, 0.05)],
)
def test_ticks_are_a_quarter_of_a_day_or_finer(
    pages: int, every: float, days: float, tick: float
) -> None:
    world = World.poisson(np.full(pages, 1e-4), days=days)
    policy = Scripted(0.0)
    replay(world, policy, pages / every)
    assert len(policy.limits) == round(days / tick)


def test_progress_is_told() -> None:
    reported: list[tuple[int, int | None]] = []
    replay(
        world_of([[0.5]], 100.0), Scripted(0.0), 1.0, tick=1.0,
        progress=lambda done, total: reported.append((done, total)),
    )  # fmt: skip
    assert reported == [(50, 100), (100, 100)]


@pytest.mark.parametrize("knows", [True, False])
def test_only_who_says_so_is_told_the_true_rates(knows: bool) -> None:
    policy = Scripted(knows_rates=knows)
    replay(world_of([[0.5], []], 2.0), policy, 1.0)
    assert policy.pages is not None
    assert policy.pages.true_rate.tolist() == (
        [0.5, 0.0] if knows else pytest.approx([np.nan] * 2, nan_ok=True)
    )


class Stubborn(Scripted):
    """Takes the same pages at every tick."""

    def __init__(self, pages: list[int], *, keeps_budget: bool = False) -> None:
        super().__init__(keeps_budget=keeps_budget)
        self._pages = np.array(pages)

    def start(self, pages: PageSet, budget: float, *, tick: float, seed: int) -> Run:
        del pages, budget, tick, seed
        return self

    def take(self, now: float, limit: int) -> Ints:
        del now, limit
        return self._pages


@pytest.mark.parametrize(
    ("pages", "message"),
    [
        ([1, 0, 1], "number 1 cannot be visited at 0.25: it is taken twice"),
        ([0, 2], "number 2 cannot be visited at 0.25: there is no such page"),
        ([-1], "number -1 cannot be visited at 0.25: there is no such page"),
    ],
)
def test_pages_that_cannot_be_visited_are_refused(pages: list[int], message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        replay(world_of([[0.5], []], 2.0), Stubborn(pages), 1.0, tick=TICK)


def test_who_promises_to_keep_the_budget_must() -> None:
    with pytest.raises(ArgumentError, match=r"'scripted' took 2 visits at 0\.25, where 1 were"):
        replay(world_of([[0.5], []], 2.0), Stubborn([0, 1], keeps_budget=True), 4.0, tick=TICK)


@pytest.mark.parametrize("budget", [0.0, -1.0, np.nan, np.inf])
def test_a_budget_is_positive(budget: float) -> None:
    with pytest.raises(ArgumentError, match="budget: "):
        replay(world_of([[0.5]], 2.0), policy_named("uniform"), budget)


@pytest.mark.parametrize("tick", [0.0, -1.0, 3.0, np.nan])
def test_a_tick_is_within_the_window(tick: float) -> None:
    with pytest.raises(ArgumentError, match="tick: "):
        replay(world_of([[0.5]], 2.0), policy_named("uniform"), 1.0, tick=tick)

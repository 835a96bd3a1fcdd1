"""Signals in worlds, and the policies that use them."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from recrawl.errors import ArgumentError
from recrawl.kernels.jit import Bools, Ints
from recrawl.simulation.policies import policy_named
from recrawl.simulation.policies.ncis import ncis_value
from recrawl.simulation.policies.ranked import Uniform
from recrawl.simulation.policy import PageSet, Run
from recrawl.simulation.ranking import mean_score, rank, shuffled
from recrawl.simulation.replay import replay
from recrawl.simulation.signals import SignalQueue, Signals
from recrawl.simulation.synthetic import MIXED, add_signals
from recrawl.simulation.world import World


def drawn(precision: float, recall: float, pages: int = 40) -> World:
    rate = np.geomspace(0.1, 2.0, pages)
    return World.poisson(rate, days=300.0, seed=3).with_signals(precision, recall, seed=4)


def signals_of(world: World) -> Signals:
    assert world.signals is not None
    return world.signals


@pytest.mark.parametrize(("precision", "recall"), [(0.8, 0.5), (0.2, 0.9), (1.0, 1.0)])
def test_signals_have_the_precision_and_recall_asked_for(precision: float, recall: float) -> None:
    world = drawn(precision, recall)
    signals = signals_of(world)
    right = np.isin(signals.time, world.change).sum()
    told, all_told = int(right), signals.time.size
    assert abs(told - recall * world.change.size) < 4 * np.sqrt(world.change.size)
    assert abs(told - precision * all_told) < 4 * np.sqrt(all_told)


def test_perfect_signals_are_the_changes() -> None:
    world = drawn(1.0, 1.0)
    signals = signals_of(world)
    assert signals.starts.tolist() == world.starts.tolist()
    assert signals.time.tolist() == world.change.tolist()


def test_without_recall_there_are_no_signals_and_seeds_draw_others() -> None:
    assert signals_of(drawn(0.5, 0.0)).time.size == 0
    world = World.poisson([1.0], days=100.0)
    one, again, other = (
        signals_of(world.with_signals(0.5, 0.5, seed=seed)).time.tolist() for seed in (1, 1, 2)
    )
    assert one == again
    assert one != other


@pytest.mark.parametrize(
    ("precision", "recall", "message"),
    [
        (0.0, 0.5, "precision: 0 is impossible where changes are signalled"),
        (1.5, 0.5, "precision: expected numbers from 0 to 1"),
        (0.5, -0.1, "recall: expected numbers from 0 to 1"),
        ([0.5, 0.5], 0.5, r"precision: has shape \(2,\)"),
    ],
)
def test_bad_signals_are_refused(precision: float, recall: float, message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        World.poisson([1.0, 1.0, 1.0], days=10.0).with_signals(precision, recall)


def test_signals_must_be_those_of_the_pages_and_within_the_window() -> None:
    world = World.poisson([1.0], days=10.0)
    ones = np.ones(1)
    late = Signals(np.array([0, 1]), np.array([11.0]), ones, ones)
    with pytest.raises(ArgumentError, match="signals: times must be above 0 and at most 10"):
        replace(world, signals=late)
    with pytest.raises(ArgumentError, match="signals: expected those of 1 pages"):
        replace(world, signals=Signals(np.array([0]), np.empty(0), ones, ones))


def test_mixed_hosts_have_signals_in_turn() -> None:
    host = np.arange(20) % 10
    world = add_signals(World.poisson(np.ones(20), days=50.0, host=host), MIXED, 1)
    assert signals_of(world).recall.tolist() == [MIXED[number % 5][1] for number in host]
    silent = np.diff(signals_of(world).starts)[host % 5 == 4]
    assert silent.tolist() == [0, 0, 0, 0]


@given(st.lists(st.tuples(st.integers(0, 3), st.floats(0.01, 10.0)), max_size=20), st.data())
def test_every_signal_is_told_once_and_in_time(
    told: list[tuple[int, float]], data: st.DataObject
) -> None:
    pages = [sorted(time for page, time in told if page == number) for number in range(4)]
    starts = np.cumsum([0, *map(len, pages)])
    time = np.array([moment for page in pages for moment in page])
    queue = SignalQueue(Signals(starts, time, np.ones(4), np.ones(4)))
    moments = [*sorted(data.draw(st.lists(st.floats(0.0, 10.0), max_size=5))), 10.0]
    before = 0.0
    for now in moments:
        expected = sorted(page for page, moment in told if before < moment <= now)
        assert sorted(queue.until(now).tolist()) == expected
        before = now


class Recorder:
    """Visits pages in turn, and keeps what it hears."""

    name, keeps_budget, knows_rates = "recorder", True, False

    def __init__(self) -> None:
        self.heard: list[tuple[float, int, str]] = []
        self.expected: list[float] = []

    def start(self, pages: PageSet, budget: float, *, tick: float, seed: int) -> Run:
        assert pages.true_signals is None
        self.inner = Uniform().start(pages, budget, tick=tick, seed=seed)
        return self

    def signal(self, page: Ints, now: float, kind: str) -> None:
        self.heard += [(now, number, kind) for number in page.tolist()]

    def take(self, now: float, limit: int) -> Ints:
        return self.inner.take(now, limit)

    def chance(self, page: Ints, now: float) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
        del now
        return np.full(page.size, 0.25)

    def report(self, page: Ints, now: float, changed: Bools) -> None:
        self.inner.report(page, now, changed)


def test_policies_are_told_of_signals_at_the_tick_after_them() -> None:
    world = drawn(0.5, 0.5)
    recorder = Recorder()
    score = replay(world, recorder, 4.0, tick=0.25)
    signals = signals_of(world)
    page = np.repeat(np.arange(world.pages), np.diff(signals.starts))
    expected = sorted(zip(np.ceil(signals.time / 0.25) * 0.25, page.tolist(), strict=True))
    assert sorted((now, number) for now, number, _ in recorder.heard) == expected
    assert {kind for _, _, kind in recorder.heard} == {"sitemap"}
    assert score.calibration is not None
    assert score.calibration.visits.tolist() == [0, 0, score.visits, *[0] * 7]
    assert score.calibration.expected[2] == pytest.approx(0.25)
    assert score.calibration.found[2] == pytest.approx(1.0 - score.wasted)
    assert score.calibration.error == pytest.approx(abs(0.75 - score.wasted))


def test_policies_that_do_not_hear_are_unaffected() -> None:
    world = drawn(0.8, 0.8)
    for name in ("uniform", "signals-ignored", "index-known"):
        with_signals = replay(world, policy_named(name), 8.0)
        without = replay(replace(world, signals=None), policy_named(name), 8.0)
        assert with_signals.as_dict() == without.as_dict()
        assert without.calibration is None or name == "signals-ignored"


def test_ncis_without_signals_is_the_index() -> None:
    world = replace(drawn(1.0, 1.0), signals=None)
    one, other = (
        replay(world, policy_named(name), 8.0).staleness for name in ("ncis", "index-known")
    )
    assert one == pytest.approx(other, rel=1e-6)


def plain_ncis(alpha: float, per_day: float, share: float, elapsed: float, n: int) -> float:
    beta = -np.log1p(-share) / alpha
    time, change, wrong = elapsed + beta * n, alpha + per_day, per_day * (1.0 - share)
    terms = np.arange(int(time / beta) + 1)
    length = stats.poisson.sf(terms, per_day * (time - terms * beta)).sum() / per_day
    fresh = (wrong / change) ** terms @ stats.poisson.sf(terms, change * (time - terms * beta))
    return float(fresh / change - np.exp(-alpha * time) * length)


@given(
    st.floats(0.01, 1.0),
    st.floats(0.01, 1.0),
    st.floats(0.3, 0.99),
    st.floats(0.1, 20.0),
    st.integers(0, 5),
)
def test_the_index_of_ncis_is_the_papers(
    alpha: float, per_day: float, share: float, elapsed: float, n: int
) -> None:
    expected = plain_ncis(alpha, per_day, share, elapsed, n)
    assert ncis_value(alpha, per_day, share, elapsed, float(n)) == pytest.approx(expected, abs=1e-6)


def test_signals_are_worth_more_than_ignoring_them_and_knowing_more_than_learning() -> None:
    rate = np.exp(np.random.default_rng(1).uniform(np.log(0.005), 0.0, 200))
    world = World.poisson(rate, days=240.0, host=np.arange(200) % 4, seed=2)
    world = world.with_signals(0.8, 0.8, seed=3)
    stale = {
        name: replay(world, policy_named(name), 200 / 3.0).staleness
        for name in ("index", "signals-ignored", "ncis")
    }
    assert stale["ncis"] < stale["index"] < 0.6 * stale["signals-ignored"]
    assert stale["index"] < 1.15 * stale["ncis"]


def test_an_oracle_that_grants_half_a_change_visits_pages_that_never_change() -> None:
    rate = np.array([0.0, 0.0, 0.05, 0.1])
    world = World.poisson(rate, days=300.0, host=np.arange(4), seed=1)
    known, half = (
        replay(world, policy_named(name), 2.0).host_visits
        for name in ("index-known", "index-known-half")
    )
    assert known[:2].tolist() == [0, 0]
    assert (half[:2] > 0).all()


def test_a_shuffled_world_is_the_same_in_another_order() -> None:
    world = drawn(0.5, 0.5)
    other = shuffled(world, 1)
    order = np.argsort(other.change_rate)
    again = other.reordered(order)
    assert other.change_rate.tolist() != world.change_rate.tolist()
    for name in ("starts", "change", "importance", "change_rate", "host", "section"):
        assert getattr(again, name).tolist() == getattr(world, name).tolist()
    for column, same in zip(signals_of(again), signals_of(world), strict=True):
        assert column.tolist() == same.tolist()


def test_several_replays_are_averaged() -> None:
    world = drawn(1.0, 0.0, pages=8)
    names = ("uniform", "index-known")
    ranking = rank(world, names, 2.0, seeds=3, seed=5)
    worlds = [world, shuffled(world, 6), shuffled(world, 7)]
    for score in ranking.scores:
        alone = [
            replay(here, policy_named(score.policy), 2.0, seed=5 + number)
            for number, here in enumerate(worlds)
        ]
        stale = [one.staleness for one in alone]
        assert score.staleness == pytest.approx(np.mean(stale))
        assert score.as_dict() == mean_score(alone).as_dict()
        assert ranking.errors[score.policy] == pytest.approx(np.std(stale, ddof=1) / np.sqrt(3))
    assert set(ranking.columns()["staleness_error"]) == set(ranking.errors.values())
    once = rank(world, names, 2.0, seed=5)
    assert once.errors == {}
    assert "staleness_error" not in once.columns()

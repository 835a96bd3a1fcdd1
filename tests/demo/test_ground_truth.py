"""How fresh copies really were, against a plain count; and what could have been."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from simulation.plain import Scripted, world_of

from recrawl.demo.ground_truth import (
    TOO_LATE,
    Curve,
    judge,
    rank_correlation,
    replayed,
    true_freshness,
)
from recrawl.demo.scenario import draw_scenario
from recrawl.records import Outcome
from recrawl.simulation.replay import replay
from recrawl.simulation.world import World

SECONDS = 10.0
TIMES = st.integers(-8, 85).map(lambda eighths: eighths / 8)
CHANGES = st.integers(1, 80).map(lambda eighths: eighths / 8)


def is_current(world: World, copies: list[tuple[int, float]], page: int, now: float) -> bool:
    """Return whether a page's last copy is of the current version, by counting changes."""
    made = [time for number, time in copies if number == page and time <= now]
    changes = world.change[world.starts[page] : world.starts[page + 1]]
    return bool(made) and not any(max(made) < change <= now for change in changes)


@given(
    st.lists(st.lists(CHANGES, max_size=6, unique=True), min_size=1, max_size=4),
    st.lists(st.tuples(st.integers(0, 3), TIMES), max_size=20),
    st.integers(1, 80).map(lambda eighths: eighths / 8),
)
def test_freshness_is_what_a_plain_count_gives(
    changes: list[list[float]], copies: list[tuple[int, float]], until: float
) -> None:
    world = world_of(changes, SECONDS, importance=[1.0, 2.5, 0.5, 3.0][: len(changes)])
    copies = [(page, time) for page, time in copies if page < world.pages]
    page = np.array([number for number, _ in copies], np.int64)
    time = np.array([when for _, when in copies], np.float64)
    curve = true_freshness(world, page, time, until)
    # Everything happens at eighths of seconds: between two of them nothing changes.
    times = np.arange(0.0, until, 0.125) + 0.0625
    plain = [
        sum(world.importance[p] * is_current(world, copies, p, now) for p in range(world.pages))
        / world.importance.sum()
        for now in times.tolist()
    ]
    assert curve.mean() == pytest.approx(float(np.mean(plain)), abs=1e-9)
    edges = np.linspace(0.0, until, curve.freshness.size + 1)
    for share, first, last in zip(curve.freshness, edges, edges[1:], strict=False):
        inside = np.clip(np.minimum(times + 0.0625, last) - np.maximum(times - 0.0625, first), 0, 1)
        assert share == pytest.approx(float(inside @ np.array(plain) / (last - first)), abs=1e-9)


def test_a_copy_at_the_moment_of_a_change_is_current() -> None:
    world = world_of([[5.0]], SECONDS)
    at, before = (true_freshness(world, np.array([0]), np.array([t])) for t in (5.0, 4.0))
    assert at.mean() == pytest.approx(0.5)
    assert before.mean() == pytest.approx(0.1)


def test_nothing_copied_is_nothing_fresh() -> None:
    world = draw_scenario(20, SECONDS, seed=1).world
    none = np.zeros(0, np.int64)
    assert true_freshness(world, none, np.zeros(0)).mean() == 0.0


def test_visits_of_a_replay_are_judged_as_the_replay_judges_them() -> None:
    world = draw_scenario(60, 20.0, seed=4).world
    policy = Scripted(share=0.02)
    score = replay(world, policy, 10.0, seed=2)
    page = np.array([*range(world.pages), *(number for _, number in policy.visits)])
    time = np.array([*[0.0] * world.pages, *(now for now, _ in policy.visits)])
    curve = true_freshness(world, page, time)
    assert curve.mean() == pytest.approx(score.freshness, abs=1e-9)
    np.testing.assert_allclose(curve.freshness, 1.0 - score.curve, atol=1e-9)


def test_a_mean_between_two_times_is_the_curves() -> None:
    curve = Curve(4.0, np.array([1.0, 0.5, 0.0, 0.25]))
    assert curve.mean(0.0, 2.0) == pytest.approx(0.75)
    assert curve.mean(0.0, 3.5) == pytest.approx((1.0 + 0.5 + 0.125) / 3.5)
    assert curve.mean(0.5, 2.0) == pytest.approx((0.5 + 0.5) / 1.5)
    assert curve.mean(0.0, 4.0) == curve.mean() == pytest.approx(0.4375)


def plain_verdict(
    changes: list[float], copied: float, now: float, *, changed: bool
) -> tuple[bool, bool]:
    """Return whether a change was reported without one, and whether one was missed."""
    possible = [change for change in changes if copied - TOO_LATE < change <= now]
    certain = [change for change in changes if copied < change <= now - TOO_LATE]
    return changed and not possible, not changed and bool(certain)


@given(
    st.lists(st.lists(CHANGES, max_size=6, unique=True), min_size=1, max_size=4),
    st.lists(st.tuples(st.integers(0, 3), TIMES, st.booleans()), max_size=30),
)
def test_visits_are_judged_as_a_plain_count_does(
    changes: list[list[float]], visits: list[tuple[int, float, bool]]
) -> None:
    world = world_of([sorted(times) for times in changes], SECONDS)
    visits = sorted({(p, t): (p, t, c) for p, t, c in visits if p < world.pages}.values())
    expected, outcomes, copies = [], [], dict[int, float]()
    for page, now, changed in visits:
        is_first = page not in copies
        outcomes.append(
            Outcome.FIRST if is_first else Outcome.CHANGED if changed else Outcome.UNCHANGED
        )
        expected.append(
            (False, False)
            if is_first
            else plain_verdict(changes[page], copies[page], now, changed=changed)
        )
        if is_first or changed:
            copies[page] = now
    columns = [np.array([visit[n] for visit in visits], float) for n in range(2)]
    found = judge(world, columns[0].astype(np.int64), columns[1], np.array(outcomes, np.int64))
    assert list(zip(found.is_false.tolist(), found.is_missed.tolist(), strict=True)) == expected
    assert found.number.tolist() == [
        sum(page == other for other, _, _ in visits[:n]) for n, (page, _, _) in enumerate(visits)
    ]
    assert found.after(1).time.size == len(visits) - len(copies)


def test_uniform_is_below_the_best_and_both_spend_the_same() -> None:
    world = draw_scenario(300, 60.0, seed=2).world
    uniform, best = (replayed(world, name, 1_800) for name in ("uniform", "index-known"))
    assert uniform.freshness.size == best.freshness.size == 100
    assert uniform.mean() + 0.03 < best.mean() < 1.0
    assert replayed(world, "uniform", 3_600).mean() > uniform.mean()
    # A policy that learns, such as the crawler's frontier, is between them.
    assert uniform.mean() < replayed(world, "index", 1_800).mean() <= best.mean() + 0.01


def test_rates_are_compared_for_pages_with_enough_visits() -> None:
    true = np.array([1.0, 2.0, 3.0, 4.0, 5.0])
    estimated = np.array([0.1, 0.4, 0.3, 0.9, 0.0])
    visits = np.array([10, 10, 11, 12, 9])
    # Of 1, 2, 3, 4 the ranks are 1, 3, 2, 4: 1 − 6·2 / (4·15).
    assert rank_correlation(estimated, true, visits) == pytest.approx(0.8)
    assert np.isnan(rank_correlation(estimated, true, visits - 2))


def test_histories_follow_from_the_seed() -> None:
    one, same, other = (draw_scenario(50, 30.0, seed) for seed in (1, 1, 2))
    assert one.changes() == same.changes() != other.changes()
    assert one.age.tolist() == same.age.tolist()
    assert len(one.changes()) == len(one.pages) == 50
    assert one.seconds == 30.0
    assert sum(map(len, one.changes())) == one.world.change.size

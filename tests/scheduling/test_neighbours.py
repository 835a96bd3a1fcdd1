"""Neighbours as evidence: activity against a plain version, and how much it helps."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scheduling.plain import (
    Activity,
    PlainFrontier,
    Shadow,
    changes_together,
    poisson_changes,
    replay,
    tables_of,
)

from recrawl.estimation.octaves import ONE
from recrawl.kernels.jit import Floats, Ints
from recrawl.scheduling.frontier import Frontier
from recrawl.scheduling.neighbours import effective_since

#: Readings are kept in single precision and added up over 64 bins.
SINGLE = 64 * 2.0**-24
#: Beliefs, which say how many changes were to be expected, are kept in units of 1/65535.
ROUNDED = 2e-3
HOSTS = [0, 0, 0, 1, 1, 2]
SECTION = np.arange(60) % 6


def begun(
    budget: float, importance: Floats, section: Ints, host: Ints, *, neighbours: bool = True
) -> Frontier:
    frontier = Frontier(
        budget, half_life=None, neighbours=neighbours, rhythm=False, slack=0.0, spend="all"
    )
    frontier.add(
        np.arange(section.size),
        now=0.0,
        importance=importance,
        host=host,
        section=section,
        last_visit=0.0,
    )
    return frontier


def shadowed(importance: Floats) -> Shadow:
    return Shadow(
        begun(20.0, importance, SECTION, np.array(HOSTS)[SECTION]),
        PlainFrontier(20.0, importance, section=SECTION, host=HOSTS),
        since=3.0,
    )


def activity_of(shadow: Shadow) -> Activity:
    assert shadow.plain.activity is not None
    return shadow.plain.activity


def assert_activity_agrees(shadow: Shadow, now: float) -> None:
    tables, activity = tables_of(shadow.frontier), activity_of(shadow)
    for section in range(6):
        for since in np.linspace(now - 20.0, now, 43).tolist():
            ours = effective_since(tables, section, since, now)
            assert ours == pytest.approx(
                activity.elapsed(section, since, now), rel=ROUNDED, abs=ROUNDED * 12.0
            )
    assert tables.hosts["odds"][:3] == pytest.approx(list(activity.odds.values()), abs=0.05)


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("kind", ["together", "alone"])
def test_activity_and_beliefs_are_those_of_the_plain_version(kind: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    importance = rng.lognormal(0.0, 0.7, 60)
    changes = (
        changes_together(rng, SECTION, 0.15, 0.6, 40.0)
        if kind == "together"
        else poisson_changes(rng, rng.lognormal(-1.5, 1.0, 60), 40.0)
    )
    shadow = shadowed(importance)
    replay(shadow, changes, importance, [0.1 * number for number in range(1, 401)])
    assert_activity_agrees(shadow, 40.37)
    weight = tables_of(shadow.frontier).pages["weight"][:60]
    assert weight[:, :14] / ONE == pytest.approx(shadow.plain.beliefs.weight, abs=2e-3)
    # Where activity has just risen, a page can come up to a tick too late.
    assert shadow.same > 0.99 * shadow.taken
    assert shadow.value > 0.999 * shadow.best


gaps = st.sampled_from([0.001, 0.03, 0.2, 1.0, 11.0, 40.0])
visits = st.tuples(
    gaps, st.integers(0, 59), st.booleans(), st.sampled_from([math.nan, 0.0, 0.01, 0.5, 3.0, 30.0])
)


@settings(max_examples=60)
@given(st.lists(visits, min_size=1, max_size=40))
def test_activity_agrees_whatever_is_reported(story: list[tuple[float, int, bool, float]]) -> None:
    shadow = shadowed(np.ones(60))
    shadow.take(0.1, 1)
    now = 0.1
    for gap, page, changed, age in story:
        now += gap
        shadow.frontier.report([page], now, [changed], age=age)
        shadow.plain.report([page], now, [changed], age)
    assert_activity_agrees(shadow, now + 0.05)


def test_time_runs_fast_where_a_section_changed_and_is_real_before() -> None:
    section = np.repeat([0, 1], 30)
    frontier = begun(60.0, np.ones(60), section, np.zeros(60, np.int64))
    frontier.take(0.1, 1)
    for number in range(1, 5):
        frontier.report(range(20), 0.1 * number, changed=[False] * 20)
    frontier.report(range(20), 0.5, changed=[True] * 20)
    tables = tables_of(frontier)
    busy, quiet = (effective_since(tables, here, 0.4, 0.5) for here in (0, 1))
    assert busy > 2.0 * 0.1
    assert busy > quiet > 0.1
    assert effective_since(tables, 0, 0.1, 0.4) < 0.3
    assert effective_since(tables, 0, 0.5, 0.5) == 0.0


def test_a_change_calls_for_visits_to_the_section() -> None:
    section = np.repeat([0, 1], 30)
    frontier = begun(20.0, np.ones(60), section, section)
    frontier.take(0.1, 1)
    for number in range(1, 4):
        frontier.report(range(60), 0.5 * number, changed=[False] * 60)
    sibling, stranger = frontier.due([29, 59])
    # The one that was reported later knows a little more about the fleet.
    assert sibling == pytest.approx(stranger, rel=0.02)
    frontier.report(range(10), 2.0, changed=[True] * 10)
    sibling, stranger = frontier.due([29, 59])
    assert sibling < stranger
    frontier.report(range(10), 2.1, changed=[False] * 10)
    assert set(frontier.take(2.3, 6).tolist()) <= set(range(10, 30))


def test_without_neighbours_effective_time_is_real_time() -> None:
    section = np.repeat([0, 1], 30)
    frontier = begun(60.0, np.ones(60), section, section, neighbours=False)
    frontier.take(0.1, 1)
    frontier.report(range(20), 0.5, changed=[True] * 20)
    assert effective_since(tables_of(frontier), 0, 0.2, 0.7) == pytest.approx(0.5)


def staleness(changes: list[Floats], section: Ints, host: Ints, *, neighbours: bool) -> float:
    frontier = begun(50.0, np.ones(200), section, host, neighbours=neighbours)
    times = [0.1 * number for number in range(1, 801)]
    return replay(frontier, changes, np.ones(200), times).staleness


def test_neighbours_help_where_pages_change_together() -> None:
    section = np.arange(200) // 20
    for seed in range(3):
        rng = np.random.default_rng(seed)
        changes = changes_together(rng, section, 0.1, 0.6, 80.0)
        alone, together = (
            staleness(changes, section, section // 5, neighbours=flag) for flag in (False, True)
        )
        assert together < 0.7 * alone


def test_neighbours_do_little_harm_where_each_page_changes_alone() -> None:
    section = np.arange(200) // 20
    alone = together = 0.0
    for seed in range(8):
        rng = np.random.default_rng(seed)
        changes = poisson_changes(rng, rng.lognormal(-2.0, 1.0, 200), 80.0)
        alone += staleness(changes, section, section // 5, neighbours=False)
        together += staleness(changes, section, section // 5, neighbours=True)
    assert together < 1.02 * alone

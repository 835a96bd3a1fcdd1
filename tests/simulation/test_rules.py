"""The rules that adapt intervals, against plain ones for one page, written after their sources."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from recrawl.errors import ArgumentError
from recrawl.simulation.policies import policy_named
from recrawl.simulation.policies.adaptive import Nutch, StormCrawler
from recrawl.simulation.policies.ranked import Uniform
from recrawl.simulation.policy import PageSet, Policy, Scaled
from recrawl.simulation.replay import replay
from recrawl.simulation.world import World

#: A rule for one page: what it does when visited, giving when it is due again.
PlainRule = Callable[[float, bool], float]


def pages_of(count: int) -> PageSet:
    ones, numbers = np.ones(count), np.arange(count)
    return PageSet(ones, numbers * 0, numbers, np.full(count, np.nan), 1000.0)


def plain_nutch() -> tuple[float, PlainRule]:
    """AdaptiveFetchSchedule with nutch-default.xml, in seconds as there."""
    day = 86_400.0
    state = {"interval": 30 * day, "modified": 0.0}

    def visit(now: float, changed: bool) -> float:
        fetch_time = now * day
        interval = state["interval"]
        if changed:
            interval *= 1.0 - 0.2
            state["modified"] = fetch_time
        else:
            interval *= 1.0 + 0.4
        delta = fetch_time - state["modified"]
        interval = max(interval, delta)
        offset = delta * 0.3
        if delta > 0 and offset > 365 * day:
            offset = int(offset) // int(delta) * 365 * day
        interval = min(max(interval, 60.0), 365 * day)
        state["interval"] = interval
        return (fetch_time - offset + interval) / day

    return 30.0, visit


def plain_storm(
    first: int, least: int, most: int, increase: float, decrease: float
) -> tuple[float, PlainRule]:
    """AdaptiveScheduler, in whole minutes as there."""
    state = {"interval": first}

    def visit(now: float, changed: bool) -> float:
        interval = state["interval"]
        if changed:
            interval = int((1.0 - decrease) * interval + decrease * least)
        else:
            interval = min(int(interval * (1.0 + increase)), most)
        state["interval"] = interval
        return now + interval / 1440.0

    return first / 1440.0, visit


RULES: dict[str, Callable[[], tuple[float, PlainRule]]] = {
    "nutch": plain_nutch,
    "stormcrawler": lambda: plain_storm(1440, 60, 20_160, 0.5, 0.5),
    "news": lambda: plain_storm(720, 90, 129_600, 0.5, 0.2),
}


@pytest.mark.parametrize("name", RULES)
def test_rules_are_due_when_their_sources_say(name: str) -> None:
    """PageSet from one that never changes to one that always does, over fifteen years."""
    rng = np.random.default_rng(1)
    chance = np.repeat([0.0, 0.02, 0.2, 0.5, 0.8, 1.0], 4)
    run = policy_named(name).start(pages_of(24), 1.0, tick=0.25, seed=0)
    plain = [RULES[name]() for _ in chance]
    due = np.array([first for first, _ in plain])
    for number in range(1, 4 * 365 * 15):
        now = number * 0.25
        page = run.take(now, 0)
        assert page.tolist() == np.flatnonzero(due <= now).tolist()
        changed = rng.random(page.size) < chance[page]
        run.report(page, now, changed)
        for visited, bit in zip(page.tolist(), changed.tolist(), strict=True):
            due[visited] = plain[visited][1](now, bit)


def test_nutch_by_hand() -> None:
    """Changed on day 30: 24 days. Unchanged on day 54: 33.6 days, 0.3 · 24 of them forward."""
    run = Nutch().start(pages_of(1), 1.0, tick=0.1, seed=0)
    assert run.take(29.9, 0).size == 0
    run.report(run.take(30.0, 0), 30.0, np.array([True]))
    assert run.take(53.9, 0).size == 0
    run.report(run.take(54.0, 0), 54.0, np.array([False]))
    assert run.take(80.3, 0).size == 0
    assert run.take(80.5, 0).tolist() == [0]


def test_stormcrawler_by_hand() -> None:
    """Unchanged after a day: 36 hours. Changed then: (36 h + 1 h) / 2. Never above 14 days."""
    run = StormCrawler().start(pages_of(1), 1.0, tick=0.1, seed=0)
    run.report(run.take(1.0, 0), 1.0, np.array([False]))
    assert (run.take(2.49, 0).size, run.take(2.5, 0).size) == (0, 1)
    run.report(np.array([0]), 2.5, np.array([True]))
    assert (run.take(3.27, 0).size, run.take(3.271, 0).size) == (0, 1)
    for now in range(10, 30):
        run.report(np.array([0]), float(now), np.array([False]))
    assert (run.take(42.9, 0).size, run.take(43.0, 0).size) == (0, 1)


@pytest.mark.parametrize("rule", [StormCrawler(), StormCrawler.news()])
def test_crawl_rates_settle_in_proportion_to_change_rates(rule: StormCrawler) -> None:
    """A share ln(1+i) / (ln(1+i) − ln(1−d)) of visits finds a change, whatever the page."""
    free = replace(rule, shortest=0.0, longest=1e9)
    grows, shrinks = np.log1p(rule.increase), np.log1p(-rule.decrease)
    world = World.poisson(np.repeat([0.5, 2.0], 100), days=400.0, seed=1)
    score = replay(world, free, 1.0, tick=0.02)
    assert 1.0 - score.wasted == pytest.approx(grows / (grows - shrinks), abs=0.01)


@pytest.mark.parametrize("name", ["nutch", "stormcrawler", "news"])
@pytest.mark.parametrize("every", [3.0, 20.0])
def test_scaled_rules_spend_the_budget(name: str, every: float) -> None:
    rate = np.random.default_rng(0).lognormal(-3.0, 1.0, 100)
    world = World.poisson(rate, days=400.0, seed=1)
    score = replay(world, policy_named(f"{name}-scaled"), 100 / every)
    assert score.policy == f"{name}-scaled"
    assert score.budget_used == pytest.approx(1.0, abs=0.01)


@pytest.mark.parametrize("rule", [Nutch(), StormCrawler()])
def test_a_scaled_rule_is_the_rule_in_a_slower_world(rule: Policy) -> None:
    rate = np.random.default_rng(0).lognormal(-3.0, 1.0, 30)
    world = World.poisson(rate, days=400.0, seed=1)
    slower = replace(world, days=1600.0, change=world.change * 4.0, change_rate=rate / 4.0)
    one = replay(world, rule, 8.0, tick=0.25)
    other = replay(slower, Scaled(rule, stretch=4.0), 2.0, tick=1.0)
    assert other.visits == one.visits
    assert other.staleness == pytest.approx(one.staleness, rel=1e-12)


@pytest.mark.parametrize("name", ["poisson-known", "explore-commit"])
def test_what_has_no_intervals_of_its_own_cannot_be_scaled_and_stays_the_same(name: str) -> None:
    """Rates, days and budget are given in the slow clock's time."""
    world = World.poisson(np.random.default_rng(0).lognormal(-1.0, 1.0, 50), days=100.0, seed=1)
    rule = policy_named(name)
    one, other = (replay(world, policy, 40.0, seed=2) for policy in (rule, Scaled(rule, 4.0)))
    assert other.visits == one.visits
    assert other.staleness == pytest.approx(one.staleness, rel=1e-9)


def test_a_rule_that_cannot_spend_so_much_comes_as_near_as_it_can() -> None:
    """No page is visited twice in a tick."""
    world = World.poisson(np.full(5, 0.1), days=20.0)
    score = replay(world, policy_named("nutch-scaled"), 100.0, tick=0.5)
    assert 0.08 < score.budget_used <= 0.1


def test_only_rules_without_a_budget_are_scaled() -> None:
    with pytest.raises(ArgumentError, match="rule: 'uniform' keeps its budget"):
        Scaled(Uniform())
    with pytest.raises(ArgumentError, match=r"stretch: 0\.0 is not"):
        Scaled(Nutch(), stretch=0.0)

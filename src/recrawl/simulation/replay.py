"""A policy led through a world, tick by tick, and what came of it."""

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from recrawl.errors import ArgumentError
from recrawl.kernels.jit import Ints, read_only
from recrawl.simulation.ledger import Ledger
from recrawl.simulation.policy import Pages, Policy
from recrawl.simulation.scaled import Scaled
from recrawl.simulation.score import Score
from recrawl.simulation.world import World

#: Called with what is done and what there is to do, None where nobody knows.
Progress = Callable[[int, int | None], object]

QUARTER_DAY = 0.25
#: A window has at least so many ticks, and so has the mean gap between visits to a page.
TICKS_A_WINDOW = 1_000
TICKS_A_GAP = 25
#: What a number of visits may be off by rounding.
ROUNDING = 1e-9
#: How near a scaled rule comes to its budget, and how many replays it may take to find out.
NEAR = 0.01
MAX_REPLAYS = 30
#: A step of the search goes at most so far, as a rule may answer with a jump.
LONGEST_STEP = 8.0
#: How often progress is told, in ticks.
TELL_EVERY = 50


def replay(
    world: World,
    policy: Policy,
    budget: float,
    *,
    tick: float | None = None,
    seed: int = 0,
    progress: Progress | None = None,
) -> Score:
    """Lead a policy through a world and score it.

    Args:
        world: What really happens.
        policy: Who decides.
        budget: Visits a day.
        tick: How often the policy may act, in days. Unless given it is a quarter of a day, or such
            a part of one that the window has 1,000 ticks and a page's mean gap, pages / budget, 25.
        seed: For policies that draw lots.
        progress: Called now and then with how far the replay is.

    Every copy is fresh, and was just visited, when the window starts. At each tick the policy is
    given what the budget allows so far less what is spent. A visit sees the changes up to its tick,
    that one included. A copy is stale from the first change that no visit has seen until the next
    visit, or the window's end.

    Raises:
        ArgumentError: Something given cannot be used, or the policy breaks its promises.

    >>> from recrawl.simulation.policies import policy_named
    >>> world = World.poisson(np.linspace(0.1, 2.0, 200), days=100.0)
    >>> score = replay(world, policy_named("uniform"), budget=200.0)
    >>> round(score.freshness, 2), score.visits, round(score.budget_used, 3)
    (0.64, 20000, 1.0)
    """
    if not 0.0 < budget < np.inf:
        raise ArgumentError(f"budget: {budget} is not a positive number of visits a day")
    step = _tick(world, budget) if tick is None else tick
    if not 0.0 < step <= world.days:
        raise ArgumentError(f"tick: {tick} days is not above 0 and within {world.days:g} days")
    tell = progress or (lambda _done, _total: None)
    if isinstance(policy, Scaled) and policy.stretch is None:
        return _replay_scaled(world, policy, budget, step, seed, tell)
    return _replay(world, policy, budget, step, seed, tell)


def _tick(world: World, budget: float) -> float:
    at_most = min(QUARTER_DAY, world.days / TICKS_A_WINDOW, world.pages / budget / TICKS_A_GAP)
    return 1.0 / math.ceil(1.0 / at_most - ROUNDING)


def _replay(
    world: World, policy: Policy, budget: float, tick: float, seed: int, progress: Progress
) -> Score:
    known = world.change_rate if policy.knows_rates else np.full(world.pages, np.nan)
    pages = Pages(world.importance, world.host, world.section, known, world.days)
    run = policy.start(pages, budget, tick=tick, seed=seed)
    ledger = Ledger(world)
    ticks = math.floor(world.days / tick + ROUNDING)
    spent = 0
    for number in range(1, ticks + 1):
        now = min(number * tick, world.days)
        allowed = max(math.floor(budget * now - spent + ROUNDING), 0)
        page = read_only(np.ascontiguousarray(run.take(now, allowed), np.int64))
        if policy.keeps_budget:
            _check_promise(policy, page, allowed, now)
        run.report(page, now, ledger.visit(page, now))
        spent += page.size
        if number % TELL_EVERY == 0:
            progress(number, ticks)
    return ledger.close(policy.name, budget)


def _check_promise(policy: Policy, page: Ints, allowed: int, now: float) -> None:
    if page.size > allowed:
        raise ArgumentError(
            f"policy: '{policy.name}' took {page.size} visits at {now:g}, where {allowed} were "
            "allowed; say keeps_budget=False if it spends what it spends"
        )


def _replay_scaled(
    world: World, policy: Scaled, budget: float, tick: float, seed: int, progress: Progress
) -> Score:
    """Search for the stretch with which a rule spends the budget, on a logarithmic scale.

    A rule stretched twice makes about half as many visits: that is the next guess until one guess
    spends too much and another too little; from then on the range between them is halved.
    """
    stretch, too_short, too_long = 1.0, 0.0, math.inf
    tried = []
    for _ in range(MAX_REPLAYS):
        score = _replay(world, replace(policy, stretch=stretch), budget, tick, seed, progress)
        tried.append(score)
        if abs(score.budget_used - 1.0) <= NEAR:
            break
        if score.budget_used > 1.0:
            too_short = stretch
        else:
            too_long = stretch
        if too_short > 0.0 and too_long < math.inf:
            stretch = math.sqrt(too_short * too_long)
        else:
            stretch *= min(max(score.budget_used, 1.0 / LONGEST_STEP), LONGEST_STEP)
    return min(tried, key=lambda score: abs(score.budget_used - 1.0))

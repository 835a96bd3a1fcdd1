"""Run a policy in a world, tick by tick, and score it."""

import math
from dataclasses import replace

import numpy as np

from recrawl.errors import ArgumentError
from recrawl.kernels.jit import Ints, read_only
from recrawl.progress import Progress, no_progress
from recrawl.quantities import duration, rate
from recrawl.simulation.calibration import Calibration
from recrawl.simulation.ledger import Ledger
from recrawl.simulation.policy import (
    PageSet,
    Policy,
    Predicts,
    Scaled,
    TrueSignals,
    UsesSignals,
)
from recrawl.simulation.score import Score
from recrawl.simulation.signals import KIND, SignalQueue
from recrawl.simulation.world import World

QUARTER_DAY = 0.25
#: Minimum ticks per window, and per mean gap between visits to a page.
TICKS_PER_WINDOW = 1_000
TICKS_PER_GAP = 25
#: The rounding error that a number of visits may have.
ROUNDING = 1e-9
#: How close to its budget a scaled rule must come, and the maximum number of replays for it.
BUDGET_TOLERANCE = 0.01
MAX_REPLAYS = 30
#: The largest factor of a search step, as a rule may respond with a jump.
MAX_STEP = 8.0
#: Ticks between two reports of progress.
REPORT_EVERY = 50


def replay(
    world: World,
    policy: Policy,
    budget: float,
    *,
    tick: float | None = None,
    seed: int = 0,
    progress: Progress | None = None,
) -> Score:
    """Run a policy in a world and score it.

    Args:
        world: What really happens.
        policy: Decides which pages to visit.
        budget: Visits per day.
        tick: Days between two decisions. By default a quarter of a day, or less, so that the
            window has 1,000 ticks and a page's mean gap, pages / budget, has 25.
        seed: For policies that use randomness.
        progress: Called periodically with the progress of the replay.

    Every page has just been visited and every copy is fresh when the window starts. At each tick
    the policy may spend what the budget allows so far minus what was spent. A visit sees the
    changes up to and including its tick. A copy is stale from the first change not yet seen by a
    visit until the next visit, or the end of the window.

    Raises:
        ArgumentError: An argument is invalid, or the policy breaks its promises.

    >>> from recrawl.simulation.policies import policy_named
    >>> world = World.poisson(np.linspace(0.1, 2.0, 200), days=100.0)
    >>> score = replay(world, policy_named("uniform"), budget=200.0)
    >>> round(score.freshness, 2), score.visits, round(score.budget_used, 3)
    (0.64, 20000, 1.0)
    """
    budget = rate("budget", budget)
    if not 0.0 < budget < np.inf:
        raise ArgumentError(f"budget: {budget} is not a positive number of visits per day")
    step = _tick(world, budget) if tick is None else duration("tick", tick)
    if not 0.0 < step <= world.days:
        raise ArgumentError(f"tick: {step} days is not above 0 and within {world.days:g} days")
    notify = progress or no_progress
    if isinstance(policy, Scaled) and policy.stretch is None:
        return _replay_scaled(world, policy, budget, step, seed, notify)
    return _replay(world, policy, budget, step, seed, notify)


def _tick(world: World, budget: float) -> float:
    longest = min(QUARTER_DAY, world.days / TICKS_PER_WINDOW, world.pages / budget / TICKS_PER_GAP)
    return 1.0 / math.ceil(1.0 / longest - ROUNDING)


def _replay(
    world: World, policy: Policy, budget: float, tick: float, seed: int, progress: Progress
) -> Score:
    run = policy.start(_known(world, policy), budget, tick=tick, seed=seed)
    ledger, calibration = Ledger(world), Calibration()
    queue = None if world.signals is None else SignalQueue(world.signals)
    ticks = math.floor(world.days / tick + ROUNDING)
    spent = 0
    # Checked once, as it takes longer than a visit.
    receiver = run if queue is not None and isinstance(run, UsesSignals) else None
    predicts = run if isinstance(run, Predicts) else None
    for number in range(1, ticks + 1):
        now = min(number * tick, world.days)
        allowed = max(math.floor(budget * now - spent + ROUNDING), 0)
        if queue is not None and receiver is not None:
            receiver.signal(queue.until(now), now, KIND)
        page = read_only(np.ascontiguousarray(run.take(now, allowed), np.int64))
        if policy.keeps_budget:
            _check_promise(policy, page, allowed, now)
        changed = ledger.visit(page, now)
        if predicts is not None:
            calibration.add(predicts.chance(page, now), changed)
        run.report(page, now, changed)
        spent += page.size
        if number % REPORT_EVERY == 0:
            progress(number, ticks)
    score = ledger.close(policy.name, budget)
    return replace(score, calibration=calibration) if predicts is not None else score


def _known(world: World, policy: Policy) -> PageSet:
    """Return what a policy knows about the pages."""
    rate = world.change_rate if policy.knows_rates else np.full(world.pages, np.nan)
    pages = PageSet(world.importance, world.host, world.section, rate, world.days)
    if world.signals is None or not policy.knows_rates:
        return pages
    return replace(pages, true_signals=TrueSignals(world.signals.precision, world.signals.recall))


def _check_promise(policy: Policy, page: Ints, allowed: int, now: float) -> None:
    if page.size > allowed:
        raise ArgumentError(
            f"policy: '{policy.name}' took {page.size} visits at {now:g}, where {allowed} were "
            "allowed; set keeps_budget=False if it does not obey the limit"
        )


def _replay_scaled(
    world: World, policy: Scaled, budget: float, tick: float, seed: int, progress: Progress
) -> Score:
    """Search for the stretch at which a rule spends the budget, on a logarithmic scale.

    Doubling the stretch about halves the visits, which gives the next guess until one guess spends
    too much and another too little; from then on the range between them is bisected.
    """
    stretch, too_short, too_long = 1.0, 0.0, math.inf
    tried = []
    for _ in range(MAX_REPLAYS):
        score = _replay(world, replace(policy, stretch=stretch), budget, tick, seed, progress)
        tried.append(score)
        if abs(score.budget_used - 1.0) <= BUDGET_TOLERANCE:
            break
        if score.budget_used > 1.0:
            too_short = stretch
        else:
            too_long = stretch
        if too_short > 0.0 and too_long < math.inf:
            stretch = math.sqrt(too_short * too_long)
        else:
            stretch *= min(max(score.budget_used, 1.0 / MAX_STEP), MAX_STEP)
    return min(tried, key=lambda score: abs(score.budget_used - 1.0))

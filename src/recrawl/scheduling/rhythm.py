"""Learn the weekly rhythm: at which hours of the week changes happen, so that visits follow them.

The week is divided into bins. As for neighbours, a visit spreads the changes expected of it, and
the change it found, if any, over the bins since the previous visit; a bin's speed is

    (prior + found) / (prior + expected)

relative to the mean speed. The *lead* is how far a clock with these speeds is ahead of a plain one:
it is 0 on average over the week, and the same at its end as at its start. Between two times,
effective time is plain time plus the difference of their leads. And of two times to visit a page
that is likely stale, the one with the larger lead is better: most changes have happened, and few
will follow soon. How far all this is trusted is learned as the odds that it predicted the outcomes
of visits better than plain time did.

If the times of changes are those at which a crawl recorded them, the rhythm is partly that of the
crawl.
"""

import math

from recrawl.kernels.jit import bare_step, compiled, small_bare_step
from recrawl.scheduling.state import WEEK_BINS, Tables

WEEK = 7.0
BIN = WEEK / WEEK_BINS
#: The number of changes that move the speed of a bin halfway.
BIN_PRIOR = 5.0
#: Gaps of more days than this say nothing about the hour of the week.
MAX_GAP = 14.0
#: Speeds are recomputed after this many days.
REFIT_EVERY = 3.5
#: The log-odds stay within ± this, so that they can still reverse.
MAX_ODDS = 10.0
#: Effective time is at least this share of what it is without the rhythm.
MIN_SHARE = 0.05
#: Hazards are limited to this: beyond it a visit is certain to find a change.
MAX_HAZARD = 20.0


@small_bare_step
def lead(tables: Tables, time: float) -> float:
    """Return how many days the weekly clock is ahead at a time."""
    ahead = tables.shared["week_lead"][0]
    position = (time / WEEK - math.floor(time / WEEK)) * WEEK_BINS
    index = min(int(position), WEEK_BINS - 1)
    return float(ahead[index] + (position - index) * (ahead[index + 1] - ahead[index]))


@small_bare_step
def _area(tables: Tables, time: float) -> float:
    """Return the integral of the lead from the origin of time."""
    ahead, area = tables.shared["week_lead"][0], tables.shared["week_area"][0]
    weeks = math.floor(time / WEEK)
    position = (time / WEEK - weeks) * WEEK_BINS
    index = min(int(position), WEEK_BINS - 1)
    part = position - index
    here = BIN * part * (ahead[index] + 0.5 * part * (ahead[index + 1] - ahead[index]))
    return float(weeks * area[WEEK_BINS] + area[index] + here)


@small_bare_step
def is_off(tables: Tables) -> bool:
    """Whether the rhythm is switched off, or has nothing to say yet."""
    return bool(tables.shared["week_trust"][0] <= 0.0)


@small_bare_step
def with_rhythm(tables: Tables, elapsed: float, since: float, now: float) -> float:
    """Return an effective time since ``since``, adjusted for the weekly rhythm if trusted."""
    if is_off(tables) or since == -math.inf:
        return elapsed
    ahead = lead(tables, now) - lead(tables, since)
    return float(max(elapsed + tables.shared["week_trust"][0] * ahead, MIN_SHARE * elapsed))


@small_bare_step
def timing(tables: Tables, now: float, elapsed: float) -> float:
    """Return how much better a visit now is than later, in days of a stale copy.

    Later means within as much time as the page has waited, in whole weeks if that is more than one.
    """
    if is_off(tables) or not elapsed > 0.0:
        return 0.0
    ahead = elapsed if elapsed < WEEK else WEEK * math.floor(elapsed / WEEK + 0.5)
    coming = (_area(tables, now + ahead) - _area(tables, now)) / ahead
    return float(tables.shared["week_trust"][0] * (lead(tables, now) - coming))


@bare_step
def learn_rhythm(
    tables: Tables,
    since: float,
    now: float,
    elapsed: float,
    hazard: float,
    changed: bool,  # noqa: FBT001
) -> None:
    """Spread a visit's outcome over the bins of the week since the previous visit.

    Args:
        tables: The frontier's tables.
        since: Time of the previous visit.
        now: Time of this visit.
        elapsed: The effective time between them.
        hazard: The changes expected, in effective time.
        changed: Whether the page had changed.
    """
    shared, gap = tables.shared, now - since
    if shared["week_odds"][0] == -math.inf or not 0.0 < gap < MAX_GAP or not hazard > 0.0:
        return
    hazard = min(hazard, MAX_HAZARD)
    ahead = max(gap + lead(tables, now) - lead(tables, since), MIN_SHARE * gap)
    by_rhythm, plainly = hazard * ahead / elapsed, hazard * gap / elapsed
    gain = plainly - by_rhythm
    if changed:
        gain = math.log(math.expm1(-by_rhythm) / math.expm1(-plainly))
    shared["week_odds"][0] = min(max(shared["week_odds"][0] + gain, -MAX_ODDS), MAX_ODDS)
    density = hazard / -math.expm1(-hazard) / ahead if changed else 0.0
    _spread(tables, since, gap, hazard / gap, density)


@bare_step
def _spread(tables: Tables, since: float, gap: float, expected: float, found: float) -> None:
    """Add changes per day, expected and found, to the bins of the week that a gap covers."""
    shared = tables.shared
    curve = shared["week_lead"][0]
    all_expected, all_found = shared["week_expected"][0], shared["week_found"][0]
    # A whole week covers each bin once; the rest of the gap may reach into another week.
    weeks = math.floor(gap / WEEK)
    begin = since - WEEK * math.floor(since / WEEK)
    end = begin + gap - WEEK * weeks
    for column in range(WEEK_BINS):
        low, high = column * BIN, (column + 1) * BIN
        days = weeks * BIN + max(min(end, high) - max(begin, low), 0.0)
        days += max(min(end - WEEK, high) - low, 0.0)
        all_expected[column] += expected * days
        # Where the weekly clock runs faster, a change is more likely.
        all_found[column] += found * (days + (curve[column + 1] - curve[column]) * days / BIN)


@compiled
def begin_rhythm(tables: Tables, now: float) -> None:
    """Compute the speeds from what an earlier frontier learned."""
    refit_rhythm(tables, now)


@bare_step
def refit_rhythm(tables: Tables, now: float) -> None:
    """Recompute the speeds, and how far they are trusted, if it is time."""
    shared = tables.shared
    if shared["week_odds"][0] == -math.inf or now < shared["week_refit_at"][0]:
        return
    first = shared["week_refit_at"][0] == -math.inf
    shared["week_refit_at"][0] = now + (WEEK if first else REFIT_EVERY)
    found = expected = 0.0
    for column in range(WEEK_BINS):
        found += shared["week_found"][0, column]
        expected += shared["week_expected"][0, column]
    if first or not found > 0.0 or not expected > 0.0:
        return
    curve, area = shared["week_lead"][0], shared["week_area"][0]
    total = 0.0
    for column in range(WEEK_BINS):
        usual = BIN_PRIOR + shared["week_expected"][0, column] * found / expected
        curve[column + 1] = (BIN_PRIOR + shared["week_found"][0, column]) / usual
        total += curve[column + 1]
    curve[0] = mean = 0.0
    for column in range(WEEK_BINS):
        curve[column + 1] = curve[column] + BIN * (curve[column + 1] * WEEK_BINS / total - 1.0)
        mean += 0.5 * (curve[column] + curve[column + 1]) / WEEK_BINS
    curve[WEEK_BINS] = curve[0]
    for column in range(WEEK_BINS + 1):
        curve[column] -= mean
    for column in range(WEEK_BINS):
        area[column + 1] = area[column] + 0.5 * BIN * (curve[column] + curve[column + 1])
    shared["week_trust"][0] = 1.0 / (1.0 + math.exp(-shared["week_odds"][0]))

"""Use neighbours as evidence: the recent activity of a host and of each of its sections.

Pages of one site change together: a release, a new template, an editor's afternoon. So each host
and each section has an *activity*: time runs faster where more pages changed than expected and
slower where fewer did. A page's *effective* time since its last visit is measured by the activity
of its section. Everything derived from a belief (the chance of being fresh, the value of a visit,
what a visit teaches) uses effective time.

The recent past is divided into bins. A visit spreads the changes expected of it over the bins since
the previous visit; if it found a change, it spreads one change over the same bins in proportion to
how likely each contains it (the E-step of EM). A bin's speed is

    (prior + found) / (prior + expected)

for the host, and for a section the same around the host's speed. Changes accumulate in the bin
where they happened, because visits to copies made after it find nothing.

How far a host's activity is trusted is learned too: the odds that it has predicted the outcomes of
visits better than real time did.
"""

import math

import numpy as np

from recrawl.estimation.octaves import Weights, hazard
from recrawl.kernels.jit import bare_step, compiled, small_bare_step
from recrawl.scheduling.state import BINS, NONE, STALE, Rows, Singles, Tables

#: Bins in the mean time between two visits of a page.
BINS_PER_GAP = 16
#: The number of changes that move the speed of a host, of one of its sections, or of its only one
#: halfway. A section's speed is relative to its host's, so fewer are needed to move it.
HOST_PRIOR = np.float32(2.0)
SECTION_PRIOR = np.float32(0.15)
ONLY_SECTION_PRIOR = np.float32(0.25)
#: The log-odds that activity predicts better stay within ± this, so that they can still reverse.
MAX_ODDS = 10.0
#: The minimum speed: a page whose time stood still would never be visited again.
MIN_SPEED = 1e-3
#: The number of visits over which a host's beliefs are calibrated.
CALIBRATION_VISITS = 65_536.0
#: Pages are rescheduled when activity makes one of them look older by this share.
MAX_AHEAD = 1.0


@small_bare_step
def ignores_neighbours(tables: Tables, host: int) -> bool:
    """Whether neighbours are switched off for a host, or nothing has been taken yet."""
    return bool(
        tables.hosts["odds"][host] == -math.inf or tables.shared["bin_width"][0] == math.inf
    )


@bare_step
def _advance(activity: Rows, row: int, bin_now: int) -> None:
    """Make the present bin a row's newest; reused columns start empty."""
    newest = activity["newest"][row]
    if bin_now <= newest:
        return
    for number in range(max(newest + 1, bin_now - BINS + 1), bin_now + 1):
        column = number % BINS
        activity["found"][row, column] = 0.0
        activity["expected"][row, column] = 0.0
        activity["assumed"][row, column] = 0.0
    activity["newest"][row] = bin_now
    activity["refreshed"][row] = STALE


@bare_step
def _refresh_host(tables: Tables, host: int, bin_now: int) -> None:
    """Bring a host's cumulative time up to date."""
    activity = tables.hosts
    _advance(activity, host, bin_now)
    if activity["refreshed"][host] != activity["learned"][host]:
        _refresh_around_real_time(tables, activity, host, bin_now, HOST_PRIOR)
        activity["refreshed"][host] = activity["learned"][host]


@bare_step
def _refresh_only_section(tables: Tables, section: int, host: int, bin_now: int) -> None:
    """Bring the cumulative time of a host's only section up to date."""
    _advance(tables.sections, section, bin_now)
    _refresh_around_real_time(tables, tables.sections, section, bin_now, ONLY_SECTION_PRIOR)
    tables.sections["refreshed"][section] = tables.hosts["learned"][host]


@bare_step
def _refresh_around_real_time(
    tables: Tables, activity: Rows, row: int, bin_now: int, prior: np.float32
) -> None:
    width = np.float32(tables.shared["bin_width"][0])
    found, expected = activity["found"][row], activity["expected"][row]
    cumulative = activity["cumulative"][row]
    # Start with the oldest bin's column. Two loops, so that each runs over adjacent columns.
    first = (bin_now + 1) % BINS
    for index in range(BINS - first):
        column = first + index
        cumulative[index + 1] = width * (prior + found[column]) / (prior + expected[column])
    for column in range(first):
        index = BINS - first + column
        cumulative[index + 1] = width * (prior + found[column]) / (prior + expected[column])
    _add_up(cumulative)


@small_bare_step
def refresh_section(tables: Tables, section: int, now: float) -> None:
    """Bring a section's cumulative time up to date."""
    host = tables.sections["host"][section]
    bin_now = math.floor(now / tables.shared["bin_width"][0])
    if (
        tables.sections["refreshed"][section] != tables.hosts["learned"][host]
        or tables.sections["newest"][section] != bin_now
    ):
        _refresh_section(tables, section, host, bin_now)


@small_bare_step
def has_one_section(tables: Tables, host: int) -> bool:
    """Whether a host has one section only, whose activity is the host's too."""
    first = tables.hosts["first_section"][host]
    return bool(tables.sections["next_section"][first] == NONE)


@bare_step
def _refresh_section(tables: Tables, section: int, host: int, bin_now: int) -> None:
    if has_one_section(tables, host):
        _refresh_only_section(tables, section, host, bin_now)
        return
    _refresh_host(tables, host, bin_now)
    activity, width = tables.sections, np.float32(tables.shared["bin_width"][0])
    _advance(activity, section, bin_now)
    found, expected = activity["found"][section], activity["expected"][section]
    cumulative, around = activity["cumulative"][section], tables.hosts["cumulative"][host]
    first = (bin_now + 1) % BINS
    for index in range(BINS - first):
        column = first + index
        prior = SECTION_PRIOR * (around[index + 1] - around[index])
        cumulative[index + 1] = (prior + width * found[column]) / (SECTION_PRIOR + expected[column])
    for column in range(first):
        index = BINS - first + column
        prior = SECTION_PRIOR * (around[index + 1] - around[index])
        cumulative[index + 1] = (prior + width * found[column]) / (SECTION_PRIOR + expected[column])
    _add_up(cumulative)
    activity["refreshed"][section] = tables.hosts["learned"][host]


@small_bare_step
def _add_up(cumulative: Singles) -> None:
    total = np.float32(0.0)
    cumulative[0] = total
    # Four at a time, so that the next sums need not wait for the last one.
    for index in range(1, BINS + 1, 4):
        first = cumulative[index]
        second = first + cumulative[index + 1]
        third = second + cumulative[index + 2]
        fourth = second + (cumulative[index + 2] + cumulative[index + 3])
        cumulative[index] = total + first
        cumulative[index + 1] = total + second
        cumulative[index + 2] = total + third
        total += fourth
        cumulative[index + 3] = total


@small_bare_step
def effective(tables: Tables, section: int, since: float, now: float) -> float:
    """Return the effective time since ``since`` if activity is fully trusted.

    The section must have been refreshed. Before the oldest bin, effective time is real time.
    """
    width = tables.shared["bin_width"][0]
    cumulative = tables.sections["cumulative"]
    oldest = tables.sections["newest"][section] - BINS + 1
    end = _cumulative_at(cumulative, section, oldest, width, now)
    begin = oldest * width
    if since < begin:
        return float(begin - since + end)
    return max(end - _cumulative_at(cumulative, section, oldest, width, since), 0.0)


@small_bare_step
def _cumulative_at(cumulative: Singles, row: int, oldest: int, width: float, time: float) -> float:
    index = min(max(math.floor(time / width) - oldest, 0), BINS - 1)
    speed = (cumulative[row, index + 1] - cumulative[row, index]) / width
    return float(cumulative[row, index] + (time - (oldest + index) * width) * speed)


@compiled
def effective_since(tables: Tables, section: int, since: float, now: float) -> float:
    """Return the effective time since ``since``, as far as the host's activity is trusted."""
    return trusted_elapsed(tables, section, since, now)


@small_bare_step
def trusted_elapsed(tables: Tables, section: int, since: float, now: float) -> float:
    """Return the same; compiled into each kernel that calls it."""
    real = now - since
    if not real > 0.0:
        return 0.0
    if real == math.inf or ignores_neighbours(tables, tables.sections["host"][section]):
        return real
    refresh_section(tables, section, now)
    active = effective(tables, section, since, now)
    believed = real + tables.hosts["trust"][tables.sections["host"][section]] * (active - real)
    return float(max(believed, MIN_SPEED * real))


@bare_step
def learn(
    tables: Tables,
    section: int,
    since: float,
    now: float,
    weight: Weights,
    changed: bool,  # noqa: FBT001
    dated: float,
) -> None:
    """Spread a visit's outcome over the bins since the previous visit, of section and host.

    Cumulative times do not change until the host's ``learned`` is raised, so that visits reported
    together are judged by the same activity.

    Args:
        tables: The frontier's tables.
        section: The page's section.
        since: Time of the previous visit.
        now: Time of this visit.
        weight: What was believed before this visit.
        changed: Whether the page had changed.
        dated: When it last changed, if the server dates it; NaN if not. Nothing is known about the
            time before that date, and the page was quiet after it.
    """
    host = tables.sections["host"][section]
    refresh_section(tables, section, now)
    active = effective(tables, section, since, now)
    real = now - since
    if not active > 0.0 or not real > 0.0:
        return
    rate = tables.shared["rate"][0]
    real_hazard = hazard(tables.curves, weight, rate, real)
    bias = _bias(tables, host, real_hazard, changed)
    active_hazard = bias * hazard(tables.curves, weight, rate, active)
    _weigh(tables, host, active_hazard, bias * real_hazard, changed)
    known_since = since
    if changed and not math.isnan(dated):
        known_since = min(max(dated, since), now)
    speed = active_hazard / active
    _spread(tables, tables.sections, section, section, known_since, now, speed, changed, dated)
    if not has_one_section(tables, host):
        _spread(tables, tables.hosts, host, section, known_since, now, speed, changed, dated)


@bare_step
def _bias(tables: Tables, host: int, expected: float, changed: bool) -> float:  # noqa: FBT001
    """Return a host's changes found per change expected, and count this visit.

    Beliefs that are too high or too low overall say nothing about recent activity.
    """
    bias = tables.hosts["all_found"][host] / tables.hosts["all_expected"][host]
    found = bias * expected / -math.expm1(-bias * expected) if changed else 0.0
    tables.hosts["all_found"][host] += found - tables.hosts["all_found"][host] / CALIBRATION_VISITS
    tables.hosts["all_expected"][host] += (
        expected - tables.hosts["all_expected"][host] / CALIBRATION_VISITS
    )
    return float(bias)


@bare_step
def _spread(
    tables: Tables,
    activity: Rows,
    row: int,
    section: int,
    since: float,
    now: float,
    rate: float,
    changed: bool,  # noqa: FBT001
    dated: float,
) -> None:
    """Add the changes expected and found to the bins of a host or section."""
    width = tables.shared["bin_width"][0]
    newest = tables.sections["newest"][section]
    oldest = newest - BINS + 1
    first = math.floor(since / width)
    cumulative = tables.sections["cumulative"][section]
    found, expected = activity["found"][row], activity["expected"][row]
    density = 0.0
    if changed and not math.isnan(dated):
        if first >= oldest:
            found[first % BINS] += np.float32(1.0)
    elif changed:
        density = rate / -math.expm1(-rate * effective(tables, section, since, now))
    for number in range(max(first, oldest), newest + 1):
        overlap = min(now, (number + 1) * width) - max(since, number * width)
        expected[number % BINS] += np.float32(rate * max(overlap, 0.0))
        if density > 0.0:
            days = cumulative[number - oldest + 1] - cumulative[number - oldest]
            found[number % BINS] += np.float32(density * days * max(overlap, 0.0) / width)


@bare_step
def _weigh(tables: Tables, host: int, active: float, real: float, changed: bool) -> None:  # noqa: FBT001
    """Move the odds by how much likelier activity made the outcome than real time did."""
    gain = real - active
    if changed:
        gain = math.log(math.expm1(-active) / math.expm1(-real))
    odds = min(max(tables.hosts["odds"][host] + gain, -MAX_ODDS), MAX_ODDS)
    tables.hosts["odds"][host] = odds
    tables.hosts["trust"][host] = 1.0 / (1.0 + math.exp(-odds))


@bare_step
def is_ahead(activity: Rows, row: int, width: float, now: float, trust: float) -> bool:
    """Whether a page now looks older, by more than `MAX_AHEAD`, than when it was scheduled."""
    oldest = activity["newest"][row] - BINS + 1
    scheduled_at = activity["scheduled_at"][row]
    cumulative, assumed = activity["cumulative"][row], activity["assumed"][row]
    end = _cumulative_at(activity["cumulative"], row, oldest, width, now)
    turn = oldest % BINS
    for index in range(BINS):
        begin = (oldest + index) * width
        assumed_age = now - max(begin, scheduled_at) + assumed[(index + turn) % BINS]
        if trust * (end - cumulative[index] - assumed_age) > MAX_AHEAD * (now - begin):
            return True
    return False


@bare_step
def note_schedule(activity: Rows, row: int, width: float, now: float) -> None:
    """Remember the cumulative time at which a row's pages were scheduled."""
    oldest = activity["newest"][row] - BINS + 1
    end = _cumulative_at(activity["cumulative"], row, oldest, width, now)
    for index in range(BINS):
        activity["assumed"][row, (oldest + index) % BINS] = end - activity["cumulative"][row, index]
    activity["scheduled_at"][row] = now

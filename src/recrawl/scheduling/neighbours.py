"""Neighbours as evidence: how busy a host, and a section of it, were at each moment of late.

Pages of one site change together: a release, a new template, an editor's afternoon. So each host
and each section has a clock of its own that runs faster where more changed than was expected, and
slower where less did. A page's *effective* time since its last visit is what its section's clock
shows. All that beliefs say, chance of being fresh, value of a visit, what a visit teaches, is said
in effective time.

The recent past is cut into bins. A visit spreads what was expected of it over the bins since the
visit before, and, when it found a change, a change over the same bins in proportion to how likely
each is to hold it (the expectation step of EM). A bin's speed is

    (prior + found) / (prior + expected)

for the host, and for a section the same around the host's speed. Changes pile up in the bin where
they happened, because visits that began after it find nothing.

How far a host's clocks are believed is learned as well: as the odds that they have foretold the
outcomes of visits better than plain time did.
"""

import math

import numpy as np

from recrawl.estimation.gamma import hazard
from recrawl.kernels.jit import compiled, small_step, step
from recrawl.scheduling.state import BINS, NONE, Book, Rows, Singles

#: How many bins make the mean time between two visits of a page.
BINS_A_GAP = 16
#: Changes that a host's clock, and a section's, must see to be moved half the way.
HOST_PRIOR = np.float32(4.0)
SECTION_PRIOR = np.float32(0.25)
#: The logarithm of the odds that a clock is right: at the start, and at most, so that it can turn.
FIRST_ODDS = 2.0
MAX_ODDS = 10.0
#: A reading that was never worked out.
NEVER = -1
#: The least speed of a clock.
SLOWEST = 1e-3
#: How many visits a host's beliefs are judged by on the whole, and what they begin with.
CALIBRATION_VISITS = 65_536.0
CALIBRATION_PRIOR = 8.0
#: Pages are put to new places when a clock makes one of them look older by this share.
JUMP = 1.0


def begin(rows: Rows, now: float, width: float) -> None:
    """Let clocks begin to run, with plain time."""
    for name in ("found", "expected", "reading", "assumed"):
        rows[name] = 0.0
    rows["newest"] = math.floor(now / width)
    rows["placed_at"] = -math.inf
    rows["read"] = NEVER


@small_step
def is_off(book: Book, host: int) -> bool:
    """Whether a host's clocks were told not to count, or have not begun to run."""
    return bool(book.hosts["odds"][host] == -math.inf or book.desk["bin_width"][0] == math.inf)


@step
def _turn(clocks: Rows, row: int, bin_now: int) -> None:
    """Let a row's newest bin be the present one; bins that come round again begin empty."""
    newest = clocks["newest"][row]
    if bin_now <= newest:
        return
    for number in range(max(newest + 1, bin_now - BINS + 1), bin_now + 1):
        column = number % BINS
        clocks["found"][row, column] = 0.0
        clocks["expected"][row, column] = 0.0
        clocks["assumed"][row, column] = 0.0
    clocks["newest"][row] = bin_now
    clocks["read"][row] = NEVER


@step
def _read_host(book: Book, host: int, bin_now: int) -> None:
    """See to it that a host's clock shows the present."""
    clocks = book.hosts
    _turn(clocks, host, bin_now)
    if clocks["read"][host] != clocks["learned"][host]:
        _read_around_plain_time(book, clocks, host, bin_now, HOST_PRIOR)
        clocks["read"][host] = clocks["learned"][host]


@step
def _read_alone(book: Book, section: int, host: int, bin_now: int) -> None:
    """See to it that the clock of a host's only section shows the present."""
    _turn(book.sections, section, bin_now)
    _read_around_plain_time(book, book.sections, section, bin_now, SECTION_PRIOR)
    book.sections["read"][section] = book.hosts["learned"][host]


@step
def _read_around_plain_time(
    book: Book, clocks: Rows, row: int, bin_now: int, prior: np.float32
) -> None:
    width = np.float32(book.desk["bin_width"][0])
    found, expected = clocks["found"][row], clocks["expected"][row]
    reading = clocks["reading"][row]
    # The oldest bin's column; the loops are in two, so that their columns follow one another.
    first = (bin_now + 1) % BINS
    for place in range(BINS - first):
        column = first + place
        reading[place + 1] = width * (prior + found[column]) / (prior + expected[column])
    for column in range(first):
        place = BINS - first + column
        reading[place + 1] = width * (prior + found[column]) / (prior + expected[column])
    _add_up(reading)


@small_step
def read_section(book: Book, section: int, now: float) -> None:
    """See to it that a section's clock shows the present."""
    host = book.sections["host"][section]
    bin_now = math.floor(now / book.desk["bin_width"][0])
    if (
        book.sections["read"][section] != book.hosts["learned"][host]
        or book.sections["newest"][section] != bin_now
    ):
        _read_section(book, section, host, bin_now)


@small_step
def is_alone(book: Book, host: int) -> bool:
    """Whether a host is all one section, and so needs no clock beside the section's."""
    first = book.hosts["first_section"][host]
    return bool(book.sections["next_section"][first] == NONE)


@step
def _read_section(book: Book, section: int, host: int, bin_now: int) -> None:
    if is_alone(book, host):
        _read_alone(book, section, host, bin_now)
        return
    _read_host(book, host, bin_now)
    clocks, width = book.sections, np.float32(book.desk["bin_width"][0])
    _turn(clocks, section, bin_now)
    found, expected = clocks["found"][section], clocks["expected"][section]
    reading, around = clocks["reading"][section], book.hosts["reading"][host]
    first = (bin_now + 1) % BINS
    for place in range(BINS - first):
        column = first + place
        plain = SECTION_PRIOR * (around[place + 1] - around[place])
        reading[place + 1] = (plain + width * found[column]) / (SECTION_PRIOR + expected[column])
    for column in range(first):
        place = BINS - first + column
        plain = SECTION_PRIOR * (around[place + 1] - around[place])
        reading[place + 1] = (plain + width * found[column]) / (SECTION_PRIOR + expected[column])
    _add_up(reading)
    clocks["read"][section] = book.hosts["learned"][host]


@small_step
def _add_up(reading: Singles) -> None:
    total = np.float32(0.0)
    reading[0] = total
    for place in range(1, BINS + 1):
        total += reading[place]
        reading[place] = total


@small_step
def effective(book: Book, section: int, since: float, now: float) -> float:
    """Give the time a section's clock, fully believed, has made since then; its reading is fresh.

    Older than the oldest bin, time is plain.
    """
    width = book.desk["bin_width"][0]
    reading = book.sections["reading"]
    oldest = book.sections["newest"][section] - BINS + 1
    end = _reading_at(reading, section, oldest, width, now)
    begin = oldest * width
    if since < begin:
        return float(begin - since + end)
    return max(end - _reading_at(reading, section, oldest, width, since), 0.0)


@small_step
def _reading_at(reading: Singles, row: int, oldest: int, width: float, time: float) -> float:
    place = min(max(math.floor(time / width) - oldest, 0), BINS - 1)
    speed = (reading[row, place + 1] - reading[row, place]) / width
    return float(reading[row, place] + (time - (oldest + place) * width) * speed)


@compiled
def elapsed_by_clock(book: Book, section: int, since: float, now: float) -> float:
    """Give the effective time since then, as far as the host's clocks are believed."""
    plain = now - since
    if not plain > 0.0:
        return 0.0
    if plain == math.inf or is_off(book, book.sections["host"][section]):
        return plain
    read_section(book, section, now)
    shown = effective(book, section, since, now)
    believed = plain + book.hosts["trust"][book.sections["host"][section]] * (shown - plain)
    # No clock stands still: a page that is never looked at again would never speak up.
    return float(max(believed, SLOWEST * plain))


@step
def learn(
    book: Book,
    section: int,
    since: float,
    now: float,
    shape: float,
    time: float,
    changed: bool,  # noqa: FBT001
    dated: float,
) -> None:
    """Spread a visit's outcome over the bins since the visit before, of section and host.

    What the clocks show does not change before their host is said to have learned: visits reported
    together are judged by the same clocks.

    Args:
        book: The frontier's.
        section: The page's section.
        since: The last visit.
        now: This one.
        shape: The belief before it.
        time: Likewise.
        changed: Whether the page had changed.
        dated: When it changed last, where the server tells; NaN where not. What was before that
            is not known then, and what came after is known to be quiet.
    """
    host = book.sections["host"][section]
    read_section(book, section, now)
    shown = effective(book, section, since, now)
    plain = now - since
    if not shown > 0.0 or not plain > 0.0:
        return
    plain_hazard = hazard(shape, time, plain)
    bias = _bias(book, host, plain_hazard, changed)
    shown_hazard = bias * hazard(shape, time, shown)
    _weigh(book, host, shown_hazard, bias * plain_hazard, changed)
    known_since = since
    if changed and not math.isnan(dated):
        known_since = min(max(dated, since), now)
    rate = shown_hazard / shown
    _spread(book, book.sections, section, section, known_since, now, rate, changed, dated)
    if not is_alone(book, host):
        _spread(book, book.hosts, host, section, known_since, now, rate, changed, dated)


@step
def _bias(book: Book, host: int, expected: float, changed: bool) -> float:  # noqa: FBT001
    """Give how many changes a host's beliefs have found for each they expected, and go on counting.

    Beliefs that are too high or too low on the whole say nothing about what is special of late.
    """
    bias = book.hosts["all_found"][host] / book.hosts["all_expected"][host]
    found = bias * expected / -math.expm1(-bias * expected) if changed else 0.0
    book.hosts["all_found"][host] += found - book.hosts["all_found"][host] / CALIBRATION_VISITS
    book.hosts["all_expected"][host] += (
        expected - book.hosts["all_expected"][host] / CALIBRATION_VISITS
    )
    return float(bias)


@step
def _spread(
    book: Book,
    clocks: Rows,
    row: int,
    section: int,
    since: float,
    now: float,
    rate: float,
    changed: bool,  # noqa: FBT001
    dated: float,
) -> None:
    """Add what was expected, and what was found, to the bins of a clock."""
    width = book.desk["bin_width"][0]
    newest = book.sections["newest"][section]
    oldest = newest - BINS + 1
    first = math.floor(since / width)
    reading = book.sections["reading"][section]
    found, expected = clocks["found"][row], clocks["expected"][row]
    a_change = 0.0
    if changed and not math.isnan(dated):
        if first >= oldest:
            found[first % BINS] += np.float32(1.0)
    elif changed:
        a_change = rate / -math.expm1(-rate * effective(book, section, since, now))
    for number in range(max(first, oldest), newest + 1):
        overlap = min(now, (number + 1) * width) - max(since, number * width)
        expected[number % BINS] += np.float32(rate * max(overlap, 0.0))
        if a_change > 0.0:
            shown = reading[number - oldest + 1] - reading[number - oldest]
            found[number % BINS] += np.float32(a_change * shown * max(overlap, 0.0) / width)


@step
def _weigh(book: Book, host: int, hazard: float, plain: float, changed: bool) -> None:  # noqa: FBT001
    """Move the odds by how much likelier the clock made the outcome than plain time did."""
    gain = plain - hazard
    if changed:
        gain = math.log(math.expm1(-hazard) / math.expm1(-plain))
    odds = min(max(book.hosts["odds"][host] + gain, -MAX_ODDS), MAX_ODDS)
    book.hosts["odds"][host] = odds
    book.hosts["trust"][host] = 1.0 / (1.0 + math.exp(-odds))


@step
def has_jumped(clocks: Rows, row: int, width: float, now: float, trust: float) -> bool:
    """Whether some page looks older by more than `JUMP` than when the row's pages were placed."""
    oldest = clocks["newest"][row] - BINS + 1
    placed_at = clocks["placed_at"][row]
    reading, assumed = clocks["reading"][row], clocks["assumed"][row]
    end = _reading_at(clocks["reading"], row, oldest, width, now)
    turn = oldest % BINS
    for column in range(BINS):
        place = (column - turn) % BINS
        begin = (oldest + place) * width
        thought = now - max(begin, placed_at) + assumed[column]
        if trust * (end - reading[place] - thought) > JUMP * (now - begin):
            return True
    return False


@step
def note_places(clocks: Rows, row: int, width: float, now: float) -> None:
    """Remember what the clock showed when the row's pages were put in their places."""
    oldest = clocks["newest"][row] - BINS + 1
    end = _reading_at(clocks["reading"], row, oldest, width, now)
    for place in range(BINS):
        clocks["assumed"][row, (oldest + place) % BINS] = end - clocks["reading"][row, place]
    clocks["placed_at"][row] = now

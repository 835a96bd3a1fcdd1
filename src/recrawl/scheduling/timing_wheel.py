"""A hierarchical timing wheel: pages by the time they are due.

Each of the next 1,024 slots has a bucket on the fine wheel; each of the 1,024 laps of that wheel
after this one has a bucket on the coarse wheel; anything later is in the overflow list. When a lap
starts, its coarse bucket is distributed over the fine ones. So enqueueing a page and reaching its
slot take constant time.

Pages that wait for their host, or are parked because of it, have a second set of these lists, so
that a search for pages that may be visited early does not find them: a host that is down may have
millions.
"""

import math

from recrawl.kernels.jit import bare_step, small_bare_step
from recrawl.scheduling.state import (
    COARSE,
    FINE,
    FIRST_WAITING,
    NONE,
    OVERFLOW,
    PARKED,
    QUEUED,
    WAITING,
    Tables,
    link,
)

#: Slots in the mean time between two visits to a page.
SLOTS_PER_GAP = 16_384


@bare_step
def enqueue(tables: Tables, page: int) -> None:
    """Add a page that is in no list to the slot it is due in, the next one at the earliest."""
    link(tables, page, _bucket(tables, tables.pages["due"][page]))
    tables.pages["status"][page] = QUEUED


@bare_step
def enqueue_waiting(tables: Tables, page: int) -> None:
    """Do the same with a page that waits for its host."""
    link(tables, page, FIRST_WAITING + _bucket(tables, tables.pages["due"][page]))
    tables.pages["status"][page] = WAITING


@bare_step
def enqueue_parked(tables: Tables, page: int) -> None:
    """Do the same with a page that is parked."""
    enqueue_waiting(tables, page)
    tables.pages["status"][page] = PARKED
    tables.hosts["parked"][tables.pages["host"][page]] += 1


@small_bare_step
def slot_of(tables: Tables, time: float) -> int:
    """Return the slot that a time falls in."""
    width: float = tables.shared["slot_width"][0]
    return math.floor(time / width)


@small_bare_step
def _bucket(tables: Tables, due: float) -> int:
    current = tables.shared["slot"][0]
    if not due / tables.shared["slot_width"][0] < current + float(FINE) * COARSE:
        return OVERFLOW
    slot = max(slot_of(tables, due), current + 1)
    laps = slot // FINE - current // FINE
    if laps == 0:
        return int(slot % FINE)
    return FINE + slot // FINE % COARSE if laps < COARSE else OVERFLOW


@bare_step
def advance_slot(tables: Tables) -> None:
    """Advance to the next slot."""
    slot = tables.shared["slot"][0] + 1
    tables.shared["slot"][0] = slot
    if slot % FINE == 0:
        _begin_lap(tables, 0, slot)
        _begin_lap(tables, FIRST_WAITING, slot)


@small_bare_step
def empty_slot(tables: Tables, lists: int) -> int:
    """Empty the current slot; return its first page, which links to the others."""
    return _emptied(tables, lists + tables.shared["slot"][0] % FINE)


@bare_step
def _begin_lap(tables: Tables, lists: int, slot: int) -> None:
    """Distribute the pages that are due in a lap over its slots."""
    lap = slot // FINE
    overflow = _emptied(tables, lists + OVERFLOW) if lap % COARSE == 0 else NONE
    _distribute(tables, _emptied(tables, lists + FINE + lap % COARSE), lists, slot)
    _distribute(tables, overflow, lists, slot)


@small_bare_step
def _emptied(tables: Tables, bucket: int) -> int:
    first = tables.heads[bucket]
    tables.heads[bucket] = NONE
    return int(first)


@bare_step
def _distribute(tables: Tables, page: int, lists: int, slot: int) -> None:
    """Move a page and those it links to into the buckets they belong in now."""
    pages = tables.pages
    while page != NONE:
        following = pages["next"][page]
        is_here = pages["due"][page] / tables.shared["slot_width"][0] < slot + 1.0
        bucket = slot % FINE if is_here else _bucket(tables, pages["due"][page])
        link(tables, page, lists + bucket)
        page = following

"""Pages by the time they are due: a hierarchical timing wheel.

Each of the next 1,024 slots has a bucket on the fine wheel; each of the 1,024 laps of that wheel
after this one has a bucket on the coarse wheel; anything later waits in the overflow list. When a
lap begins, its coarse bucket is distributed over the fine ones. So enqueueing a page and reaching
its slot cost the same however many pages there are.
"""

import math

from recrawl.kernels.jit import small_step, step
from recrawl.scheduling.state import COARSE, FINE, NONE, OVERFLOW, QUEUED, Tables, link

#: Slots in the mean time between two visits of a page.
SLOTS_PER_GAP = 16_384


@step
def enqueue(tables: Tables, page: int) -> None:
    """Add a page that is in no list to the slot it is due in, the next one at the earliest."""
    link(tables, page, _bucket(tables, tables.pages["due"][page]))
    tables.pages["status"][page] = QUEUED


@small_step
def slot_of(tables: Tables, time: float) -> int:
    """Return the slot that a time falls in."""
    width: float = tables.shared["slot_width"][0]
    return math.floor(time / width)


@small_step
def _bucket(tables: Tables, due: float) -> int:
    current = tables.shared["slot"][0]
    if not due / tables.shared["slot_width"][0] < current + float(FINE) * COARSE:
        return OVERFLOW
    slot = max(slot_of(tables, due), current + 1)
    laps = slot // FINE - current // FINE
    if laps == 0:
        return int(slot % FINE)
    return FINE + slot // FINE % COARSE if laps < COARSE else OVERFLOW


@step
def advance_slot(tables: Tables) -> int:
    """Advance to the next slot and empty it; return its first page, which links to the others."""
    slot = tables.shared["slot"][0] + 1
    tables.shared["slot"][0] = slot
    if slot % FINE == 0:
        lap = slot // FINE
        overflow = _emptied(tables, OVERFLOW) if lap % COARSE == 0 else NONE
        _distribute(tables, _emptied(tables, FINE + lap % COARSE), slot)
        _distribute(tables, overflow, slot)
    return _emptied(tables, slot % FINE)


@small_step
def _emptied(tables: Tables, bucket: int) -> int:
    first = tables.heads[bucket]
    tables.heads[bucket] = NONE
    return int(first)


@step
def _distribute(tables: Tables, page: int, slot: int) -> None:
    """Move a page and those it links to into the buckets they belong in now."""
    pages = tables.pages
    while page != NONE:
        following = pages["next"][page]
        is_here = pages["due"][page] / tables.shared["slot_width"][0] < slot + 1.0
        link(tables, page, slot % FINE if is_here else _bucket(tables, pages["due"][page]))
        page = following

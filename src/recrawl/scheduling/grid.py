"""Decide where the grid of change rates should be, by what visits found.

It starts according to the mean time between visits, but no higher than for an hour: a large budget
is no reason to believe that pages change all the time. If pages do change within minutes or
seconds, their beliefs gather at the upper end of such a grid, and it moves up.
"""

from recrawl.estimation.octaves import OCTAVES, ONE
from recrawl.kernels.jit import Ints, compiled, small_bare_step
from recrawl.scheduling.state import Rows, Tables

#: The grid moves by this many octaves at a time.
MOVE = 4
#: A belief has no weight above this octave, unless a given prior has.
HIGHEST_USED = OCTAVES - 2
#: It moves up if more than this share of pages change at one of the highest rates used.
FAST_SHARE = 1 / 64


@compiled
def octaves_off(tables: Tables, sample: Ints) -> int:
    """Return by how many octaves the grid should start higher, or lower if negative."""
    if _fast_share(tables.pages, sample, HIGHEST_USED - MOVE) > FAST_SHARE:
        return MOVE
    # Twice as far down: a grid that has moved must not move back at once.
    return -MOVE if _fast_share(tables.pages, sample, HIGHEST_USED - 2 * MOVE) < FAST_SHARE else 0


@small_bare_step
def _fast_share(pages: Rows, sample: Ints, octave: int) -> float:
    """Return the share of pages that most likely change at this octave's rate or faster."""
    fast, visited = 0, 0
    for row in range(sample.size):
        page = sample[row]
        if pages["counts"][page]:
            above = 0
            for k in range(octave, OCTAVES):
                above += int(pages["weight"][page, k])
            visited += 1
            fast += 2 * above > ONE
    return fast / visited if visited > 0 else 0.0

"""What no frontier can do without: each visit's rows, brought in from memory once.

A visit reads and writes the row of its page, of the page's section and of its host, wherever they
are. A loop that does nothing else, and asks for rows ahead of time, takes this long. Neighbours in
the lists, the timing wheel and the arithmetic come on top of it.
"""

import time
from typing import Annotated

import numpy as np

from benchmarks.sizes import sized
from recrawl.kernels.jit import Ints, compiled, prefetch
from recrawl.scheduling.state import HOST, PAGE, ROWS_AHEAD, SECTION, Rows, Tables

#: Rows that are touched in one go.
ROWS = sized(200_000, 400)


@compiled
def touch(
    pages: Annotated[Rows, PAGE],
    sections: Annotated[Rows, SECTION],
    hosts: Annotated[Rows, HOST],
    page: Ints,
) -> float:
    """Read and write something in every cache line of the rows that visits to pages need."""
    total = 0.0
    for row in range(page.size):
        ahead = page[min(row + ROWS_AHEAD, page.size - 1)]
        prefetch(pages, page[min(row + 2 * ROWS_AHEAD, page.size - 1)])
        prefetch(sections, pages["section"][ahead])
        prefetch(hosts, pages["host"][ahead])
        here = page[row]
        section, host = pages["section"][here], pages["host"][here]
        pages["due"][here] += 0.0
        pages["likelihood"][here][0] *= 1.0
        pages["likelihood"][here][15] *= 1.0
        for at in range(0, 64, 16):
            sections["found"][section][at] += 0.0
            sections["expected"][section][at] += 0.0
            hosts["found"][host][at] += 0.0
            hosts["expected"][host][at] += 0.0
            total += sections["cumulative"][section][at] + hosts["cumulative"][host][at]
    return total


def seconds_per_visit(tables: Tables, rows: int = ROWS) -> float:
    """Return how long the rows of a visit to a random page take at least, in CPU time."""
    there = np.flatnonzero(tables.pages["status"])
    page = np.random.default_rng(3).choice(there, rows)
    arrays = tables.pages, tables.sections, tables.hosts
    touch(*arrays, page[:1])
    best = np.inf
    for part in np.array_split(page, 4):
        began = time.process_time()
        touch(*arrays, part)
        best = min(best, (time.process_time() - began) / part.size)
    return float(best)

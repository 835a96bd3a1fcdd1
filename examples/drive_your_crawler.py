"""A Frontier decides which pages to visit; your own crawler visits them.

The web is simulated here: page i changes every `EVERY[i]` days. Replace `has_changed` with your
fetcher and `now` with your clock.
"""

import numpy as np

from recrawl import Frontier

EVERY = np.array([0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0])
IMPORTANCE = np.array([1.0, 1.0, 1.0, 8.0, 1.0, 1.0, 1.0, 1.0])
DAYS = 120
TICK = 1 / 24

visited_at = np.zeros(EVERY.size)


def has_changed(page: int, now: float) -> bool:
    """Visit a page and return whether it changed since the previous visit."""
    changed = now // EVERY[page] > visited_at[page] // EVERY[page]
    visited_at[page] = now
    return bool(changed)


frontier = Frontier(budget=4.0, host_delay=TICK)  # 4 visits per day, one per hour per host
frontier.add(
    np.arange(EVERY.size),
    now=0.0,
    importance=IMPORTANCE,
    host=[0, 0, 0, 0, 1, 1, 1, 1],
    last_visit=0.0,
)
visits = np.zeros(EVERY.size, dtype=int)
for hour in range(1, DAYS * 24 + 1):
    now = hour * TICK
    pages = frontier.take(now, limit=10)
    frontier.report(pages, now, changed=[has_changed(page, now) for page in pages])
    visits[pages] += 1

believed = 1 / np.asarray(frontier.belief(np.arange(EVERY.size)).rate)
print("page  importance  changes every  believed   visits")
for row in zip(range(EVERY.size), IMPORTANCE, EVERY, believed, visits, strict=True):
    print("{:4}  {:10g}  {:8g} days  {:8.1f}  {:7}".format(*row))
print(f"{visits.sum()} visits in {DAYS} days")

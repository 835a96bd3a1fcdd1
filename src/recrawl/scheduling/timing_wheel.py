"""Pages by the time they are due: buckets of fine slots, of coarse ones, and the far future.

The next 1,024 slots have a bucket each, the 1,024 stretches of as many slots after that one each as
well, and what is further away waits in one more. Each stretch is dealt out to fine buckets when its
time comes. So queueing a page and bringing it up cost the same however many pages there are.
"""

import math

from recrawl.kernels.jit import small_step, step
from recrawl.scheduling.state import COARSE, FAR, FINE, NONE, QUEUED, Book, link

#: Slots in the mean time between two visits of a page.
SLOTS_A_GAP = 16_384


@step
def queue(book: Book, page: int) -> None:
    """Put a page that is in no list where its due time belongs, the next slot at the earliest."""
    link(book, page, _bucket(book, book.pages["due"][page]))
    book.pages["place"][page] = QUEUED


@small_step
def slot_of(book: Book, time: float) -> int:
    """Give the slot a time is in."""
    width: float = book.desk["slot_width"][0]
    return math.floor(time / width)


@small_step
def _bucket(book: Book, due: float) -> int:
    reached = book.desk["slot"][0]
    if not due / book.desk["slot_width"][0] < reached + float(FINE) * COARSE:
        return FAR
    slot = max(slot_of(book, due), reached + 1)
    stretches = slot // FINE - reached // FINE
    if stretches == 0:
        return int(slot % FINE)
    return FINE + slot // FINE % COARSE if stretches < COARSE else FAR


@step
def next_slot(book: Book) -> int:
    """Step to the next slot; give its first page, taken out with all that follow it."""
    slot = book.desk["slot"][0] + 1
    book.desk["slot"][0] = slot
    if slot % FINE == 0:
        stretch = slot // FINE
        far = _emptied(book, FAR) if stretch % COARSE == 0 else NONE
        _deal(book, _emptied(book, FINE + stretch % COARSE), slot)
        _deal(book, far, slot)
    return _emptied(book, slot % FINE)


@small_step
def _emptied(book: Book, bucket: int) -> int:
    first = book.heads[bucket]
    book.heads[bucket] = NONE
    return int(first)


@step
def _deal(book: Book, page: int, slot: int) -> None:
    """Give each page of a chain the bucket it belongs to now."""
    pages = book.pages
    while page != NONE:
        following = pages["next"][page]
        here = pages["due"][page] / book.desk["slot_width"][0] < slot + 1.0
        link(book, page, slot % FINE if here else _bucket(book, pages["due"][page]))
        page = following

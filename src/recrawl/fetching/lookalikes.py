"""Detect pages of a host that suddenly all become the same, which no edit does.

It is a soft 404, a sign-in page, or a page of some firewall. Pure: time is an argument.
"""

from collections import OrderedDict
from typing import TypeVar, final

from recrawl.records import Page

#: So many others must have become the same, from contents that differed.
MIN_OTHERS = 2
#: Lately: within this many microseconds. A page that looks wrong is visited at least daily.
RECENT = 2 * 86_400_000_000
#: The maximum numbers of hosts to remember, of contents per host, and of pages per content.
MAX_HOSTS, MAX_CONTENTS, MAX_PAGES = 2_000, 32, 8

K = TypeVar("K")
V = TypeVar("V")
_Pages = OrderedDict[int, tuple[bytes, int]]


@final
class Lookalikes:
    """Remembers what pages became lately, and from what.

    >>> alike = Lookalikes()
    >>> pages = [Page(number, f"https://a.example/{number}", "a.example") for number in range(3)]
    >>> [alike.are_alike(page, bytes([page.number]), b"sign in", at=1) for page in pages]
    [False, False, True]

    Pages that were the same before may become the same, as one page at several addresses does:

    >>> alike = Lookalikes()
    >>> [alike.are_alike(page, b"old", b"new", at=1) for page in pages]
    [False, False, False]
    """

    def __init__(self) -> None:
        self._hosts: OrderedDict[str, OrderedDict[bytes, _Pages]] = OrderedDict()

    def __len__(self) -> int:
        """How many hosts are remembered."""
        return len(self._hosts)

    def are_alike(self, page: Page, was: bytes, became: bytes, at: int) -> bool:
        """Note what a page became; return whether others that differed became the same lately."""
        contents = self._hosts.setdefault(page.host, OrderedDict())
        self._hosts.move_to_end(page.host)
        pages = contents.setdefault(became, OrderedDict())
        contents.move_to_end(became)
        pages[page.number] = (was, at)
        pages.move_to_end(page.number)
        _trim(self._hosts, MAX_HOSTS)
        _trim(contents, MAX_CONTENTS)
        _trim(pages, MAX_PAGES)
        before = {then for then, when in pages.values() if at - when < RECENT}
        return len(before - {was}) >= MIN_OTHERS


def _trim(known: OrderedDict[K, V], most: int) -> None:
    """Forget what was noted longest ago."""
    while len(known) > most:
        known.popitem(last=False)

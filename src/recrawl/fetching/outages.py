"""Detect outages: pages that existed and are now all not found. Their host is down; they stay.

Pure: time is an argument.
"""

from collections import OrderedDict
from typing import final

from recrawl.hosts import host_of
from recrawl.records import Page

#: An outage is at least this many pages, and this share of a host's or folder's recent ones.
MIN_PAGES = 3
MIN_SHARE = 0.5
#: Recent: the last visits to this many different pages, within this many microseconds.
RECENT_PAGES = 20
RECENT = 86_400_000_000
#: The maximum number of hosts and folders to remember.
MAX_GROUPS = 5_000

_Group = OrderedDict[int, tuple[int, bool]]


@final
class Outages:
    """Distinguishes a host or folder that is down from a page that is gone.

    >>> outages = Outages()
    >>> pages = [Page(n, f"https://a.example/x/{n}", "a.example", last_visit=0) for n in range(9)]
    >>> for page in pages[:2]:
    ...     outages.note(page, 1, missing=True)
    >>> outages.around(pages[1], 1)
    >>> outages.note(pages[2], 2, missing=True)
    >>> outages.around(pages[2], 2)
    'https://a.example/x/'
    >>> for page in pages[3:7]:
    ...     outages.note(page, 3, missing=False)
    >>> outages.around(pages[2], 3)
    """

    def __init__(self) -> None:
        self._groups: OrderedDict[str, _Group] = OrderedDict()
        #: Groups with enough missing pages for an outage, however long ago.
        self._suspects: set[str] = set()

    def __len__(self) -> int:
        """How many hosts and folders are remembered."""
        return len(self._groups)

    def note(self, page: Page, at: int, *, missing: bool) -> None:
        """Note whether a page that once existed is missing now."""
        for name in _names(page):
            group = self._groups.setdefault(name, OrderedDict())
            self._groups.move_to_end(name)
            group[page.number] = (at, missing)
            group.move_to_end(page.number)
            if len(group) > RECENT_PAGES:
                group.popitem(last=False)
            if sum(lost for _, lost in group.values()) >= MIN_PAGES:
                self._suspects.add(name)
            else:
                self._suspects.discard(name)
        while len(self._groups) > MAX_GROUPS:
            self._suspects.discard(self._groups.popitem(last=False)[0])

    def around(self, page: Page, now: int) -> str | None:
        """Return the folder or host of a page if it is down, or None."""
        return next((name for name in _names(page) if self._missing(name, now)), None)

    def current(self, now: int) -> dict[str, int]:
        """Return the folders and hosts that are down, and how many of their pages are missing.

        A host that is down as a whole stands for its folders. If only folders are down, they are
        listed, and the host only if even more of its pages are missing.
        """
        found = {name: self._missing(name, now) for name in self._suspects}
        away = {name: missing for name, missing in sorted(found.items()) if missing}
        folders_of: dict[str, list[str]] = {}
        for name in away:
            if _is_folder(name):
                folders_of.setdefault(host_of(name), []).append(name)
        for host in [name for name in away if not _is_folder(name)]:
            folders = folders_of.get(host, [])
            if away[host] == len(self._lately(host, now)):
                for folder in folders:
                    del away[folder]
            elif away[host] <= sum(away[folder] for folder in folders):
                del away[host]
        return away

    def _missing(self, name: str, now: int) -> int:
        """Return how many pages of a group are missing; 0 if that is not an outage."""
        lately = self._lately(name, now)
        missing = sum(lately)
        return missing if missing >= max(MIN_PAGES, MIN_SHARE * len(lately)) else 0

    def _lately(self, name: str, now: int) -> list[bool]:
        """Return for each recently visited page of a group whether it is missing."""
        group = self._groups.get(name, OrderedDict())
        return [missing for at, missing in group.values() if now - at < RECENT]


def _is_folder(name: str) -> bool:
    return name.endswith("/")


def _names(page: Page) -> tuple[str, str]:
    return f"{page.url.rpartition('/')[0]}/", page.host

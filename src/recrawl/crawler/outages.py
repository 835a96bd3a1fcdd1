"""Outages: pages that were there and are not found, all at once. Their host is failing; they stay.

Pure: time is an argument.
"""

from collections import OrderedDict
from typing import final

from recrawl.hosts import host_of
from recrawl.records import Page

#: An outage takes this many pages, and this share of those of a host or folder visited lately.
MIN_PAGES = 3
MIN_SHARE = 0.5
#: Lately: the last visits to this many different pages, within this many microseconds.
RECENT_PAGES = 20
RECENT = 86_400_000_000
#: Hosts and folders that are remembered.
MAX_GROUPS = 5_000

_Group = OrderedDict[int, tuple[int, bool]]


@final
class Outages:
    """Tells a host or folder that is away from a page that is gone.

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
        #: Those with enough missing pages for an outage, whenever that was.
        self._suspects: set[str] = set()

    def __len__(self) -> int:
        """How many hosts and folders are remembered."""
        return len(self._groups)

    def note(self, page: Page, at: int, *, missing: bool) -> None:
        """Note whether a page that was there once is not found now."""
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
        """Return the folder or host of a page whose pages are not found, or None."""
        return next((name for name in _names(page) if self._missing(name, now)), None)

    def current(self, now: int) -> dict[str, int]:
        """Return the folders and hosts that are away, and how many of their pages are.

        A host that is away as a whole stands for its folders. If only folders are, they are named,
        and the host is only if still more of its pages are missing.
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
        """Return how many pages of a group are not found; 0 if that is no outage."""
        lately = self._lately(name, now)
        missing = sum(lately)
        return missing if missing >= max(MIN_PAGES, MIN_SHARE * len(lately)) else 0

    def _lately(self, name: str, now: int) -> list[bool]:
        """Return for each page of a group that was visited lately whether it is missing."""
        group = self._groups.get(name, OrderedDict())
        return [missing for at, missing in group.values() if now - at < RECENT]


def _is_folder(name: str) -> bool:
    return name.endswith("/")


def _names(page: Page) -> tuple[str, str]:
    return f"{page.url.rpartition('/')[0]}/", page.host

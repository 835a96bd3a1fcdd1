"""Decide whether a second fetch is worth its request, from what earlier ones found. Pure."""

from collections import OrderedDict
from typing import final

#: Learning about noise saves some ten visits that would report false changes, and the wrong
#: schedule that follows from them. With a smaller chance of that, the request is better spent on
#: another page.
MIN_CHANCE = 0.1
#: The weight of the average over all hosts in the estimate for one host, in fetches.
FLEET_FETCHES = 2.0
#: The number of fetches that counts fade to, as sites and crawls change.
MAX_FETCHES = 100.0
#: The maximum number of hosts to remember; others get the average over all hosts.
MAX_HOSTS = 10_000


@final
class SecondFetches:
    """How often second fetches have found noise so far, per host and overall.

    A second fetch at a page's first change finds noise that differs from one fetch to the next. If
    pages have none, it finds nothing, and most pages of a host are alike in this. A page that is
    found changed several times in a row is fetched twice in any case, so noise that was missed is
    found then, and counts here.

    >>> fetches = SecondFetches()
    >>> fetches.is_worthwhile("example.org")
    True
    >>> for _ in range(9):
    ...     fetches.note("example.org", taught=False)
    >>> fetches.is_worthwhile("example.org"), fetches.is_worthwhile("example.net")
    (False, False)
    >>> fetches.note("example.net", taught=True)
    >>> fetches.is_worthwhile("example.org"), fetches.is_worthwhile("example.net")
    (False, True)
    """

    def __init__(self) -> None:
        # How many found noise, and how many there were; at first, both results are equally likely.
        self._all = (1.0, 2.0)
        self._hosts = OrderedDict[str, tuple[float, float]]()

    def is_worthwhile(self, host: str) -> bool:
        """Whether a second fetch from a host is likely enough to find noise."""
        taught, made = self._hosts.get(host, (0.0, 0.0))
        expected = FLEET_FETCHES * self._all[0] / self._all[1]
        return (taught + expected) / (made + FLEET_FETCHES) >= MIN_CHANCE

    def note(self, host: str, *, taught: bool) -> None:
        """Note that a second fetch was made, and whether it found noise."""
        self._all = _after(self._all, taught=taught)
        self._hosts[host] = _after(self._hosts.get(host, (0.0, 0.0)), taught=taught)
        self._hosts.move_to_end(host)
        if len(self._hosts) > MAX_HOSTS:
            self._hosts.popitem(last=False)


def _after(counts: tuple[float, float], *, taught: bool) -> tuple[float, float]:
    """Return the counts after one more fetch; older ones fade."""
    keep = min(1.0, MAX_FETCHES / (counts[1] + 1.0))
    return counts[0] * keep + taught, counts[1] * keep + 1.0

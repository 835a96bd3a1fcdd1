"""Whether a second fetch is worth its request: learned from what others have taught. Pure."""

from collections import OrderedDict
from typing import final

#: A lesson about noise saves some ten visits: what they would find is wrong, and so is the schedule
#: that follows from it. With a smaller chance of one, the request is better spent on another page.
MIN_CHANCE = 0.1
#: The weight of all hosts in what is expected of one, in fetches.
FLEET_FETCHES = 2.0
#: Only this many fetches count, the latest most, as sites and crawls change.
MAX_FETCHES = 100.0
#: Hosts that are remembered; of others, only what is known of all hosts is expected.
MAX_HOSTS = 10_000


@final
class SecondFetches:
    """What second fetches have taught so far, on each host and on all.

    A second fetch at a page's first change finds noise that differs from one fetch to the next.
    Where pages have none, which most of a host's pages have in common, it finds nothing. A page
    that is found changed several times in a row is fetched twice in any case, so whatever is missed
    is found then, and counts here.

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
        # How many taught something, and how many there were; at first, each is as likely.
        self._all = (1.0, 2.0)
        self._hosts = OrderedDict[str, tuple[float, float]]()

    def is_worthwhile(self, host: str) -> bool:
        """Whether a second fetch from a host is likely enough to teach something."""
        taught, made = self._hosts.get(host, (0.0, 0.0))
        expected = FLEET_FETCHES * self._all[0] / self._all[1]
        return (taught + expected) / (made + FLEET_FETCHES) >= MIN_CHANCE

    def note(self, host: str, *, taught: bool) -> None:
        """Note that a second fetch was made, and whether it taught anything."""
        self._all = _after(self._all, taught=taught)
        self._hosts[host] = _after(self._hosts.get(host, (0.0, 0.0)), taught=taught)
        self._hosts.move_to_end(host)
        if len(self._hosts) > MAX_HOSTS:
            self._hosts.popitem(last=False)


def _after(counts: tuple[float, float], *, taught: bool) -> tuple[float, float]:
    """Return the counts after one more fetch; the older ones fade."""
    keep = min(1.0, MAX_FETCHES / (counts[1] + 1.0))
    return counts[0] * keep + taught, counts[1] * keep + 1.0

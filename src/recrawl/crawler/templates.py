"""The templates of the sites that are being visited: read from the store, taught by visits."""

from collections import Counter, OrderedDict
from collections.abc import Callable
from itertools import islice
from typing import final

from recrawl.content.template import SiteTemplate
from recrawl.records import Outcome, Visit

#: Hosts whose templates are in memory, at most 20 kB each. A crawl visits few hosts at a time,
#: their pages in turn; a host that comes up again later is read from the store in less time than
#: its page takes to arrive.
MAX_HOSTS = 1_000


@final
class Templates:
    """What is known of the templates of sites, by host.

    Args:
        load: Returns what the store has of a host; None if nothing.
        max_hosts: How many hosts are in memory.

    >>> templates = Templates()
    >>> templates.of("example.org").pages, templates.changed()
    (0, {})
    """

    def __init__(
        self,
        load: Callable[[str], bytes | None] = lambda _host: None,
        max_hosts: int = MAX_HOSTS,
    ) -> None:
        self._load = load
        self._max_hosts = max_hosts
        # As bytes: that is small, and cannot change while another thread sends it to a process.
        self._packed = OrderedDict[str, bytes]()
        self._changed: set[str] = set()
        # Visits since the last lesson that found nothing new.
        self._calm = Counter[str]()
        # Hosts in memory that are known not to be young any more.
        self._grown: set[str] = set()

    def __len__(self) -> int:
        """How many hosts are in memory."""
        return len(self._packed)

    def of(self, host: str) -> SiteTemplate:
        """Return what is known of a host now; it does not change with later visits."""
        packed = self._packed.get(host)
        if packed is None:
            packed = self._load(host) or b""
        self._remember(host, packed)
        return SiteTemplate.from_bytes(packed)

    def is_young(self, host: str) -> bool:
        """Whether every page of a host should be learned from; it is asked at every first visit."""
        if host in self._grown:
            return False
        is_young = self.of(host).is_young
        if not is_young:
            self._grown.add(host)
        return is_young

    def learn(self, visit: Visit) -> None:
        """Learn what a page has in its elements, if the visit has found out."""
        host = visit.page.host
        if visit.sketches is None:
            if visit.outcome is Outcome.UNCHANGED and host in self._packed:
                self._calm[host] += 1
            return
        template = self.of(host)
        template.learn(visit.page.number, visit.sketches, self._calm.pop(host, 0))
        self._changed.add(host)
        self._remember(host, template.to_bytes())

    def changed(self) -> dict[str, bytes]:
        """Return what was learned since the last call, by host, to be written now."""
        learned = {host: self._packed[host] for host in self._changed}
        self._changed.clear()
        return learned

    def _remember(self, host: str, packed: bytes) -> None:
        """Keep what is known of a host, and forget others that have been saved."""
        self._packed[host] = packed
        self._packed.move_to_end(host)
        excess = len(self._packed) - self._max_hosts
        if excess > 0:
            unwritten = {*self._changed, host}
            written = (name for name in self._packed if name not in unwritten)
            for name in list(islice(written, excess)):
                del self._packed[name]
                self._calm.pop(name, None)
                self._grown.discard(name)

"""Cache the templates of sites: loaded from the store, and updated by visits."""

from collections import Counter, OrderedDict
from collections.abc import Callable, Mapping
from itertools import islice
from typing import final

from recrawl.content.boilerplate.template import SiteTemplate
from recrawl.records import Outcome, Visit

#: Hosts whose templates are in memory, at most 20 kB each. A crawl visits few hosts at a time,
#: their pages in turn; a host that comes up again later is read from the store in less time than
#: its page takes to arrive.
MAX_HOSTS = 1_000


@final
class Templates:
    """The templates of sites, by host.

    Args:
        load: Returns the stored template of a host, or None.
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
        # Visits that taught nothing, since the last one that did.
        self._calm = Counter[str]()
        # Hosts in memory that are known not to be young.
        self._grown: set[str] = set()

    def __len__(self) -> int:
        """How many hosts are in memory."""
        return len(self._packed)

    def of(self, host: str) -> SiteTemplate:
        """Return the current template of a host; it does not change with later visits."""
        packed = self._packed.get(host)
        if packed is None:
            packed = self._load(host) or b""
        self._remember(host, packed)
        return SiteTemplate.from_bytes(packed)

    def is_young(self, host: str) -> bool:
        """Whether every page of a host should be learned from; checked at every first visit."""
        if host in self._grown:
            return False
        is_young = self.of(host).is_young
        if not is_young:
            self._grown.add(host)
        return is_young

    def learn(self, visit: Visit) -> None:
        """Learn from the elements of a page, if the visit has parsed it."""
        host = visit.page.host
        if visit.sketches is None:
            if visit.outcome is Outcome.UNCHANGED and host in self._packed:
                self._calm[host] += 1
            return
        template = self.of(host)
        template.learn(visit.page.number, visit.sketches, self._calm.pop(host, 0))
        self._changed.add(host)
        self._remember(host, template.to_bytes())

    def receive(self, learned: Mapping[str, bytes]) -> None:
        """Take templates that other processes learned, by host, to be written."""
        for host, packed in learned.items():
            self._changed.add(host)
            self._remember(host, packed)

    def forget(self, host: str) -> None:
        """Have a host's template loaded anew, as another process may have learned since."""
        if host not in self._changed:
            self._packed.pop(host, None)
            self._grown.discard(host)

    def changed(self) -> dict[str, bytes]:
        """Return the templates learned since the last call, by host, to be written now."""
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

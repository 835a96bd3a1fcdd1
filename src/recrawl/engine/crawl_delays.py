"""The delays that hosts ask for in robots.txt, as crawlers reported them."""

import struct
from typing import final

from recrawl.store.thread import StoreThread

#: What the store calls them.
CRAWL_DELAY = "crawl delay"
_DELAY = struct.Struct("<d")


@final
class CrawlDelays:
    """Seconds between two requests, by host; they outlive the process.

    Args:
        store: Where they are kept.
    """

    def __init__(self, store: StoreThread) -> None:
        self._store = store
        self._delays: dict[str, float] = {
            host: _DELAY.unpack(value)[0]
            for host, value in store.store.kept(CRAWL_DELAY).items()
            if len(value) == _DELAY.size
        }

    def of(self, host: str) -> float:
        """Return the delay that a host asks for; 0 if for none."""
        return self._delays.get(host, 0.0)

    def note(self, host: str, delay: float) -> bool:
        """Note the delay that a host asks for; return whether it is another than before."""
        if delay == self.of(host):
            return False
        self._delays[host] = delay
        self._store.call_later(self._store.store.keep, CRAWL_DELAY, {host: _DELAY.pack(delay)})
        return True

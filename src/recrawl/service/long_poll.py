"""Following the feed of changes: what comes after a cursor, now or later."""

import asyncio
from http import HTTPStatus
from typing import final

from recrawl.errors import StoreError
from recrawl.service.problems import ProblemError
from recrawl.service.store_reader import StoreReader
from recrawl.store.changes import Cursor, PageChange

#: Real seconds between two checks for new changes.
POLL_SECONDS = 0.25
#: Where a reader that knows nothing yet starts.
START = "start"


@final
class Following:
    """Reads the feed for clients; those who wait for the next change share one check.

    Args:
        reader: The store, for reading.
        stopping: Set when nobody is to be kept waiting.
    """

    def __init__(self, reader: StoreReader, stopping: asyncio.Event) -> None:
        self._reader = reader
        self._stopping = stopping
        self._looked_at, self._newest_serial = float("-inf"), 0

    async def cursor(self, since: str | None) -> Cursor:
        """Return the cursor that a text means: a cursor, ``start``, or None for the end.

        Raises:
            ArgumentError: This is no cursor.
        """
        if since is None:
            return await self._reader.call(lambda store: store.feed.end())
        if since == START:
            return await self._reader.call(lambda store: store.feed.start())
        return Cursor.parse(since)

    async def after(self, cursor: Cursor, limit: int, wait: float = 0.0) -> list[PageChange]:
        """Return what follows a cursor; if that is nothing, wait for it for some real seconds.

        Raises:
            ProblemError: Changes after the cursor have been dropped, or it is of another store.
        """
        loop = asyncio.get_running_loop()
        until, is_first = loop.time() + wait, True
        while True:
            found = list[PageChange]()
            if is_first or cursor.page is not None or await self._newest() > cursor.serial:
                found = await self._read(cursor, limit)
            is_first = False
            left = until - loop.time()
            if found or left <= 0.0 or self._stopping.is_set():
                return found
            await asyncio.sleep(min(POLL_SECONDS, left))

    async def _read(self, cursor: Cursor, limit: int) -> list[PageChange]:
        try:
            return await self._reader.call(lambda store: store.feed.read(cursor, limit))
        except StoreError as error:
            raise ProblemError(HTTPStatus.CONFLICT, str(error)) from None

    async def _newest(self) -> int:
        """Return the serial of the newest change, as of a moment ago."""
        now = asyncio.get_running_loop().time()
        if now - self._looked_at >= POLL_SECONDS:
            self._looked_at = now
            end = await self._reader.call(lambda store: store.feed.end())
            self._newest_serial = end.serial
        return self._newest_serial

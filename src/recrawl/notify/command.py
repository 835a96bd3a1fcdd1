"""Run a user's command for every change, alongside the crawl and without delaying it."""

import asyncio
import json
import logging
import os
import shlex
import shutil
import signal
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import final

from recrawl.errors import StoreError
from recrawl.store.changes import Cursor, PageChange, change_object
from recrawl.store.sqlite import SqliteStore

LOGGER = logging.getLogger("recrawl.crawler")

#: Where the store keeps how far the command has got.
CURSOR = "on_change_cursor"
#: Real seconds: between two checks for changes, before the first retry, before a retry at most,
#: that a command may run, and to wait for it when the crawl ends.
POLL, FIRST_RETRY, MAX_RETRY, MAX_RUN, GRACE = 0.5, 1.0, 300.0, 60.0, 1.0
CHANGES_PER_BATCH = 100


def missing_program(command: str) -> str | None:
    """Return the program of a command if it cannot be found, else None.

    >>> missing_program("/no/such/program --now"), missing_program("")
    ('/no/such/program', None)
    """
    words = shlex.split(command)
    return words[0] if words and shutil.which(words[0]) is None else None


@final
class ChangeHook:
    """Runs a command once for each change, in order, with one line of JSON on standard input.

    A command that fails or takes too long is run again for the same change, with exponential
    backoff; later changes wait. The store keeps the position, so that the next crawl resumes there.
    The first time, it starts with changes from then on.

    Args:
        command: The command and its arguments, quoted as in a shell, though no shell is used.
        store: A connection to the store that nobody else uses.
    """

    def __init__(self, command: str, store: SqliteStore) -> None:
        self._arguments = shlex.split(command)
        if (program := missing_program(command)) is not None:
            LOGGER.warning("on_change: there is no program %s", program)
        self._store = store
        self._idle = asyncio.Event()

    async def run(self) -> None:
        """Run the command for every change, until cancelled."""
        cursor: Cursor | None = None
        while True:
            try:
                if cursor is None:
                    cursor = await asyncio.to_thread(self._begin)
                changes = await asyncio.to_thread(self._store.feed.read, cursor, CHANGES_PER_BATCH)
                for change in changes:
                    await self._deliver(change)
                    cursor = change.cursor
                    await asyncio.to_thread(self._store.set_meta, CURSOR, str(cursor))
            except StoreError as error:
                LOGGER.warning("on_change: %s", error)
                cursor, changes = None, []
            if not changes:
                self._idle.set()
                await asyncio.sleep(POLL)

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Run the command while the block runs, and finish within `GRACE` seconds after it."""
        task = asyncio.create_task(self.run())
        try:
            yield
            await self._catch_up()
        finally:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task

    async def _catch_up(self) -> None:
        """Wait until all changes are handled, for at most `GRACE` seconds."""
        with suppress(TimeoutError):
            async with asyncio.timeout(GRACE):
                self._idle.clear()
                await self._idle.wait()

    def _begin(self) -> Cursor:
        """Return the cursor to continue from: the stored one, or the end of the feed."""
        kept, oldest = self._store.meta(CURSOR), self._store.feed.oldest()
        if kept is None:
            cursor = self._store.feed.end()
            self._store.set_meta(CURSOR, str(cursor))
            return cursor
        cursor = Cursor.parse(kept)
        if cursor.serial < oldest.serial:
            LOGGER.warning("on_change: changes were dropped before the command was run for them")
        return max(cursor, oldest)

    async def _deliver(self, change: PageChange) -> None:
        """Run the command for a change until it succeeds."""
        line = json.dumps(change_object(change)).encode() + b"\n"
        pause = FIRST_RETRY
        while (problem := await self._run(line)) is not None:
            LOGGER.warning(
                "on_change: the command %s for %s; retrying in %g s", problem, change.url, pause
            )
            await asyncio.sleep(pause)
            pause = min(2 * pause, MAX_RETRY)

    async def _run(self, line: bytes) -> str | None:
        """Run the command once; return what went wrong, or None."""
        try:
            process = await asyncio.create_subprocess_exec(
                *self._arguments,
                stdin=PIPE,
                stdout=DEVNULL,
                stderr=DEVNULL,
                # Ctrl-C stops the crawl, which then waits for the command.
                start_new_session=True,
            )
        except OSError as error:
            return f"cannot be run ({error.strerror})"
        try:
            async with asyncio.timeout(MAX_RUN):
                await process.communicate(line)
        except TimeoutError:
            return f"took more than {MAX_RUN:g} s"
        finally:
            await _end(process)
        return None if process.returncode == 0 else f"ended with status {process.returncode}"


async def _end(process: Process) -> None:
    """Kill a command and its child processes."""
    if process.returncode is None:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        ended = asyncio.ensure_future(process.wait())
        try:
            await asyncio.shield(ended)
        except asyncio.CancelledError:
            await ended  # Soon, as it was killed; otherwise it would outlive the event loop.
            raise

"""A read-only connection with its own thread, so that reading does not hold up a crawl."""

import asyncio
from collections.abc import Callable
from concurrent.futures import Executor, ThreadPoolExecutor
from typing import Concatenate, ParamSpec, TypeVar, final

from recrawl.store.sqlite import SqliteStore

P = ParamSpec("P")
T = TypeVar("T")


@final
class StoreReader:
    """Calls functions with a store that is open for reading, one at a time.

    Args:
        store: A connection that nobody else uses.
        executor: What calls the functions, if not a separate thread.
    """

    def __init__(self, store: SqliteStore, executor: Executor | None = None) -> None:
        self.store = store
        self._executor = executor or ThreadPoolExecutor(1, "store-reader")

    async def call(
        self, function: Callable[Concatenate[SqliteStore, P], T], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """Call a function with the store and return its result."""
        submitted = self._executor.submit(function, self.store, *args, **kwargs)
        return await asyncio.wrap_future(submitted)

    def close(self) -> None:
        """Finish pending calls and end the thread."""
        self._executor.shutdown()

"""A connection that only reads, with a thread of its own: looking does not hold up a crawl."""

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
        executor: What calls the functions, if not a thread of its own.
    """

    def __init__(self, store: SqliteStore, executor: Executor | None = None) -> None:
        self.store = store
        self._executor = executor or ThreadPoolExecutor(1, "store-reader")

    async def call(
        self, function: Callable[Concatenate[SqliteStore, P], T], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """Call a function with the store, and return what it returns."""
        submitted = self._executor.submit(function, self.store, *args, **kwargs)
        return await asyncio.wrap_future(submitted)

    def close(self) -> None:
        """Finish what was asked for, and end the thread."""
        self._executor.shutdown()

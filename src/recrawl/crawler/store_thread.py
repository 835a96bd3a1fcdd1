"""The store, and the one thread that uses it."""

import asyncio
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import ParamSpec, TypeVar, final

from recrawl.store.sqlite import SqliteStore

P = ParamSpec("P")
T = TypeVar("T")


@final
class StoreThread:
    """Runs the store's methods, in the order they are asked for, without holding up the loop.

    Attributes:
        store: Whose methods these are.
    """

    def __init__(self, store: SqliteStore) -> None:
        self.store = store
        self._thread = ThreadPoolExecutor(1, "store")
        self._failed: BaseException | None = None

    async def use(self, method: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Call a method of the store and wait for what it gives.

        Raises:
            StoreError: It failed, or something that was to be done later has.
        """
        if self._failed is not None:
            raise self._failed
        job = self._thread.submit(method, *args, **kwargs)
        return await asyncio.wrap_future(job)

    def later(self, method: Callable[P, object], *args: P.args, **kwargs: P.kwargs) -> None:
        """Call a method of the store when its turn comes, without waiting."""
        self._thread.submit(method, *args, **kwargs).add_done_callback(self._note)

    def _note(self, job: Future[object]) -> None:
        self._failed = self._failed or job.exception()

    def close(self) -> None:
        """Wait for what was asked for, and end the thread."""
        self._thread.shutdown()

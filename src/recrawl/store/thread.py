"""Run the store's methods in a single thread."""

import asyncio
from collections.abc import Callable
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from typing import ParamSpec, TypeVar, final

from recrawl.errors import StoreError
from recrawl.store.storing import Storing

P = ParamSpec("P")
T = TypeVar("T")


@final
class StoreThread:
    """Calls the store's methods in order, one at a time, without blocking the event loop.

    Args:
        store: The store.
        executor: What runs the methods; by default, a new thread.
    """

    def __init__(self, store: Storing, executor: Executor | None = None) -> None:
        self.store = store
        self._executor = executor or ThreadPoolExecutor(1, "store")
        self._failed: BaseException | None = None

    async def call(self, method: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Call a method of the store and return what it returns.

        Raises:
            StoreError: It failed, or a `call_later` has, or the thread has ended.
        """
        if self._failed is not None:
            raise self._failed
        return await asyncio.wrap_future(self._executor.submit(method, *args, **kwargs))

    def call_later(self, method: Callable[P, object], *args: P.args, **kwargs: P.kwargs) -> None:
        """Call a method of the store when its turn comes, without waiting for it."""
        self._executor.submit(method, *args, **kwargs).add_done_callback(self._keep_failure)

    def _keep_failure(self, job: Future[object]) -> None:
        self._failed = self._failed or job.exception()

    def close(self) -> None:
        """Finish the submitted calls, and end the thread."""
        self._executor.shutdown()
        self._failed = self._failed or StoreError("the crawl has ended; try again")

"""Time that passes only when everybody sleeps, so that minutes take no time."""

import asyncio
import selectors
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


class _Selector(selectors.DefaultSelector):
    """Waits by moving the clock."""

    now = 0.0

    def select(self, timeout: float | None = None) -> Any:  # noqa: ANN401 - as inherited
        ready = super().select(0)
        if not ready and timeout is not None:
            self.now += timeout
        return ready


class VirtualLoop(asyncio.SelectorEventLoop):
    """A loop whose seconds take no time."""

    def __init__(self) -> None:
        self._virtual = _Selector()
        super().__init__(self._virtual)

    def time(self) -> float:
        return self._virtual.now


def run(main: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine in time that costs none."""
    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        return runner.run(main)


def now() -> float:
    """Give the time in there."""
    return asyncio.get_running_loop().time()

"""Virtual time for asyncio: the clock advances only while everything waits for a timer."""

import asyncio
import selectors
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from recrawl.clock import Clock

T = TypeVar("T")


#: How often sockets are looked at before the clock advances. A busy machine lets this process wait
#: before each look, and others act meanwhile: the busier it is, the longer the looks take together.
_LOOKS = 10


class _Selector(selectors.DefaultSelector):
    """Advances the clock instead of waiting."""

    def __init__(self, grace: float) -> None:
        super().__init__()
        self.now = 0.0
        self.grace = grace

    def select(self, timeout: float | None = None) -> Any:  # noqa: ANN401 - as inherited
        ready = super().select(timeout if timeout is None else 0.0)
        if timeout and self.grace:
            for _ in range(_LOOKS):
                if ready:
                    break
                ready = super().select(self.grace / _LOOKS)
        if not ready and timeout is not None:
            self.now += timeout
        return ready


class VirtualLoop(asyncio.SelectorEventLoop):
    """An event loop in virtual time."""

    def __init__(self, grace: float) -> None:
        self._virtual = _Selector(grace)
        super().__init__(self._virtual)

    def time(self) -> float:
        return self._virtual.now


def run(main: Coroutine[Any, Any, T], *, grace: float = 0.0) -> T:
    """Run a coroutine in virtual time.

    Args:
        main: The coroutine.
        grace: Real seconds to wait for sockets before the clock advances, for tests with servers.
    """
    with asyncio.Runner(loop_factory=lambda: VirtualLoop(grace)) as runner:
        return runner.run(main)


def clock() -> Clock:
    """Return a clock that shows the virtual time."""
    return Clock(wall=_microseconds, steady=now)


def _microseconds() -> int:
    return round(now() * 1e6)


def now() -> float:
    """Return the virtual time, in seconds."""
    return asyncio.get_running_loop().time()


async def until(condition: Callable[[], bool]) -> None:
    """Wait until something is so, to a hundredth of a second."""
    while not condition():  # noqa: ASYNC110 - nobody sets an event, and time costs nothing
        await asyncio.sleep(0.01)

"""Parse untrusted bytes in worker processes that can be killed."""

import asyncio
import logging
import os
import threading
import time
from bisect import insort
from collections.abc import Callable
from concurrent.futures import Future
from operator import attrgetter
from typing import Any, ParamSpec, TypeVar, final

from recrawl.errors import RecrawlError
from recrawl.parsing.process import ParseProcess, pickled

LOGGER = logging.getLogger("recrawl.crawler")

P = ParamSpec("P")
T = TypeVar("T")

#: Seconds of CPU time per call. Parsing a page takes milliseconds; a call that exceeds the first
#: limit is made again in the single process for slow calls, where it holds up no quick ones.
QUICK_SECONDS, SLOW_SECONDS = 0.5, 5.0
#: Bytes of memory per call, in the same two steps. A page of 2 MB full of links takes 130 MB.
QUICK_MEMORY, SLOW_MEMORY = 56_000_000, 140_000_000
#: Calls that may wait for the slow process; more are given up at once, since each occupies a
#: connection, and holds a body in memory that others wait for.
MAX_SLOW = 1
#: Calls sent to a process at once; fewer, if they reach this many bytes.
MAX_BATCH, MAX_BATCH_BYTES = 16, 500_000
#: Seconds by which a call may be overtaken, per byte of what it parses: long pages take longest,
#: and nobody should have to wait for many of them.
OVERTAKING = 2e-6
#: How far the processes yield to the crawl itself: when that has to wait, every host does. With a
#: higher value, a busy machine would leave them too little CPU time.
NICENESS = 10

#: The error of a visit to something on which parsing failed for an unknown reason.
NOT_PARSED = "cannot be parsed"

_WATCH_SECONDS = 1.0


class TooExpensiveError(Exception):
    """A call took too much time or memory, or crashed its process."""


def log_parse_error(url: str, error: Exception) -> str:
    """Log an error that nothing explains, with its traceback; return it in a few words.

    No page may end a crawl: it would end every later one too.
    """
    LOGGER.error("cannot parse %s, which is a bug in recrawl", url, exc_info=error)
    return f"{NOT_PARSED} ({type(error).__name__})"


@final
class ParsePool:
    """Makes calls in worker processes, each within limits on CPU time and memory.

    ::

        run(function, ...)
          quick processes     batches of calls; 0.5 s of CPU time and 56 MB of memory each
            over the limit? once more in
          the slow process    few waiting; 5 s and 140 MB
            over the limit again, or a crash? TooExpensiveError

    A process is started by the first call that needs it, and replaced when it was killed. All exit
    with the pool, and with this process, however that ends.

    Args:
        processes: The maximum number of quick processes; 0 for one per core.
        max_slow: Calls that may wait for the slow process; more are given up at once.

    >>> pool = ParsePool(1)
    >>> asyncio.run(pool.run(len, b"abc"))
    3
    >>> pool.close()
    """

    def __init__(self, processes: int = 0, max_slow: float = MAX_SLOW) -> None:
        self._processes = processes or os.cpu_count() or 1
        self._lock = threading.Lock()
        self._quick = _Queue(self._lock, self._processes, QUICK_SECONDS, QUICK_MEMORY)
        self._slow = _Queue(self._lock, 1, SLOW_SECONDS, SLOW_MEMORY, max_slow)
        self._ended = threading.Event()
        self._is_started = False

    @property
    def pids(self) -> list[int]:
        """The ids of the running processes."""
        with self._lock:
            return [one.pid for queue in (self._quick, self._slow) for one in queue.running]

    async def run(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Call a function in a worker process, and return what it returns or raise what it raises.

        Function, arguments and result must be picklable, and the result should be small: it is
        unpickled while the event loop waits.

        Raises:
            TooExpensiveError: The call took too much time or memory, or crashed.
            RecrawlError: No process can be started.
        """
        return await asyncio.wrap_future(self.submit(function, *args, **kwargs))

    def submit(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """Begin to call a function, as `run` does, from any thread."""
        self._start()
        job = _Job(function, args, kwargs)
        self._quick.put(job)
        return job.future

    def close(self) -> None:
        """Kill all processes, whatever they are doing."""
        self._ended.set()
        for queue in (self._quick, self._slow):
            queue.close()

    def _start(self) -> None:
        if not self._is_started:
            self._is_started = True
            work = [(self._quick, self._slow)] * self._processes + [(self._slow, None)]
            for queue, then in work:
                threading.Thread(
                    target=_work, args=(queue, then), name="parse", daemon=True
                ).start()
            threading.Thread(target=self._watch, name="parse watch", daemon=True).start()

    def _watch(self) -> None:
        """Kill the processes that hang."""
        while not self._ended.wait(_WATCH_SECONDS):
            with self._lock:
                running = [*self._quick.running, *self._slow.running]
            for process in running:
                if process.deadline < time.monotonic():
                    process.kill()


class _Job:
    """A call, and the future of its result."""

    __slots__ = ("_call", "due", "future")

    def __init__(
        self, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> None:
        self.future = Future[Any]()
        self._call = function, args, kwargs
        self.due = time.monotonic() + OVERTAKING * sum(map(_size, args))

    def pickle(self) -> bytes | None:
        """Return the call as bytes; None if nobody waits for it any more, or it cannot be pickled.

        They are not cached: queued calls would be in memory twice.
        """
        if not self.future.running() and not self.future.set_running_or_notify_cancel():
            return None
        try:
            return pickled(*self._call)
        except Exception as error:  # noqa: BLE001 - whatever it is, it is the caller's
            self.future.set_exception(error)
            return None


_due = attrgetter("due")


def _size(argument: object) -> int:
    """Return the bytes that a call parses in one of its arguments."""
    body = getattr(argument, "body", argument)
    return len(body) if isinstance(body, bytes) else 0


class _Queue:
    """Queued calls, and the processes that make them."""

    def __init__(
        self,
        lock: threading.Lock,
        processes: int,
        seconds: float,
        memory: int,
        max_waiting: float = float("inf"),
    ) -> None:
        self.running: list[ParseProcess] = []
        self.seconds = seconds
        self._memory = memory
        self._max_waiting = max_waiting
        self._processes = processes
        #: In order of when they were queued, and of how long they are.
        self._jobs = list[_Job]()
        self._condition = threading.Condition(lock)
        self._is_closed = False

    def put(self, job: _Job) -> bool:
        """Add a call, unless too many are queued already."""
        with self._condition:
            if self._is_closed:
                job.future.cancel()
                return True
            if len(self._jobs) >= self._max_waiting:
                return False
            insort(self._jobs, job, key=_due)
            self._condition.notify()
            return True

    def put_back(self, jobs: list[_Job]) -> None:
        """Put back calls that were taken but not made."""
        with self._condition:
            for job in jobs:
                insort(self._jobs, job, key=_due)
            self._condition.notify(len(jobs))

    def take(self) -> tuple[list[_Job], list[bytes]]:
        """Wait for calls, and return a fair share of them, and their bytes; none once closed."""
        batch, calls = list[_Job](), list[bytes]()
        while not batch:
            with self._condition:
                while not self._jobs and not self._is_closed:
                    self._condition.wait()
                if self._is_closed:
                    return [], []
                share = min(-(-len(self._jobs) // self._processes), MAX_BATCH)
                jobs, self._jobs = self._jobs[:share], self._jobs[share:]
            while jobs and sum(map(len, calls)) < MAX_BATCH_BYTES:
                job = jobs.pop(0)
                call = job.pickle()
                if call is not None:
                    batch.append(job)
                    calls.append(call)
            if jobs:
                self.put_back(jobs)
        return batch, calls

    def start(self) -> ParseProcess | None:
        """Start a process; None once the queue is closed."""
        process = ParseProcess(self._memory, NICENESS)
        with self._condition:
            self.running.append(process)
            if not self._is_closed:
                return process
        self.end(process)
        return None

    def end(self, process: ParseProcess) -> None:
        """Forget a process."""
        process.kill()
        with self._condition:
            self.running.remove(process)
        process.forget()

    def close(self) -> None:
        """Kill all processes, and cancel all calls."""
        with self._condition:
            self._is_closed = True
            self._condition.notify_all()
            jobs, running = list(self._jobs), list(self.running)
            self._jobs.clear()
        for process in running:
            process.kill()
        for job in jobs:
            job.future.cancel()

    @property
    def is_closed(self) -> bool:
        return self._is_closed


def _work(queue: _Queue, then: _Queue | None) -> None:
    """Make the calls of a queue, batch by batch, starting a new process when one has died."""
    process: ParseProcess | None = None
    while True:
        left, calls = queue.take()
        if not left:
            break
        try:
            process = process or queue.start()
        except RecrawlError as error:
            for job in left:
                job.future.set_exception(error)
            continue
        if process is None:
            break
        _ask(process, left, calls, queue.seconds)
        if left:
            blamed = process.is_to_blame()
            queue.end(process)
            process = None
            if queue.is_closed:
                break
            if blamed:
                _blame(left.pop(0), then)
            queue.put_back(left)
    if process is not None:
        queue.end(process)


def _ask(process: ParseProcess, left: list[_Job], calls: list[bytes], seconds: float) -> None:
    """Make the calls of a batch; those left over were not made, as the process died."""
    for is_result, found in process.ask(calls, seconds):
        future = left.pop(0).future
        if is_result:
            future.set_result(found)
        else:
            future.set_exception(found)


def _blame(job: _Job, then: _Queue | None) -> None:
    """Retry a call that killed its process in the next queue, or give it up."""
    if then is None or not then.put(job):
        job.future.set_exception(TooExpensiveError("too expensive to parse"))

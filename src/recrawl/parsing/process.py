"""Start, call and kill one parse process."""

import os
import pickle
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, final

from recrawl.errors import RecrawlError
from recrawl.parsing import worker as parse_worker

#: What processes import before the first call: all that pages and sitemaps need.
MODULES = ("recrawl.content.reading", "recrawl.content.sitemaps.packed")
#: Real seconds after which a start or a call counts as hung. CPU time has limits of its own, but a
#: process that is stopped or blocked uses none.
MAX_WAIT = 60.0

#: Make glibc return the memory of a page, rather than keep it for the next.
_MALLOC = {
    "MALLOC_ARENA_MAX": "1",
    "MALLOC_MMAP_THRESHOLD_": "131072",
    "MALLOC_TRIM_THRESHOLD_": "1048576",
}

#: Exit statuses that are not the fault of what a process was parsing.
_FROM_OUTSIDE = frozenset(
    -getattr(signal, name, 0) for name in ("SIGINT", "SIGTERM", "SIGHUP", "SIGIO")
)


@final
class ParseProcess:
    """A worker process that makes calls; used by one thread at a time, except for `kill`.

    Args:
        max_memory: Bytes of memory that it may use beyond what it has after starting.
        niceness: Its niceness, as in ``nice``.

    Attributes:
        deadline: When it is to be killed, in seconds of the monotonic clock.

    Raises:
        RecrawlError: It does not start.
    """

    def __init__(self, max_memory: int, niceness: int = 0) -> None:
        self.deadline = time.monotonic() + MAX_WAIT
        self._closing = threading.Lock()
        try:
            life, self._life = os.pipe()
        except OSError as error:
            raise _no_start(error) from None
        try:
            self._process = subprocess.Popen(  # noqa: S603 - our own program
                [sys.executable, "-I", str(Path(parse_worker.__file__)), str(life)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                # A reader of our log, until it is closed, must not have to wait for these
                # processes.
                stderr=subprocess.DEVNULL,
                pass_fds=() if sys.platform == "win32" else (life,),
                env=os.environ | _MALLOC,
            )
        except OSError as error:
            os.close(self._life)
            raise _no_start(error) from None
        finally:
            os.close(life)
        about = list(sys.path), MODULES, max_memory, niceness
        frame = pickle.dumps(about)
        self._send([parse_worker.LENGTH.pack(len(frame)), frame])
        if self._receive() is None:
            self.forget()
            raise _no_start("it ended at once")

    @property
    def pid(self) -> int:
        """The process id."""
        return self._process.pid

    def ask(self, calls: list[bytes], seconds: float) -> Iterator[tuple[bool, Any]]:
        """Yield what each call returns or raises, in order; fewer if the process has died.

        Args:
            calls: Calls as `pickled` makes them; the list is emptied once they are sent.
            seconds: The CPU time that each may take.
        """
        count = len(calls)
        self.deadline = time.monotonic() + MAX_WAIT
        self._send([parse_worker.BATCH.pack(count, seconds)])
        while calls:
            self._send([parse_worker.LENGTH.pack(len(calls[0])), calls.pop(0)])
        for _ in range(count):
            self.deadline = time.monotonic() + MAX_WAIT
            answer = self._receive()
            if answer is None:
                break
            yield _unpickled(answer)
        self.deadline = float("inf")

    def is_to_blame(self) -> bool:
        """Whether the process, which has died, did so because of what it was parsing."""
        return self._process.wait() not in _FROM_OUTSIDE

    def kill(self) -> None:
        """Kill the process; may be called from any thread, any number of times."""
        self._process.kill()
        with self._closing:
            if self._life >= 0:
                os.close(self._life)
                self._life = -1

    def forget(self) -> None:
        """Release the resources of a process that has died."""
        self.kill()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                try:
                    pipe.close()
                except OSError:
                    # What was buffered can no longer be sent.
                    continue

    def _send(self, parts: Sequence[bytes]) -> None:
        pipe = self._process.stdin
        assert pipe is not None
        try:
            for part in parts:
                pipe.write(part)
            pipe.flush()
        except OSError:
            # It has died, so there will be no more answers.
            self.kill()

    def _receive(self) -> bytes | None:
        pipe = self._process.stdout
        assert pipe is not None
        header = pipe.read(parse_worker.LENGTH.size)
        if len(header) < parse_worker.LENGTH.size:
            return None
        (length,) = parse_worker.LENGTH.unpack(header)
        answer = pipe.read(length)
        return answer if len(answer) == length else None


def _unpickled(answer: bytes) -> tuple[bool, Any]:
    """Unpickle an answer; an exception that cannot be unpickled is replaced by another."""
    try:
        found: tuple[bool, Any] = pickle.loads(answer)  # noqa: S301 - from a process of our own
    except Exception as error:  # noqa: BLE001 - the caller should know
        return False, RuntimeError(f"a call failed, and its answer cannot be read: {error}")
    return found


def _no_start(why: object) -> RecrawlError:
    return RecrawlError(f"cannot start a process to parse pages: {why}")


def pickled(function: object, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bytes:
    """Serialise a call for a process."""
    return pickle.dumps((function, args, kwargs), pickle.HIGHEST_PROTOCOL)

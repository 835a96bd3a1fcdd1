"""The program of a parse process, which makes calls within limits on time and memory.

It is run by path and imports nothing from recrawl by itself, so that it starts quickly and stays
small; the first message says which modules to import. A message is a length and a pickle.
"""

import gc
import importlib
import os
import pickle
import signal
import struct
import sys
from contextlib import suppress
from typing import Any, BinaryIO

#: The length prefix of a message.
LENGTH = struct.Struct("<Q")
#: The header of a batch: how many calls it has, and the seconds of CPU time for each.
BATCH = struct.Struct("<Qd")
#: Allocations between garbage collections; a page takes some thousand, and leaves no cycles.
GARBAGE_AFTER = 50_000
#: After a call of this many bytes, free memory is returned to the system. That takes a millisecond;
#: otherwise glibc keeps most of it, since something small was allocated behind it.
LARGE = 500_000
#: The exit status of a process that ran out of memory.
OUT_OF_MEMORY = 86


def main() -> None:
    """Answer calls until there are no more."""
    calls = sys.stdin.buffer
    answers = os.fdopen(os.dup(1), "wb")
    # Printed text must not get into the answers.
    os.dup2(2, 1)
    path, modules, max_bytes, niceness = pickle.loads(_read(calls))  # noqa: S301 - our own
    sys.path[:] = path
    _obey_the_parent_only(int(sys.argv[1]))
    for module in modules:
        importlib.import_module(module)
    # Imported modules stay: scanning them at every collection would take 5 % of the time.
    gc.freeze()
    gc.set_threshold(GARBAGE_AFTER)
    _limit(max_bytes, niceness)
    _write(answers, b"ready")
    while header := calls.read(BATCH.size):
        count, seconds = BATCH.unpack(header)
        # All calls are read before the first is answered, so that the two sides cannot deadlock.
        jobs = [_read(calls) for _ in range(count)]
        while jobs:
            size = len(jobs[0])
            _write(answers, _answer(jobs, seconds))
            if size >= LARGE:
                _release_memory()


def _answer(jobs: list[bytes], seconds: float) -> bytes:
    """Make the first call, and return what it returns or raises; the process dies at its limits."""
    # The bytes are released before the call is made.
    function, args, kwargs = pickle.loads(jobs.pop(0))  # noqa: S301 - our own
    _set_timer(seconds)
    found: tuple[bool, Any]
    try:
        found = True, function(*args, **kwargs)
        return pickle.dumps(found, pickle.HIGHEST_PROTOCOL)
    except MemoryError:
        os._exit(OUT_OF_MEMORY)
    except Exception as error:  # noqa: BLE001 - whatever it is, it is the caller's
        if isinstance(error, ImportError) and not isinstance(error, ModuleNotFoundError):
            # A module that is there, and is imported by the first call that needs it, cannot be
            # loaded any more.
            os._exit(OUT_OF_MEMORY)
        with suppress(Exception):
            return pickle.dumps((False, error), pickle.HIGHEST_PROTOCOL)
        return pickle.dumps((False, RuntimeError(repr(error))), pickle.HIGHEST_PROTOCOL)
    finally:
        _set_timer(0.0)


def _release_memory() -> None:
    """Return free memory to the system, if the C library can."""
    import ctypes

    with suppress(AttributeError, OSError, TypeError):
        ctypes.CDLL(None).malloc_trim(0)


def _set_timer(seconds: float) -> None:
    """Have the system kill this process after so much CPU time, whatever code is running."""
    if sys.platform != "win32":
        signal.setitimer(signal.ITIMER_PROF, seconds)


def _obey_the_parent_only(life: int) -> None:
    """Ignore what a terminal sends to all processes, and die at once when the parent dies.

    Nothing is ever written to the pipe ``life``. When its other end is closed, for whatever reason,
    the system sends SIGIO, which ends the process even in the middle of a call.
    """
    if sys.platform != "win32":
        import fcntl

        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)
        fcntl.fcntl(life, fcntl.F_SETOWN, os.getpid())
        flags = fcntl.fcntl(life, fcntl.F_GETFL)
        fcntl.fcntl(life, fcntl.F_SETFL, flags | os.O_ASYNC | os.O_NONBLOCK)
        with suppress(BlockingIOError):
            # It may have been closed before that; an open pipe has nothing to read.
            os.read(life, 1)
            os._exit(0)


def _limit(max_bytes: int, niceness: int) -> None:
    """Limit the memory to what is used now plus some bytes."""
    if sys.platform == "linux":
        import resource

        with open("/proc/self/statm", encoding="ascii") as statm:  # noqa: PTH123 - no import
            used = int(statm.read().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (used + max_bytes, used + max_bytes))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if sys.platform != "win32":
        os.nice(niceness)


def _read(stream: BinaryIO) -> bytes:
    header = stream.read(LENGTH.size)
    if len(header) < LENGTH.size:
        sys.exit()
    return stream.read(*LENGTH.unpack(header))


def _write(stream: BinaryIO, frame: bytes) -> None:
    stream.write(LENGTH.pack(len(frame)))
    stream.write(frame)
    stream.flush()


if __name__ == "__main__":
    try:
        main()
    except BrokenPipeError:
        pass
    except MemoryError:
        os._exit(OUT_OF_MEMORY)

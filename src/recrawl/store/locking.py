"""One run at a time: a lock that dies with its process."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from recrawl.errors import StoreError


@contextmanager
def only_run(store: Path) -> Iterator[None]:
    """Be the only run on a store; the lock is a file beside it, ``recrawl.db-run``.

    The system lets go of the lock when the process ends, however it ends. The file stays: to remove
    it would let two processes hold locks on two files of the same name.

    Raises:
        StoreError: Another run is going on, or the file cannot be written.
    """
    path = _lock_file(store)
    try:
        handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
    except OSError as error:
        raise StoreError(f"{path}: it cannot be written: {error.strerror}") from None
    try:
        _take(handle, store)
        yield
        with suppress(OSError):
            os.ftruncate(handle, 0)
    finally:
        os.close(handle)


def _lock_file(store: Path) -> Path:
    return store.with_name(f"{store.name}-run")


def _take(handle: int, store: Path) -> None:
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        holder = os.pread(handle, 20, 0).decode("ascii", "replace").strip()
        who = f" (process {holder})" if holder.isdecimal() else ""
        raise StoreError(f"{store}: another recrawl run{who} uses this store") from None
    except OSError as error:
        raise StoreError(f"{store}: it cannot be locked: {error.strerror}") from None
    # Only for the sentence above; a full disk must not keep a run from starting.
    with suppress(OSError):
        os.ftruncate(handle, 0)
        os.pwrite(handle, f"{os.getpid()}\n".encode("ascii"), 0)


def runner_of(path: str | os.PathLike[str]) -> int | None:
    """Give the process that runs on a store, or None; nothing is written or kept waiting.

    A run that was killed leaves its number in the file, so that the lock is asked too, but only
    then: to try a lock while another process takes it would be in that one's way.
    """
    try:
        with _lock_file(Path(path)).open("rb") as file:
            told = file.read(20).strip()
            if not told.isdigit() or not _is_alive(int(told)):
                return None
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return int(told)
    except OSError:
        return None
    return None


def _is_alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except PermissionError:
        return True
    except (OSError, OverflowError):
        return False
    return True

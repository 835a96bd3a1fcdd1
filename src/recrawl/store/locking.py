"""The lock that allows one run at a time, released when its process exits."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from recrawl.errors import StoreError


@contextmanager
def only_run(store: Path) -> Iterator[None]:
    """Hold the lock of a store's only run: a file next to it, ``recrawl.db-run``.

    The system releases the lock when the process exits, for whatever reason. The file stays:
    removing it would let two processes hold locks on two files of the same name.

    Raises:
        StoreError: Another run holds the lock, or the file cannot be written.
    """
    path = _lock_file(store)
    try:
        # Whoever may use the store may lock it, and nobody else.
        mode = store.stat().st_mode & 0o666 if store.exists() else 0o600
        handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, mode)
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
        raise StoreError(f"{store}: another recrawl{who} is using this store") from None
    except OSError as error:
        raise StoreError(f"{store}: it cannot be locked: {error.strerror}") from None
    # Only used in the message above: a full disk must not keep a run from starting.
    with suppress(OSError):
        os.ftruncate(handle, 0)
        os.pwrite(handle, f"{os.getpid()}\n".encode("ascii"), 0)


def runner_of(path: str | os.PathLike[str]) -> int | None:
    """Return the process ID of the run on a store, or None, without writing or blocking.

    A run that was killed leaves its ID in the file, so the lock is tried as well, but only if that
    process is alive: trying it while a run acquires it would make that run fail.
    """
    try:
        with _lock_file(Path(path)).open("rb") as file:
            holder = file.read(20).strip()
            if not holder.isdigit() or not _is_alive(int(holder)):
                return None
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return int(holder)
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

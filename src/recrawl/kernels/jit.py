"""How kernels are compiled, and how large jobs are split among the processor's cores.

Kernels are plain loops over arrays, compiled by numba to machine code that is cached on disk, so
that only the first run on a machine pays for it. Each works on a range of pages and releases the
GIL; pages do not depend on one another, so the result is the same on any number of cores.
"""

import functools
import hashlib
import itertools
import os
import re
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypeVar, cast

import numba
import numpy as np
from llvmlite import ir
from numba.core.caching import IndexDataCacheFile
from numba.extending import intrinsic
from numpy.typing import NDArray

F = TypeVar("F", bound=Callable[..., Any])
R = TypeVar("R")
T = TypeVar("T", bound=np.generic)
Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

#: A multiplication may be fused with the addition after it, which is faster and rounds only once.
#: All other float operations are strict.
FUSED = {"contract"}
#: Sums may also be taken in any order.
ANY_ORDER = {"contract", "reassoc"}
#: Without the wrappers for calls from Python and C.
NO_WRAPPERS = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}
#: With fewer rows, another core costs more than it saves.
MIN_ROWS_PER_CORE = 200_000
PACKAGE = str(Path(__file__).parents[1])
IMPORT = re.compile(rb"^[ \t]*(?:from|import) recrawl([.\w]*)(?: import| as|$)", re.MULTILINE)


def compiled(function: F) -> F:
    """Compile a kernel; division by zero yields infinity or NaN, as in NumPy."""
    return _jit(function, nogil=True, fastmath=FUSED)


def compiled_sum(function: F) -> F:
    """Compile a kernel whose sums may be taken in any order, so that they use SIMD.

    The order depends on the machine, but not on the run. A formula that depends on how it rounds
    must be a kernel of its own: inlined, it would be reordered too.
    """
    return _jit(function, nogil=True, fastmath=ANY_ORDER)


def inlined(function: F) -> F:
    """Compile a formula into each kernel that calls it, so that loops around it can use SIMD."""
    return _jit(function, inline="always", fastmath=FUSED)


def step(function: F) -> F:
    """Compile a function that is called by kernels only, never from Python.

    The wrapper for calls from Python would take longer to compile than the function itself.
    """
    return _jit(function, nogil=True, fastmath=FUSED, **NO_WRAPPERS)


def small_step(function: F) -> F:
    """Compile a step into each kernel that calls it, so that passing it arrays costs nothing.

    Unlike `inlined`, which copies the source, this leaves inlining to LLVM, and so suits steps with
    branches and loops.
    """
    return _jit(function, nogil=True, fastmath=FUSED, forceinline=True, **NO_WRAPPERS)


def _jit(function: F, **flags: Any) -> F:  # noqa: ANN401
    try:
        kernel = numba.njit(cache=True, error_model="numpy", **flags)(function)
        cache, sources = kernel._cache, source_hash(function.__code__.co_filename)  # noqa: SLF001
        name = cache._impl.filename_base  # noqa: SLF001
        cache._cache_file = CacheFile(cache.cache_path, name, sources)  # type: ignore[no-untyped-call]  # noqa: SLF001
    except (AttributeError, OSError, RuntimeError):
        # No source, or no writable directory, neither beside the package nor in the user's home, or
        # a numba that caches otherwise. Every run compiles.
        kernel = numba.njit(error_model="numpy", **flags)(function)
    return cast("F", kernel)


class CacheFile(IndexDataCacheFile):
    """A kernel's machine code on disk, valid for one hash of its sources.

    By itself numba compares the time and size of the kernel's own file, and so misses changes of
    the functions and constants that it imports.
    """

    def _load_index(self) -> dict[Any, str]:
        try:
            return cast("dict[Any, str]", super()._load_index())  # type: ignore[no-untyped-call]
        except (AttributeError, ImportError):
            # Compiled for a type that has since been moved or renamed.
            return {}


@functools.cache
def source_hash(file: str) -> str:
    """Hash a source file together with the files of this package that it imports, at any depth."""
    hashes: dict[str, bytes] = {}
    unread = [file]
    while unread:
        path = unread.pop()
        if path not in hashes:
            hashes[path], imported = _read_source(path)
            unread += imported
    return hashlib.sha256(b"".join(sorted(hashes.values()))).hexdigest()


@functools.cache
def _read_source(path: str) -> tuple[bytes, list[str]]:
    """Return the hash of a source file, and the files of this package that it imports."""
    source = Path(path).read_bytes()
    imported: list[str] = []
    for name in set(IMPORT.findall(source)):
        target = Path(PACKAGE + name.decode().replace(".", os.sep))
        # Names imported from a package may be its modules: take all of them.
        imported += map(str, target.glob("*.py")) if target.is_dir() else [f"{target}.py"]
    return hashlib.sha256(source).digest(), imported


def cores() -> int:
    """Return how many cores this process may use; ``OMP_NUM_THREADS`` may allow fewer.

    Spark sets it for its workers, as several of them share a machine.
    """
    found = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    allowed = os.environ.get("OMP_NUM_THREADS", "")
    return min(found or 1, max(int(allowed), 1) if allowed.isdecimal() else found or 1)


def cut(items: int, rows: int, starts: Ints | None = None) -> list[tuple[int, int]]:
    """Cut items into one range per core, with about the same number of rows in each.

    Item i has ``starts[i + 1] - starts[i]`` rows; without ``starts`` all items have equally many.

    >>> cut(10, rows=10)
    [(0, 10)]
    """
    parts = max(1, min(cores(), rows // MIN_ROWS_PER_CORE))
    targets = np.arange(1, parts) / parts
    inner = (
        np.searchsorted(starts, targets * rows) if starts is not None else (targets * items)
    ).astype(np.int64)
    cuts = [0, *np.minimum(inner, items).tolist(), items]
    return list(itertools.pairwise(cuts))


def in_parallel(work: Callable[[int, int], R], spans: Sequence[tuple[int, int]]) -> list[R]:
    """Call ``work(first, last)`` for every span, each in a thread of its own."""
    if len(spans) == 1:
        return [work(*spans[0])]
    with ThreadPoolExecutor(len(spans)) as pool:
        return [done.result() for done in [pool.submit(work, *span) for span in spans]]


def read_only(column: NDArray[T]) -> NDArray[T]:
    """Return a read-only view.

    Kernels are compiled once per type of argument, and numba tells read-only arrays, which other
    libraries often return, from writeable ones. If all inputs are read-only, there is one type.
    """
    view = column.view()
    view.flags.writeable = False
    return view


def extremes(column: NDArray[Any]) -> tuple[float, float]:
    """Return a column's minimum and maximum; NaN if it holds one, 0 and 0 if it is empty.

    >>> extremes(np.array([3, 1, 2]))
    (1.0, 3.0)
    """
    if not column.size:
        return 0.0, 0.0
    spans = in_parallel(
        lambda first, last: (column[first:last].min(), column[first:last].max()),
        cut(column.size, column.size),
    )
    # Unlike Python's, NumPy's min and max return NaN wherever in the list it is.
    return float(np.min([low for low, _ in spans])), float(np.max([high for _, high in spans]))


CACHE_LINE = 64
MAX_PREFETCH = 18 * CACHE_LINE


def _prefetch(_typing: Any, array: Any, _position: Any) -> Any:  # noqa: ANN401
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:  # noqa: ANN401
        data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
        pointer, number = ir.IntType(8).as_pointer(), ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [pointer, number, number, number])
        request = builder.module.declare_intrinsic("llvm.prefetch", [pointer], kind)
        element = builder.bitcast(builder.gep(data, [arguments[1]]), pointer)
        to_write, keep, as_data = number(1), number(3), number(1)
        size = getattr(signature.args[0].dtype, "size", 1)
        for offset in range(0, min(size, MAX_PREFETCH), CACHE_LINE):
            line = builder.gep(element, [number(offset)])
            builder.call(request, [line, to_write, keep, as_data])
        return context.get_dummy_value()

    return numba.types.void(array, numba.types.int64), generate


#: How many rows ahead loops prefetch: about as many as they process while memory responds.
AHEAD = 64
#: In a kernel: load an element of a flat array that will soon be written into the cache; of a long
#: record, its beginning.
prefetch = cast("Callable[[NDArray[Any], int], None]", intrinsic(_prefetch))

"""How kernels are compiled, and how large work is shared among the processor's cores.

Kernels are plain loops over arrays, compiled by numba to machine code that is kept on disk, so that
only the first run on a machine pays for it. Each works on a range of pages and lets go of Python's
lock; pages do not depend on one another, so the result is the same on any number of cores.
"""

import itertools
import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar, cast

import numba
import numpy as np
from llvmlite import ir
from numba.extending import intrinsic
from numpy.typing import NDArray

F = TypeVar("F", bound=Callable[..., Any])
R = TypeVar("R")
T = TypeVar("T", bound=np.generic)
Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

#: Products may be fused with the sum they go into, which is faster and rounds once less. No other
#: liberty is taken with floats.
CAREFUL = {"contract"}
#: Sums may also be taken in any order.
ANY_ORDER = {"contract", "reassoc"}
#: No wrappers to call a function from Python or C.
NO_WAY_IN = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}
#: Below this many rows a second core costs more than it brings.
ROWS_WORTH_A_CORE = 200_000


def compiled(function: F) -> F:
    """Compile a kernel; division by zero gives infinity or NaN, as in NumPy."""
    return _jit(function, nogil=True, fastmath=CAREFUL)


def compiled_sum(function: F) -> F:
    """Compile a kernel whose sums may be taken in any order, so that they use SIMD.

    The order is the machine's, and the same every time. Formulas that depend on how they round must
    be kernels of their own, not inlined, so as not to be taken apart too.
    """
    return _jit(function, nogil=True, fastmath=ANY_ORDER)


def inlined(function: F) -> F:
    """Compile a formula into every kernel that calls it, so that loops around it can use SIMD."""
    return _jit(function, inline="always", fastmath=CAREFUL)


def step(function: F) -> F:
    """Compile a step of a kernel's work, which kernels call and Python does not.

    Python's way in would take longer to compile than the step itself.
    """
    return _jit(function, nogil=True, fastmath=CAREFUL, **NO_WAY_IN)


def small_step(function: F) -> F:
    """Compile a step into every kernel that calls it, so that handing it arrays costs nothing.

    Unlike `inlined`, which copies a formula's text, this leaves it to the machine code's optimiser,
    and suits steps with branches and loops of their own.
    """
    return _jit(function, nogil=True, fastmath=CAREFUL, forceinline=True, **NO_WAY_IN)


def _jit(function: F, **flags: Any) -> F:  # noqa: ANN401
    try:
        return cast("F", numba.njit(cache=True, error_model="numpy", **flags)(function))
    except RuntimeError:
        # Nowhere to keep machine code: neither beside the package nor at home. Each run compiles.
        return cast("F", numba.njit(error_model="numpy", **flags)(function))


def cores() -> int:
    """How many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def cut(items: int, rows: int, starts: Ints | None = None) -> list[tuple[int, int]]:
    """Cut items into one range a core, of about equally many rows.

    Item i has ``starts[i + 1] - starts[i]`` rows; without ``starts`` all have the same.

    >>> cut(10, rows=10)
    [(0, 10)]
    """
    parts = max(1, min(cores(), rows // ROWS_WORTH_A_CORE))
    targets = np.arange(1, parts) / parts
    inner = (
        np.searchsorted(starts, targets * rows) if starts is not None else (targets * items)
    ).astype(np.int64)
    cuts = [0, *np.minimum(inner, items).tolist(), items]
    return list(itertools.pairwise(cuts))


def in_parallel(work: Callable[[int, int], R], spans: Sequence[tuple[int, int]]) -> list[R]:
    """Call ``work(first, last)`` on every span, each on a core of its own."""
    if len(spans) == 1:
        return [work(*spans[0])]
    with ThreadPoolExecutor(len(spans)) as pool:
        return [done.result() for done in [pool.submit(work, *span) for span in spans]]


def read_only(column: NDArray[T]) -> NDArray[T]:
    """Give a view that cannot be written to.

    A kernel is compiled for each kind of array it meets, and a read-only one, as other libraries
    give them, is a kind of its own. Columns that kernels only read are all made so: one kind.
    """
    view = column.view()
    view.flags.writeable = False
    return view


def extremes(column: NDArray[Any]) -> tuple[float, float]:
    """Give the least and the largest of a column's numbers, NaN if there is one; of none, 0 and 0.

    >>> extremes(np.array([3, 1, 2]))
    (1.0, 3.0)
    """
    if not column.size:
        return 0.0, 0.0
    spans = in_parallel(
        lambda first, last: (column[first:last].min(), column[first:last].max()),
        cut(column.size, column.size),
    )
    # NumPy's own functions keep a NaN wherever it stands.
    return float(np.min([low for low, _ in spans])), float(np.max([high for _, high in spans]))


CACHE_LINE = 64
LONGEST_PREFETCH = 18 * CACHE_LINE


def _prefetch(_typing: Any, array: Any, _position: Any) -> Any:  # noqa: ANN401
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:  # noqa: ANN401
        data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
        pointer, number = ir.IntType(8).as_pointer(), ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [pointer, number, number, number])
        ask = builder.module.declare_intrinsic("llvm.prefetch", [pointer], kind)
        place = builder.bitcast(builder.gep(data, [arguments[1]]), pointer)
        to_write, keep, as_data = number(1), number(3), number(1)
        size = getattr(signature.args[0].dtype, "size", 1)
        for offset in range(0, min(size, LONGEST_PREFETCH), CACHE_LINE):
            line = builder.gep(place, [number(offset)])
            builder.call(ask, [line, to_write, keep, as_data])
        return context.get_dummy_value()

    return numba.types.void(array, numba.types.int64), generate


#: How many rows ahead a loop asks for what it will need: about the time memory takes to answer.
AHEAD = 64
#: In a kernel: ask the memory for an element of a flat array that will be written to soon; of a
#: long row, for its beginning.
prefetch = cast("Callable[[NDArray[Any], int], None]", intrinsic(_prefetch))

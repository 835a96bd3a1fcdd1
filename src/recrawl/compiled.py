"""How kernels are compiled, and how large work is shared among the processor's cores.

Kernels are plain loops over arrays, compiled by numba to machine code that is kept on disk, so that
only the first run on a machine pays for it. Each works on a range of pages and lets go of Python's
lock; pages do not depend on one another, so the result is the same on any number of cores.
"""

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar, cast

import numba
import numpy as np
from llvmlite import ir
from numba.extending import intrinsic

F = TypeVar("F", bound=Callable[..., Any])

#: Below this many rows a second core costs more than it brings.
ROWS_WORTH_A_CORE = 200_000


def compiled(function: F) -> F:
    """Compile a kernel; division by zero gives infinity or NaN, as in NumPy."""
    return cast("F", numba.njit(cache=True, nogil=True, error_model="numpy")(function))


def inlined(function: F) -> F:
    """Compile a formula into every kernel that calls it, so that the loop around it can use SIMD."""
    return cast("F", numba.njit(cache=True, inline="always", error_model="numpy")(function))


def cores() -> int:
    """How many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def share(work: Callable[[int, int], object], weights: np.ndarray[Any, np.dtype[np.int64]]) -> None:
    """Call ``work(first, last)`` on ranges of items that cover all of them, on every core.

    ``weights`` are running totals: item i has ``weights[i + 1] - weights[i]`` rows.
    """
    items = weights.size - 1
    rows = int(weights[-1] - weights[0])
    parts = min(cores(), rows // ROWS_WORTH_A_CORE)
    if parts < 2:  # noqa: PLR2004
        work(0, items)
        return
    targets = weights[0] + np.arange(1, parts) * (rows // parts)
    cuts = [0, *np.searchsorted(weights, targets).tolist(), items]
    with ThreadPoolExecutor(parts) as pool:
        for done in [pool.submit(work, *span) for span in zip(cuts, cuts[1:], strict=False)]:
            done.result()


@intrinsic  # type: ignore[untyped-decorator]
def float_bits(_typing: Any, _number: Any) -> Any:  # noqa: ANN401
    """Give the 64 bits of a float as an integer."""

    def generate(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:  # noqa: ANN401
        return builder.bitcast(arguments[0], ir.IntType(64))

    return numba.types.int64(numba.types.float64), generate


@intrinsic  # type: ignore[untyped-decorator]
def bits_float(_typing: Any, _bits: Any) -> Any:  # noqa: ANN401
    """Give the float that an integer's 64 bits spell."""

    def generate(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:  # noqa: ANN401
        return builder.bitcast(arguments[0], ir.DoubleType())

    return numba.types.float64(numba.types.int64), generate

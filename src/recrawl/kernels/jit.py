"""Compile kernels, and split large jobs among the processor's cores.

Kernels are plain loops over arrays, compiled by numba to machine code. That is done when the
package is built (`tools/build_kernels.py`), so that users need neither numba nor a compiler. A
kernel whose sources have changed since, or that is not part of this package, is compiled when it is
first called, and cached on disk: for that, numba has to be installed.

Each kernel works on a range of pages and releases the GIL; pages are independent, so the result is
the same on any number of cores.
"""

import functools
import itertools
import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Annotated, Any, NamedTuple, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from recrawl.errors import RecrawlError
from recrawl.kernels import built

F = TypeVar("F", bound=Callable[..., Any])
R = TypeVar("R")
T = TypeVar("T", bound=np.generic)
Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
Floats2D = Annotated[Floats, 2]

#: A multiplication may be fused with the addition after it, which is faster and rounds only once.
#: All other float operations are strict.
FUSED = {"contract"}
#: Sums may also be taken in any order.
ANY_ORDER = {"contract", "reassoc"}
#: Without the wrappers for calls from Python and C.
NO_WRAPPERS = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}
#: The same, and without counting references to arrays.
BARE = {**NO_WRAPPERS, "_nrt": False}
#: The prefix of this package's modules; kernels of other packages are never built.
PACKAGE = "recrawl."
#: With fewer rows, another core costs more than it saves.
MIN_ROWS_PER_CORE = 200_000


class Source(NamedTuple):
    """What a kernel, or a part of one, is compiled from.

    Attributes:
        function: The function, or the generator of an instruction.
        flags: numba's options; None for an instruction.
        kernel: Whether Python calls it.
    """

    function: Callable[..., Any]
    flags: dict[str, Any] | None
    kernel: bool = False


#: Everything that may be part of a kernel, by the object that refers to it in the code.
SOURCES: dict[Callable[..., Any], Source] = {}


def compiled(function: F) -> F:
    """Compile a kernel; division by zero yields infinity or NaN, as in NumPy.

    The annotations say what types it is compiled for: `int`, `float`, `bool`, arrays, and tuples of
    them. An array has one dimension; one with more is annotated with their number, as `Floats2D`
    is, and one of records with its dtype. A tuple of variable length is annotated with its maximum.
    """
    return _kernel(function, FUSED)


def compiled_sum(function: F) -> F:
    """Compile a kernel whose sums may be taken in any order, so that they use SIMD.

    The order depends on the machine, but not on the run. A formula that depends on how it rounds
    must be a kernel of its own: inlined, it would be reordered too.
    """
    return _kernel(function, ANY_ORDER)


def inlined(function: F) -> F:
    """Compile a formula into each kernel that calls it, so that loops around it can use SIMD."""
    return _part(function, inline="always")


def step(function: F) -> F:
    """Compile a function that is called by kernels only; from Python it is plain Python."""
    return _part(function, nogil=True, **NO_WRAPPERS)


def small_step(function: F) -> F:
    """Compile a step into each kernel that calls it, so that passing it arrays costs nothing.

    Unlike `inlined`, which copies the source, this leaves inlining to LLVM, and so suits steps with
    branches and loops.
    """
    return _part(function, nogil=True, forceinline=True, **NO_WRAPPERS)


def bare_step(function: F) -> F:
    """Compile a step that neither makes nor returns arrays, so that no references are counted.

    Between steps that pass on many arrays, counting takes longer than the work itself.
    """
    return _part(function, nogil=True, **BARE)


def small_bare_step(function: F) -> F:
    """Compile a bare step into each kernel that calls it."""
    return _part(function, nogil=True, forceinline=True, **BARE)


def summing_step(function: F) -> F:
    """Compile a small bare step whose sums may be taken in any order, so that they use SIMD."""
    return _part(function, nogil=True, forceinline=True, fastmath=ANY_ORDER, **BARE)


def instruction(generator: Callable[..., Any]) -> Callable[[F], F]:
    """Replace a function inside kernels by an instruction that numba's ``intrinsic`` generates."""

    def replaced(function: F) -> F:
        SOURCES[function] = Source(generator, None)
        return function

    return replaced


def _part(function: F, **flags: Any) -> F:  # noqa: ANN401
    SOURCES[function] = Source(function, {"fastmath": FUSED, **flags})
    return function


def _kernel(function: F, fastmath: set[str]) -> F:
    call = built.find(function) or _compiled_when_called(function)

    @functools.wraps(function)
    def kernel(*arguments: Any) -> Any:  # noqa: ANN401
        return call(*arguments)

    SOURCES[kernel] = Source(function, {"nogil": True, "fastmath": fastmath}, kernel=True)
    SOURCES[function] = SOURCES[kernel]
    return cast("F", kernel)


def _compiled_when_called(function: F) -> Callable[..., Any]:
    def call(*arguments: Any) -> Any:  # noqa: ANN401
        try:
            from recrawl.kernels import compiling
        except ModuleNotFoundError:
            raise RecrawlError(
                f"the kernel {function.__name__} is not compiled for this machine, and numba, "
                f"which would do it now, is not installed; install recrawl from a wheel, or numba"
            ) from None
        if function.__module__.startswith(PACKAGE):
            compiling.remark_on_compiling()
        return compiling.dispatcher(SOURCES[function])(*arguments)

    return call


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
    """Call ``work(first, last)`` for every span, each in its own thread."""
    if len(spans) == 1:
        return [work(*spans[0])]
    with ThreadPoolExecutor(len(spans)) as pool:
        return [done.result() for done in [pool.submit(work, *span) for span in spans]]


def read_only(column: NDArray[T]) -> NDArray[T]:
    """Return a read-only view.

    Kernels are compiled once per type of argument, and to numba, read-only arrays, which other
    libraries often return, are a separate type. If all inputs are read-only, there is one type.
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
    return _prefetch_lines(array, MAX_PREFETCH)


def _prefetch_start(_typing: Any, array: Any, _position: Any) -> Any:  # noqa: ANN401
    return _prefetch_lines(array, 2 * CACHE_LINE)


def _prefetch_lines(array: Any, most: int) -> Any:  # noqa: ANN401
    from llvmlite import ir
    from numba import types

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:  # noqa: ANN401
        data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
        pointer, number = ir.IntType(8).as_pointer(), ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [pointer, number, number, number])
        request = builder.module.declare_intrinsic("llvm.prefetch", [pointer], kind)
        element = builder.bitcast(builder.gep(data, [arguments[1]]), pointer)
        to_write, keep, as_data = number(1), number(3), number(1)
        size = getattr(signature.args[0].dtype, "size", 1)
        # A record may start anywhere in a line, so that it ends in one more.
        for offset in (*range(0, min(size, most), CACHE_LINE), min(size, most) - 1):
            line = builder.gep(element, [number(offset)])
            builder.call(request, [line, to_write, keep, as_data])
        return context.get_dummy_value()

    return types.void(array, types.int64), generate


#: How many rows ahead loops prefetch: about as many as they process while memory responds.
AHEAD = 64


@instruction(_prefetch)
def prefetch(_array: NDArray[Any], _position: int) -> None:
    """Load an element of a flat array that will soon be written; of a long record, its start."""


@instruction(_prefetch_start)
def prefetch_start(_array: NDArray[Any], _position: int) -> None:
    """Load two cache lines of a record: memory delivers only so many at a time."""

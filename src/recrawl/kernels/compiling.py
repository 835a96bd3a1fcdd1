"""Compile kernels with numba, and keep their machine code on disk."""

import functools
import logging
import types
from collections.abc import Callable, Iterator
from typing import Any, cast

import numba
from numba.core.caching import IndexDataCacheFile
from numba.extending import intrinsic

from recrawl.kernels.built import source_hash
from recrawl.kernels.jit import SOURCES, Source

_log = logging.getLogger(__package__)
_made: dict[Callable[..., Any], Any] = {}


@functools.cache
def remark_on_compiling() -> None:
    """Log once that kernels of this package are being compiled, which takes a while."""
    _log.warning(
        "the compiled kernels are out of date: each is compiled when it is first used, "
        "which can take minutes in total; `make kernels` rebuilds them"
    )


def dispatcher(source: Source, **options: Any) -> Any:  # noqa: ANN401
    """Return what numba calls a dispatcher: it compiles a function for each type of arguments.

    In the function, references to other compiled functions are replaced by their dispatchers.
    ``options`` are numba's, such as ``cache``.
    """
    if source.function not in _made:
        _made[source.function] = (
            intrinsic(source.function)
            if source.flags is None
            else _jit(_with_dispatchers(source.function, options), source.flags | options)
        )
    return _made[source.function]


def _with_dispatchers(function: Callable[..., Any], options: dict[str, Any]) -> Any:  # noqa: ANN401
    replace = functools.partial(_replaced, options)
    code = cast("types.FunctionType", function).__code__
    names = set(_names(code))
    around = {
        name: replace(value) if name in names else value
        for name, value in function.__globals__.items()
    }
    cells = cast("types.FunctionType", function).__closure__
    closure = cells and tuple(types.CellType(replace(cell.cell_contents)) for cell in cells)
    copy = types.FunctionType(code, around, function.__name__, function.__defaults__, closure)
    copy.__module__, copy.__qualname__ = function.__module__, function.__qualname__
    return copy


def _replaced(options: dict[str, Any], value: Any) -> Any:  # noqa: ANN401
    found = SOURCES.get(value) if isinstance(value, types.FunctionType) else None
    return dispatcher(found, **options) if found else value


def _names(code: types.CodeType) -> Iterator[str]:
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _names(constant)


def _jit(function: Callable[..., Any], flags: dict[str, Any]) -> Any:  # noqa: ANN401
    try:
        kernel = numba.njit(error_model="numpy", **{"cache": True, **flags})(function)
        cache, sources = kernel._cache, source_hash(function.__code__.co_filename)  # noqa: SLF001
        name = cache._impl.filename_base  # noqa: SLF001
        cache._cache_file = CacheFile(cache.cache_path, name, sources)  # type: ignore[no-untyped-call]  # noqa: SLF001
    except (AttributeError, OSError, RuntimeError):
        # There is no source, or no writable directory, neither next to the package nor in the
        # user's home, or numba caches differently. Every run compiles.
        kernel = numba.njit(error_model="numpy", **{**flags, "cache": False})(function)
    return kernel


class CacheFile(IndexDataCacheFile):
    """A kernel's machine code on disk, valid for one hash of its sources.

    By default, numba compares the time and size of the kernel's own file, and so misses changes of
    the functions and constants that it imports.
    """

    def _load_index(self) -> dict[Any, str]:
        try:
            return cast("dict[Any, str]", super()._load_index())  # type: ignore[no-untyped-call]
        except (AttributeError, ImportError):
            # Compiled for a type that has since been moved or renamed.
            return {}

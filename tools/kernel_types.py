"""The types that a kernel is compiled for, from its annotations."""

import typing
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any

import numba
import numpy as np

SCALARS = {
    int: ("i", numba.types.int64),
    float: ("d", numba.types.float64),
    bool: ("b", numba.types.boolean),
    type(None): ("-", numba.types.none),
}


@dataclass(frozen=True)
class Signature:
    """One version of a kernel: its types for numba, and as written for `native.c`."""

    types: tuple[Any, ...]
    arguments: str
    result: str


def signatures(function: Callable[..., Any]) -> list[Signature]:
    """Return a kernel's versions: several if it takes tuples of several lengths, shortest first.

    >>> def kernel(numbers: np.typing.NDArray[np.float64], pair: tuple[int, bool]) -> float: ...
    >>> [(version.arguments, version.result) for version in signatures(kernel)]
    [('[1f8](ib)', 'd')]
    """
    hints = typing.get_type_hints(function, include_extras=True)
    result = hints.pop("return")
    found = []
    for length in range(1, max(map(_longest, hints.values()), default=1) + 1):
        read = [_read(hint, length) for hint in hints.values()]
        types, texts = tuple(kind for kind, _ in read), "".join(text for _, text in read)
        found.append(Signature(types, texts, _read(result, length)[1]))
    return found


def _longest(hint: Any) -> int:  # noqa: ANN401
    """Return the largest length of a tuple that may have several; 1 for other annotations."""
    sizes = [size for size in getattr(hint, "__metadata__", ()) if isinstance(size, int)]
    return max(sizes) if sizes and _is_tuple(typing.get_args(hint)[0]) else 1


def _is_tuple(hint: Any) -> bool:  # noqa: ANN401
    return typing.get_origin(hint) is tuple


def _read(hint: Any, length: int) -> tuple[Any, str]:  # noqa: ANN401
    """Return numba's type and the written type of an annotation."""
    if hint in SCALARS:
        text, kind = SCALARS[hint]
        return kind, text
    if hasattr(hint, "_fields"):
        items = typing.get_type_hints(hint, include_extras=True).values()
        return _tuple(hint, [_read(item, length) for item in items])
    if _is_tuple(hint):
        return _tuple(None, [_read(item, length) for item in typing.get_args(hint)])
    about: Any = None
    if typing.get_origin(hint) is Annotated:
        hint, about = typing.get_args(hint)
    if _is_tuple(hint):
        return _tuple(None, [_read(typing.get_args(hint)[0], length)] * length)
    if typing.get_origin(hint) is not np.ndarray:
        raise TypeError(f"kernels cannot take or return {hint}")
    (item,) = typing.get_args(typing.get_args(hint)[1])
    dtype = about if isinstance(about, np.dtype) else np.dtype(item)
    dimensions = about if isinstance(about, int) else 1
    if not dtype.itemsize:
        raise TypeError("an array of records is annotated with its dtype: Annotated[Rows, PAGE]")
    kind = numba.types.Array(numba.from_dtype(dtype), dimensions, "C")
    return kind, f"[{dimensions}{dtype.kind}{dtype.itemsize}]"


def _tuple(named: type | None, items: list[tuple[Any, str]]) -> tuple[Any, str]:
    types: Any = numba.types  # numba has no annotations
    kinds = tuple(kind for kind, _ in items)
    if named is None:
        kind = types.Tuple(kinds)
    elif len(set(kinds)) == 1:
        kind = types.NamedUniTuple(kinds[0], len(kinds), named)
    else:
        kind = types.NamedTuple(kinds, named)
    return kind, "(" + "".join(text for _, text in items) + ")"

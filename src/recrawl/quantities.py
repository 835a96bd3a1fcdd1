"""Numbers that callers give: what has a unit is converted or refused, and never read as if plain.

NumPy turns a duration, a date or a quantity of another library into a float without a word, in
whatever unit it happens to be stored. Whoever takes numbers from outside reads them here.

Data frames are understood by the interfaces that arrays and Arrow define; none is imported.
"""

import math
from collections.abc import Callable
from datetime import date, datetime, timedelta
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from recrawl.errors import ArgumentError
from recrawl.units import SECONDS_A_DAY, parse_duration, parse_rate, quoted

Floats = NDArray[np.float64]


#: Rates per day and days that an estimate can be made from. Nothing real is beyond them, and the
#: formulas, which multiply up to four such numbers, neither overflow nor underflow within them.
SMALLEST, LARGEST = 1e-60, 1e60


class _Kind(NamedTuple):
    """What an argument means.

    Attributes:
        expected: What messages ask for.
        durations: Whether durations are understood, as days.
        parse: What reads a text, if texts are understood.
    """

    expected: str
    durations: bool = False
    parse: Callable[[str], float] | None = None


_NUMBER = _Kind("a number without a unit")
_RATE = _Kind("a number per day, or a text such as '4/day'", parse=parse_rate)
_DURATION = _Kind(
    "a number of days, a duration, or a text such as '6h'", durations=True, parse=parse_duration
)
_TIME = _Kind("a number of days since an origin of your choice, or a duration", durations=True)

#: How many of NumPy's units make a day. Months and years are missing: they have no length.
_UNITS_A_DAY = {
    "W": 1 / 7,
    "D": 1.0,
    "h": 24.0,
    "m": 1440.0,
    **{
        prefix + "s": SECONDS_A_DAY * 10.0 ** (3 * power)
        for power, prefix in enumerate(["", "m", "u", "n", "p", "f", "a"])
    },
}
#: NumPy's kinds of numbers: booleans, whole numbers and floats.
_PLAIN = "biuf"
#: Whole numbers up to here are floats as they are.
_EXACT = 2**53


def numbers(name: str, values: ArrayLike) -> Floats:
    """Return plain numbers, such as importances, as an array of the same shape.

    Raises:
        ArgumentError: They are not numbers, or have a unit; the message names the argument.
    """
    return _floats(name, values, _NUMBER)


def rates(name: str, values: ArrayLike) -> Floats:
    """Return rates per day; texts such as ``4/h`` are understood.

    >>> rates("budget", "4/h")
    array(96.)
    """
    return _floats(name, values, _RATE)


def durations(name: str, values: ArrayLike) -> Floats:
    """Return durations in days; NaN where one is missing.

    >>> durations("elapsed", np.array([36, 12], "timedelta64[h]"))
    array([1.5, 0.5])
    >>> durations("elapsed", [timedelta(days=2), "6h", 1])
    array([2.  , 0.25, 1.  ])
    """
    return _floats(name, values, _DURATION)


def times(name: str, values: ArrayLike) -> Floats:
    """Return times in days since a moment that only the caller knows; dates are refused."""
    return _floats(name, values, _TIME)


def number(name: str, value: Any) -> float:  # noqa: ANN401 - whatever a caller gives
    """Return a single plain number."""
    return _one(name, value, _NUMBER)


def rate(name: str, value: Any) -> float:  # noqa: ANN401
    """Return a single rate per day."""
    return _one(name, value, _RATE)


def duration(name: str, value: Any) -> float:  # noqa: ANN401
    """Return a single duration in days.

    >>> duration("half_life", timedelta(hours=12))
    0.5
    """
    return _one(name, value, _DURATION)


def time(name: str, value: Any) -> float:  # noqa: ANN401
    """Return a single time in days."""
    return _one(name, value, _TIME)


def as_array(name: str, values: ArrayLike) -> NDArray[Any]:
    """Return what was given as an array of any type.

    Raises:
        ArgumentError: It cannot be one, such as a list of lists of several lengths.
    """
    try:
        if hasattr(values, "__arrow_c_stream__") and not hasattr(values, "__array__"):
            return np.asarray(_arrow_column(values))
        array = np.asarray(values)
    except Exception as error:  # whatever the object's own conversion raises
        raise ArgumentError(f"{name}: {type(values).__name__} is not a column of values") from error
    return array


def _arrow_column(values: Any) -> Any:  # noqa: ANN401 - pyarrow has no types
    """Return a column of Arrow; a table of one column, such as DuckDB's, is that column."""
    import pyarrow as pa

    column = pa.chunked_array(values)
    if pa.types.is_struct(column.type) and column.type.num_fields == 1:
        return pa.chunked_array([chunk.field(0) for chunk in column.chunks], column.type[0].type)
    return column


def is_missing(value: object) -> bool:
    """Return whether an element stands for no value: None, NaN, or another library's mark."""
    if value is None:
        return True
    try:
        return bool(value != value)  # noqa: PLR0124 - only what is missing differs from itself
    except (TypeError, ValueError):
        # The mark of pandas is neither equal to itself nor not; an array has many elements.
        return np.ndim(value) == 0  # type: ignore[arg-type]


def _one(name: str, value: Any, kind: _Kind) -> float:  # noqa: ANN401
    # Most arguments are plain; what a request costs should not go into looking at them.
    if type(value) is float:
        return value
    if type(value) is int and -_EXACT <= value <= _EXACT:
        return float(value)
    array = _floats(name, value, kind)
    if array.ndim:
        raise ArgumentError(f"{name}: has shape {array.shape}; expected {kind.expected}")
    return float(array)


def _floats(name: str, values: Any, kind: _Kind) -> Floats:  # noqa: ANN401
    if type(values) is np.ndarray and values.dtype == np.float64 and values.flags.c_contiguous:
        return values
    if isinstance(values, np.ma.MaskedArray):
        values = (
            values.filled(np.timedelta64("NaT")) if values.dtype.kind == "m" else _unmasked(values)
        )
    array = as_array(name, values)
    if array.dtype.kind in _PLAIN and not _has_unit(values):
        with np.errstate(over="ignore"):
            return array.astype(np.float64, order="C", copy=False)
    if array.dtype.kind == "m" and kind.durations:
        return _days(name, array)
    if array.dtype.kind in "UO":
        floats = [_element(name, value, kind) for value in array.ravel()]
        return np.array(floats, np.float64).reshape(array.shape)
    raise ArgumentError(f"{name}: {_described(values, array)}; expected {kind.expected}")


def _unmasked(values: Any) -> Any:  # noqa: ANN401
    """Return a masked array with NaN where it is masked; what cannot be NaN is left alone."""
    return values.astype(np.float64).filled(np.nan) if values.dtype.kind in _PLAIN else values


def _has_unit(values: object) -> bool:
    """Return whether a value, or the first of a list, is a quantity of a library of units."""
    if isinstance(values, list | tuple) and values:
        values = values[0]
    return hasattr(type(values), "units") or hasattr(type(values), "unit")


def _days(name: str, array: NDArray[Any]) -> Floats:
    unit, count = np.datetime_data(array.dtype)
    if unit not in _UNITS_A_DAY:
        length = "have no unit" if unit == "generic" else f"are in the unit '{unit}'"
        raise ArgumentError(f"{name}: these durations {length}; convert them to days")
    days = array.astype(np.int64).astype(np.float64) / (_UNITS_A_DAY[unit] / count)
    return np.where(np.isnat(array), np.nan, days)


def _element(name: str, value: Any, kind: _Kind) -> float:  # noqa: ANN401
    """Return one element of a list, which may have elements of several types."""
    if hasattr(value, "as_py"):
        value = value.as_py()
    if isinstance(value, np.datetime64 | np.timedelta64) and not np.isnat(value):
        return float(_floats(name, np.asarray(value), kind))
    if is_missing(value):
        return math.nan
    if isinstance(value, timedelta) and kind.durations:
        return value / timedelta(days=1)
    if isinstance(value, str) and kind.parse is not None:
        return _parsed(name, str(value), kind.parse)
    is_other = isinstance(value, str | bytes | bytearray | timedelta | date | datetime)
    if not is_other and not _has_unit(value):
        try:
            return float(value)
        except (TypeError, ValueError, OverflowError):
            pass
    raise ArgumentError(f"{name}: {quoted(str(value))} cannot be used; expected {kind.expected}")


def _parsed(name: str, text: str, parse: Callable[[str], float]) -> float:
    try:
        return parse(text)
    except ArgumentError as error:
        raise ArgumentError(f"{name}: {error}") from None


def _described(values: object, array: NDArray[Any]) -> str:
    if array.dtype.kind == "m":
        return "these are durations"
    if array.dtype.kind == "M":
        return "these are points in time"
    if _has_unit(values):
        return f"{type(values).__name__} has a unit of its own"
    return f"{array.dtype} is not a type of numbers"

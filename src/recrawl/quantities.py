"""Read numbers that callers pass: values with a unit are converted or rejected.

NumPy silently turns a duration, a date or a quantity of another library into a float, in whatever
unit it happens to be stored. Functions that take numbers from callers read them here.

Data frames are supported through the interfaces of NumPy and Arrow; no such library is imported.
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


#: The range of rates per day, and of days, that estimates can be made from. Nothing real is outside
#: it, and the formulas, which multiply up to four such numbers, neither overflow nor underflow.
SMALLEST, LARGEST = 1e-60, 1e60


class _Kind(NamedTuple):
    """What an argument means.

    Attributes:
        expected: What messages ask for.
        durations: Whether durations are accepted, as days.
        parse: Parses texts, if they are accepted.
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

#: How many of NumPy's units make a day. Months and years are missing, as their length varies.
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
#: NumPy's kinds of numbers: booleans, integers and floats.
_PLAIN = "biuf"
#: Integers up to here are exact as floats.
_EXACT = 2**53


def numbers(name: str, values: ArrayLike) -> Floats:
    """Return plain numbers, such as importances, as an array of the same shape.

    Raises:
        ArgumentError: They are not numbers, or have a unit; the message names the argument.
    """
    return _floats(name, values, _NUMBER)


def rates(name: str, values: ArrayLike) -> Floats:
    """Return rates per day; texts such as ``4/h`` are accepted.

    >>> rates("budget", "4/h")
    array(96.)
    """
    return _floats(name, values, _RATE)


def durations(name: str, values: ArrayLike) -> Floats:
    """Return durations in days; NaN for missing ones.

    >>> durations("elapsed", np.array([36, 12], "timedelta64[h]"))
    array([1.5, 0.5])
    >>> durations("elapsed", [timedelta(days=2), "6h", 1])
    array([2.  , 0.25, 1.  ])
    """
    return _floats(name, values, _DURATION)


def times(name: str, values: ArrayLike) -> Floats:
    """Return times in days since an origin of the caller's choice; dates are rejected."""
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
    """Return a caller's values as an array of any type.

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
    """Return an Arrow column; a table with a single column, such as DuckDB's, counts as one."""
    import pyarrow as pa

    column = pa.chunked_array(values)
    if pa.types.is_struct(column.type) and column.type.num_fields == 1:
        return pa.chunked_array([chunk.field(0) for chunk in column.chunks], column.type[0].type)
    return column


def is_missing(value: object) -> bool:
    """Return whether an element is a missing value: None, NaN, or another library's marker."""
    if value is None:
        return True
    try:
        return bool(value != value)  # noqa: PLR0124 - only what is missing differs from itself
    except (TypeError, ValueError):
        # pandas' marker is neither equal to itself nor unequal; an array has many elements.
        return np.ndim(value) == 0  # type: ignore[arg-type]


def _one(name: str, value: Any, kind: _Kind) -> float:  # noqa: ANN401
    # A shortcut for most arguments, as requests should not spend their time here.
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
    """Fill a masked array with NaN; a type that has no NaN is left alone."""
    return values.astype(np.float64).filled(np.nan) if values.dtype.kind in _PLAIN else values


def _has_unit(values: object) -> bool:
    """Return whether a value, or the first of a list, is a quantity of a units library."""
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

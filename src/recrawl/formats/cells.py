"""Columns of a crawl log, as text or as typed values, turned into numbers a column at a time.

Every function takes an Arrow array and gives a NumPy array; a cell that cannot be understood
raises `BadCell` with its place in the array. Where a cast refuses a column, the first cell it
refuses is found by casting ever shorter stretches of it.
"""

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from recrawl.kernels.jit import Bools, Floats, Ints
from recrawl.records import NO_TIME, Outcome
from recrawl.units import TIME_EXAMPLES, quoted

Outcomes = NDArray[np.int8]

#: Stands for an empty cell among outcomes.
EMPTY = np.int8(-1)

#: What the column ``changed`` may say, and what that is as an outcome.
CHANGED = {
    **dict.fromkeys(["1", "true", "1.0"], int(Outcome.CHANGED)),
    **dict.fromkeys(["0", "false", "0.0"], int(Outcome.UNCHANGED)),
}
OUTCOMES = {outcome.name.lower(): int(outcome) for outcome in Outcome}

#: Seconds since 1970 at which the years a calendar holds begin and end.
YEAR_1 = int(datetime(1, 1, 1, tzinfo=UTC).timestamp())
YEAR_10000 = int(datetime(9999, 12, 31, tzinfo=UTC).timestamp()) + 86_400

_A_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
_NUMBER = r"^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$"
_NO_TIME = f"is not a time; write {TIME_EXAMPLES}"

#: Unix seconds, times with a zone, times without one.
_KINDS_OF_TIME = (pa.float64(), pa.timestamp("us", "UTC"), pa.timestamp("us"))
_NUMERIC = (pa.types.is_integer, pa.types.is_floating, pa.types.is_decimal)
_ZONED = r"[T ].*(Z|[+-]\d\d(:?\d\d)?)$"


class BadCell(Exception):  # noqa: N818 - says which cell is bad; the reader makes an error of it
    """A cell cannot be understood.

    Attributes:
        problem: The sentence, without its place.
        index: The cell's place in its array; None when the whole column is meant.
    """

    def __init__(self, problem: str, index: int | None = None) -> None:
        super().__init__(problem)
        self.problem = problem
        self.index = index


def is_text(kind: pa.DataType) -> bool:
    """Whether an array of this type holds text, or bytes that may be text."""
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    return any(
        is_kind(kind)
        for is_kind in (
            pa.types.is_string,
            pa.types.is_large_string,
            pa.types.is_string_view,
            pa.types.is_binary,
            pa.types.is_large_binary,
            pa.types.is_binary_view,
        )
    )


def read_text(column: pa.Array) -> pa.Array:
    """Give a column of text as strings that are known to be UTF-8."""
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    return _cast(column.cast(pa.large_binary()), pa.large_string(), lambda _: "this is not UTF-8")


def read_times(column: pa.Array) -> Ints:
    """Give microseconds since 1970; empty cells become ``NO_TIME``."""
    if pa.types.is_null(column.type):
        return np.full(len(column), NO_TIME)
    if is_text(column.type):
        return _times_of_text(read_text(column))
    if pa.types.is_date(column.type):
        column = column.cast(pa.timestamp("ms"))
    elif pa.types.is_floating(column.type) or pa.types.is_decimal(column.type):
        column = column.cast(pa.float64())
    if any(is_kind(column.type) for is_kind in (pa.types.is_timestamp, *_NUMERIC)):
        return _times_of_numbers(column, column)
    raise BadCell(f"the column holds {column.type}, not times")


def read_changed(column: pa.Array) -> Outcomes:
    """Give CHANGED, UNCHANGED or EMPTY for cells that say 1, 0 or nothing."""
    kind = column.type
    if pa.types.is_null(kind):
        return np.full(len(column), EMPTY, np.int8)
    if is_text(kind):
        return _looked_up(read_text(column), CHANGED, "is neither 0 nor 1")
    if pa.types.is_boolean(kind):
        column = column.cast(pa.int8())
    elif not (pa.types.is_integer(kind) or pa.types.is_floating(kind)):
        raise BadCell(f"the column holds {kind}, not 0 and 1")
    filled = _filled(column)
    wrong = (filled != 0) & (filled != 1)
    if pa.types.is_floating(kind):
        wrong &= ~np.isnan(filled)
    _refuse(column, wrong, "is neither 0 nor 1")
    said = np.where(filled == 1, Outcome.CHANGED, Outcome.UNCHANGED).astype(np.int8)
    empty = column.is_null(nan_is_null=True).to_numpy(zero_copy_only=False)
    said[empty] = EMPTY
    return said


def read_outcomes(column: pa.Array) -> Outcomes:
    """Give an `Outcome` for each cell, EMPTY where it says nothing."""
    if pa.types.is_null(column.type):
        return np.full(len(column), EMPTY, np.int8)
    if not is_text(column.type):
        raise BadCell(f"the column holds {column.type}, not words")
    return _looked_up(read_text(column), OUTCOMES, f"is none of {', '.join(OUTCOMES)}")


def read_rates(column: pa.Array) -> Floats:
    """Give numbers above 0, NaN where a cell is empty."""
    return _numbers(column, lambda number: number > 0, "is not a number above 0")


def read_importances(column: pa.Array) -> Floats:
    """Give numbers that are not negative, NaN where a cell is empty."""
    return _numbers(column, lambda number: number >= 0, "is not a number, 0 or above")


def _numbers(column: pa.Array, is_good: Callable[[Floats], Bools], problem: str) -> Floats:
    if pa.types.is_null(column.type):
        return np.full(len(column), np.nan)
    if is_text(column.type):
        column = _tidied(read_text(column))
        numbers = _cast(column, pa.float64(), lambda cell: f"{quoted(cell)} {problem}")
    elif any(is_kind(column.type) for is_kind in _NUMERIC):
        numbers = column.cast(pa.float64())
    else:
        raise BadCell(f"the column holds {column.type}, not numbers")
    found = _filled(numbers)
    wrong = ~(is_good(found) & np.isfinite(found))
    empty = numbers.is_null().to_numpy(zero_copy_only=False)
    _refuse(column, wrong & ~empty, problem)
    return np.where(empty, np.nan, found)


def _times_of_text(column: pa.Array) -> Ints:
    """Read a column as its first cell is written; it is mixed if that does not fit all of it."""
    first = column.slice(max(pc.index(column.is_valid(), value=True).as_py(), 0), 1)
    for kind in _KINDS_OF_TIME:
        try:
            first.cast(kind)
            return _times_of_numbers(column.cast(kind), column)
        except pa.ArrowInvalid:
            continue
    return _mixed_times(column)


def _mixed_times(column: pa.Array) -> Ints:
    """Read times of which some are Unix seconds, some have a zone, some have spaces around them."""
    tidy = pc.replace_substring_regex(_tidied(column), r"(:\d\d\.\d{6})\d+", r"\1")
    is_number = pc.match_substring_regex(tidy, _NUMBER)
    is_zoned = pc.and_not(pc.match_substring_regex(tidy, _ZONED), is_number)
    is_plain = pc.invert(pc.or_(is_number, is_zoned))
    times = np.full(len(column), NO_TIME)
    for is_such, kind in zip((is_number, is_zoned, is_plain), _KINDS_OF_TIME, strict=True):
        such = pc.if_else(is_such, tidy, pa.scalar(None, tidy.type))
        read = _cast(such, kind, lambda cell: f"{quoted(cell)} {_NO_TIME}")
        such_times = _times_of_numbers(read, tidy)
        np.copyto(times, such_times, where=such_times != NO_TIME)
    return times


def _times_of_numbers(column: pa.Array, shown: pa.Array) -> Ints:
    """Turn timestamps and Unix seconds into microseconds; messages quote cells of ``shown``."""
    a_second = 1
    if pa.types.is_timestamp(column.type):
        a_second = _A_SECOND[column.type.unit]
        column = column.cast(pa.int64())
        shown = shown if is_text(shown.type) else column
    numbers = _filled(column)
    floating = pa.types.is_floating(column.type)
    if floating:
        _refuse(shown, np.isnan(numbers), _NO_TIME)
    outside = ~((numbers >= YEAR_1 * a_second) & (numbers < YEAR_10000 * a_second))
    unit = " (Unix times are in seconds)" if a_second == 1 else ""
    _refuse(shown, outside, f"is outside the years 1 to 9999{unit}")
    times: Ints
    if floating:
        times = np.rint(numbers * _A_SECOND["us"]).astype(np.int64)
    elif a_second > _A_SECOND["us"]:
        times = numbers // (a_second // _A_SECOND["us"])
    else:
        times = numbers.astype(np.int64) * (_A_SECOND["us"] // a_second)
    if column.null_count:
        times[column.is_null().to_numpy(zero_copy_only=False)] = NO_TIME
    return times


def _looked_up(column: pa.Array, meanings: Mapping[str, int], problem: str) -> Outcomes:
    """Give the meaning of each cell, asking once for each distinct text."""
    encoded = column.dictionary_encode(null_encoding="encode")
    meaning = np.full(len(encoded.dictionary), EMPTY)
    for number, word in enumerate(encoded.dictionary.to_pylist()):
        tidy = (word or "").strip().lower()
        if tidy and tidy not in meanings:
            index = pc.index(encoded.indices, number).as_py()
            raise BadCell(f"{quoted(word)} {problem}", index)
        meaning[number] = meanings.get(tidy, EMPTY)
    return cast("Outcomes", meaning[encoded.indices.to_numpy()])


def _tidied(column: pa.Array) -> pa.Array:
    """Take away spaces around cells; a cell with nothing else is null."""
    trimmed = pc.utf8_trim_whitespace(column)
    return pc.if_else(pc.equal(trimmed, ""), pa.scalar(None, trimmed.type), trimmed)


def _cast(column: pa.Array, kind: pa.DataType, problem: Callable[[str], str]) -> pa.Array:
    """Cast a column of text, or say which cell is the first that cannot be cast."""
    try:
        return column.cast(kind)
    except pa.ArrowInvalid:
        index = _first_refused(column, kind)
    cell = column[index].as_py()
    raise BadCell(problem(cell if isinstance(cell, str) else ""), index)


def _first_refused(column: pa.Array, kind: pa.DataType) -> int:
    """Find the first cell a cast refuses, halving the stretch it must be in."""
    first, last = 0, len(column)
    while last - first > 1:
        middle = (first + last) // 2
        try:
            column.slice(first, middle - first).cast(kind)
            first = middle
        except pa.ArrowInvalid:
            last = middle
    return first


def _filled(column: pa.Array) -> NDArray[Any]:
    """Give a column of numbers as an array in which nulls are some acceptable number."""
    return cast("NDArray[Any]", column.fill_null(1).to_numpy(zero_copy_only=False))


def _refuse(column: pa.Array, wrong: Bools, problem: str) -> None:
    """Raise for the first cell marked as wrong, if any."""
    if wrong.any():
        index = int(np.argmax(wrong))
        raise BadCell(f"{quoted(str(column[index].as_py()))} {problem}", index)

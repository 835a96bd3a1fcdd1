"""Cells of tables, as text or typed values, converted to numbers one column at a time.

Every function takes an Arrow array and returns a NumPy array; an invalid cell raises `BadCell` with
its index in the array. Where a cast rejects a column, the first bad cell is found by bisection.
"""

import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from http import HTTPStatus
from typing import Any, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from recrawl.kernels.hashing import hash_column
from recrawl.kernels.jit import Bools, Floats, Ints
from recrawl.quantities import LARGEST, SMALLEST
from recrawl.records import NO_TIME, Outcome
from recrawl.units import SECONDS_A_DAY, TIME_EXAMPLES, parse_http_date, quoted

Outcomes = NDArray[np.int8]

#: Stands for an empty cell in a column of outcomes.
EMPTY = np.int8(-1)

#: The values of the column ``changed``, as outcomes.
CHANGED = {
    **dict.fromkeys("1 true 1.0 t y yes changed modified".split(), int(Outcome.CHANGED)),
    **dict.fromkeys("0 false 0.0 f n no unchanged notmodified".split(), int(Outcome.UNCHANGED)),
}
#: What programs write where there is no value.
NO_VALUES = ("", "-", "null", r"\n", "nan", "none", "na", "n/a", "nat", "<na>")
#: Stands for a missing digest.
NO_DIGEST = 0
FIRST_REDIRECT = 300
OUTCOMES = {outcome.name.lower(): int(outcome) for outcome in Outcome}

#: The years that a calendar has, in seconds since 1970.
YEAR_1 = int(datetime(1, 1, 1, tzinfo=UTC).timestamp())
YEAR_10000 = int(datetime(9999, 12, 31, tzinfo=UTC).timestamp() + SECONDS_A_DAY)

_PER_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
_UNIT_NAMES = {"ms": "milliseconds", "us": "microseconds", "ns": "nanoseconds"}
#: The numbers whose digits are those of a calendar and clock, as archives write times.
DIGITS_1990, DIGITS_2100 = 19900101000000, 21000101000000
_NUMBER = r"^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$"
_NOT_A_TIME = f"is not a time; write {TIME_EXAMPLES}"

#: Unix seconds, times with a zone, times without one.
_TIME_TYPES = (pa.float64(), pa.timestamp("us", "UTC"), pa.timestamp("us"))
_NUMERIC = (pa.types.is_integer, pa.types.is_floating, pa.types.is_decimal)
#: The longest name of a type that is quoted whole.
_MAX_TYPE = 60
_ZONED = r"[T ].*(Z|[+-]\d\d(:?\d\d)?)$"
#: A time such as 20260131T123000Z, and how it is written with signs.
_WITHOUT_SIGNS = (
    r"^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)",
    r"\1-\2-\3T\4:\5:\6",
)
#: A date that begins with the name of a day, or as in the logs of web servers.
_SERVER_DATE = r"^([A-Z][a-z]{2},? |\d\d/[A-Z][a-z]{2}/\d{4}:)"
_JAVA_DATE = re.compile(r"^(\w{3}) (\w{3}) +(\d+) ([\d:]+) ([\w:+-]+) (\d{4})$")
_LOG_DATE = re.compile(r"^(\d\d)/(\w{3})/(\d{4}):(.*)$")

#: Called with a sentence about how cells were read.
Note = Callable[[str], object]


def no_note(_remark: str) -> None:
    """Ignore a remark."""


#: What Arrow raises for cells that it cannot convert. Its message quotes the cell, and is itself
#: not text if the cell is not; a number may also be too large for Python or NumPy.
UNREADABLE = (pa.ArrowException, UnicodeDecodeError, OverflowError)


class BadCell(Exception):  # noqa: N818 - the reader turns it into an error with file and row
    """A cell is invalid.

    Attributes:
        problem: What is wrong, without the row and column.
        index: The index of the cell in its array; None for the whole column.
    """

    def __init__(self, problem: str, index: int | None = None) -> None:
        super().__init__(problem)
        self.problem = problem
        self.index = index


def is_text(kind: pa.DataType) -> bool:
    """Return whether an array of this type holds text, or bytes that may be text."""
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


def type_name(kind: pa.DataType) -> str:
    """Return what messages call a type; one with fields has names of any length in it."""
    try:
        name = str(kind)
    except UnicodeDecodeError:
        return "fields whose names are not UTF-8"
    return name if name.isprintable() and len(name) <= _MAX_TYPE else quoted(name)


def read_text(column: pa.Array) -> pa.Array:
    """Return a column of text as valid UTF-8 strings."""
    return _cast(
        decoded(column).cast(pa.large_binary()), pa.large_string(), lambda _: "this is not UTF-8"
    )


def decoded(column: pa.Array) -> pa.Array:
    """Return a column in which each cell has its value, also where values were listed once."""
    if not pa.types.is_dictionary(column.type):
        return column
    values = column.dictionary
    if is_text(values.type):
        values = values.cast(pa.large_binary())
    return values.take(column.indices)


def read_times(column: pa.Array, note: Note = no_note) -> Ints:
    """Return microseconds since 1970, ``NO_TIME`` for empty cells.

    Numbers are Unix seconds if that is a year with four digits, else milliseconds, microseconds or
    nanoseconds; ``note`` is called with what was not in seconds. Fourteen digits may also be the
    digits of a calendar and clock, as archives write them.
    """
    if pa.types.is_null(column.type):
        return np.full(len(column), NO_TIME)
    if is_text(column.type):
        return _times_of_text(read_text(column), note)
    if pa.types.is_date(column.type):
        column = column.cast(pa.timestamp("ms"))
    elif pa.types.is_floating(column.type) or pa.types.is_decimal(column.type):
        column = column.cast(pa.float64(), safe=False)
    if any(is_kind(column.type) for is_kind in (pa.types.is_timestamp, *_NUMERIC)):
        return _times_of_numbers(column, column, note)
    raise BadCell(f"the column holds {type_name(column.type)}, not times")


def read_changed(column: pa.Array) -> Outcomes:
    """Return CHANGED for 1, UNCHANGED for 0 and EMPTY for empty cells."""
    kind = column.type
    if pa.types.is_null(kind):
        return np.full(len(column), EMPTY, np.int8)
    if is_text(kind):
        return _looked_up(read_text(column), CHANGED, "is neither 0 nor 1")
    if pa.types.is_decimal(kind):
        kind = pa.float64()
        column = column.cast(kind)
    if pa.types.is_boolean(kind):
        column = column.cast(pa.int8())
    elif not (pa.types.is_integer(kind) or pa.types.is_floating(kind)):
        raise BadCell(f"the column holds {type_name(kind)}, not 0 and 1")
    filled = _filled(column)
    wrong = (filled != 0) & (filled != 1)
    if pa.types.is_floating(kind):
        wrong &= ~np.isnan(filled)
    _reject(column, wrong, "is neither 0 nor 1")
    outcomes = np.where(filled == 1, Outcome.CHANGED, Outcome.UNCHANGED).astype(np.int8)
    empty = column.is_null(nan_is_null=True).to_numpy(zero_copy_only=False)
    outcomes[empty] = EMPTY
    return outcomes


def read_outcomes(column: pa.Array) -> Outcomes:
    """Return the `Outcome` of each cell, EMPTY for empty cells."""
    if pa.types.is_null(column.type):
        return np.full(len(column), EMPTY, np.int8)
    if not is_text(column.type):
        raise BadCell(f"the column holds {type_name(column.type)}, not words")
    return _looked_up(read_text(column), OUTCOMES, f"is none of {', '.join(OUTCOMES)}")


def read_statuses(column: pa.Array) -> Outcomes:
    """Return what HTTP statuses say: FAILED, GONE, UNCHANGED for 304, EMPTY for all is well.

    Below 0 are the reasons of Heritrix for a visit that failed.
    """
    numbers = _numbers(column, np.isfinite, "is not an HTTP status")
    outcomes = np.full(numbers.size, np.int8(Outcome.FAILED))
    outcomes[np.isnan(numbers) | ((numbers >= HTTPStatus.OK) & (numbers < FIRST_REDIRECT))] = EMPTY
    outcomes[numbers == HTTPStatus.NOT_MODIFIED] = Outcome.UNCHANGED
    outcomes[np.isin(numbers, (HTTPStatus.NOT_FOUND, HTTPStatus.GONE))] = Outcome.GONE
    return outcomes


def read_digests(column: pa.Array) -> Ints:
    """Return a number per digest, equal for equal digests; ``NO_DIGEST`` for empty cells."""
    if pa.types.is_null(column.type):
        return np.full(len(column), NO_DIGEST)
    if pa.types.is_fixed_size_binary(column.type):
        column = column.cast(pa.binary())
    if is_text(column.type):
        column = decoded(column).cast(pa.large_binary())
    elif not pa.types.is_integer(column.type):
        raise BadCell(f"the column holds {type_name(column.type)}, not digests")
    empty = column.is_null().to_numpy(zero_copy_only=False)
    filled = column.fill_null(b"" if pa.types.is_large_binary(column.type) else 0)
    if pa.types.is_large_binary(column.type):
        words = pa.array([word.encode() for word in NO_VALUES], pa.large_binary())
        empty |= pc.is_in(filled, words).to_numpy(zero_copy_only=False)
    digests = hash_column(filled).view(np.int64)
    digests[empty] = NO_DIGEST
    return digests


def read_rates(column: pa.Array) -> Floats:
    """Return numbers above 0, NaN for empty cells."""
    return _numbers(
        column,
        lambda number: (number >= SMALLEST) & (number <= LARGEST),
        f"is not a number above 0, {SMALLEST:g} to {LARGEST:g}",
    )


def read_importances(column: pa.Array) -> Floats:
    """Return non-negative numbers, NaN for empty cells."""
    return _numbers(column, lambda number: number >= 0, "is not a number, 0 or above")


def _numbers(column: pa.Array, is_good: Callable[[Floats], Bools], problem: str) -> Floats:
    if pa.types.is_null(column.type):
        return np.full(len(column), np.nan)
    if is_text(column.type):
        column = _tidied(read_text(column))
        numbers = _cast(column, pa.float64(), lambda cell: f"{quoted(cell)} {problem}")
    elif any(is_kind(column.type) for is_kind in _NUMERIC):
        # Not safe, in Arrow's words: large whole numbers are rounded, as those of a CSV file are.
        numbers = column.cast(pa.float64(), safe=False)
    else:
        raise BadCell(f"the column holds {type_name(column.type)}, not numbers")
    found = _filled(numbers)
    wrong = ~(is_good(found) & np.isfinite(found))
    empty = numbers.is_null().to_numpy(zero_copy_only=False)
    _reject(column, wrong & ~empty, problem)
    return np.where(empty, np.nan, found)


def _times_of_text(column: pa.Array, note: Note) -> Ints:
    """Read all cells like the first one; if that fails, read the column as mixed."""
    first = column.slice(max(pc.index(column.is_valid(), value=True).as_py(), 0), 1)
    for kind in _TIME_TYPES:
        try:
            first.cast(kind)
            return _times_of_numbers(column.cast(kind), column, note)
        except UNREADABLE:
            continue
        except BadCell as bad:
            if _NOT_A_TIME not in bad.problem:
                raise
            # One that says "no value", which the first does not.
            break
    return _mixed_times(column, note)


def _mixed_times(column: pa.Array, note: Note) -> Ints:
    """Read times of which some are Unix times, some have a zone and some are dates of servers."""
    tidy = pc.replace_substring_regex(_tidied(column), r"(:\d\d\.\d{6})\d+", r"\1")
    tidy = pc.replace_substring_regex(tidy, *_WITHOUT_SIGNS)
    is_number = pc.match_substring_regex(tidy, _NUMBER)
    is_date = pc.match_substring_regex(tidy, _SERVER_DATE)
    is_zoned = pc.and_not(pc.match_substring_regex(tidy, _ZONED), pc.or_(is_number, is_date))
    is_plain = pc.invert(pc.or_(pc.or_(is_number, is_zoned), is_date))
    times = np.full(len(column), NO_TIME)
    for is_kind, kind in zip((is_number, is_zoned, is_plain), _TIME_TYPES, strict=True):
        such = pc.if_else(is_kind, tidy, pa.scalar(None, tidy.type))
        read = _cast(such, kind, lambda cell: f"{quoted(cell)} {_NOT_A_TIME}")
        such_times = _times_of_numbers(read, tidy, note)
        np.copyto(times, such_times, where=such_times != NO_TIME)
    if pc.any(is_date).as_py():
        _read_server_dates(pc.if_else(is_date, tidy, pa.scalar(None, tidy.type)), times)
    return times


def _read_server_dates(column: pa.Array, times: Ints) -> None:
    """Read dates as servers, Java and web servers' logs write them, each distinct one once."""
    coded = column.dictionary_encode()
    found = np.full(len(coded.dictionary), NO_TIME)
    for number, text in enumerate(coded.dictionary.to_pylist()):
        at = parse_http_date(
            _JAVA_DATE.sub(r"\1, \3 \2 \6 \4 \5", _LOG_DATE.sub(r"\1 \2 \3 \4", text))
        )
        if at is None:
            index = pc.index(coded.indices, number).as_py()
            raise BadCell(f"{quoted(text)} {_NOT_A_TIME}", index)
        found[number] = at
    is_date = coded.indices.is_valid().to_numpy(zero_copy_only=False)
    times[is_date] = found[coded.indices.drop_null().to_numpy()]


def _times_of_numbers(column: pa.Array, shown: pa.Array, note: Note) -> Ints:
    """Convert timestamps and Unix times to microseconds; messages quote cells of ``shown``."""
    is_timestamp = pa.types.is_timestamp(column.type)
    per_second = _PER_SECOND[column.type.unit] if is_timestamp else 1
    if is_timestamp:
        column = column.cast(pa.int64())
        shown = shown if is_text(shown.type) else column
    numbers = _filled(column)
    if pa.types.is_floating(column.type):
        empty = np.isnan(numbers)
        if empty.any() and is_text(shown.type):
            _reject(shown, empty, _NOT_A_TIME)
        numbers = np.where(empty, 1.0, numbers)
        column = column.fill_null(np.nan)
        empty |= np.isnan(column.to_numpy(zero_copy_only=False))
    else:
        empty = column.is_null().to_numpy(zero_copy_only=False)
    times = np.empty(0, np.int64)
    outside = ~((numbers >= YEAR_1 * per_second) & (numbers < YEAR_10000 * per_second))
    if outside.any() and not is_timestamp:
        times, outside = _times_by_size(numbers, note)
    _reject(shown, outside & ~empty, "is outside the years 1 to 9999")
    if not times.size:
        times = _microseconds(numbers, per_second)
        if not (is_timestamp or empty.all()) and numbers[~empty].max() < SECONDS_A_DAY:
            note("numbers below 86,400 are read as Unix seconds, of 1970-01-01")
    times[empty] = NO_TIME
    return times


def _times_by_size(numbers: NDArray[Any], note: Note) -> tuple[Ints, Bools]:
    """Return microseconds since 1970 of Unix times in units that their size tells, and which fail.

    The unit is the longest in which the time is before the year 10000.
    """
    times = np.zeros(numbers.size, np.int64)
    digits = (numbers >= DIGITS_1990) & (numbers < DIGITS_2100)
    unread = ~digits
    for unit, per_second in _PER_SECOND.items():
        here = unread & (numbers >= YEAR_1 * per_second) & (numbers < YEAR_10000 * per_second)
        times[here] = _microseconds(numbers[here], per_second)
        unread &= ~here
        if unit != "s" and here.any():
            note(f"numbers of this size are read as Unix {_UNIT_NAMES[unit]}")
    if digits.any():
        times[digits] = _times_of_digits(numbers[digits].astype(np.int64))
        note("numbers of fourteen digits are read as year, month, day, hour, minute and second")
    return times, unread


def _times_of_digits(numbers: Ints) -> Ints:
    """Return microseconds since 1970 for numbers such as 20260131123000."""
    texts = pa.array(numbers).cast(pa.string())
    parsed = pc.strptime(texts, "%Y%m%d%H%M%S", "us", error_is_null=True)
    bad = parsed.is_null().to_numpy(zero_copy_only=False)
    _reject(texts, bad, _NOT_A_TIME)
    return cast("Ints", parsed.cast(pa.int64()).to_numpy())


def _microseconds(numbers: NDArray[Any], per_second: int) -> Ints:
    if numbers.dtype.kind == "f":
        return np.rint(numbers * (_PER_SECOND["us"] / per_second)).astype(np.int64)
    if per_second > _PER_SECOND["us"]:
        return (numbers // (per_second // _PER_SECOND["us"])).astype(np.int64)
    return numbers.astype(np.int64) * (_PER_SECOND["us"] // per_second)


def _looked_up(column: pa.Array, meanings: Mapping[str, int], problem: str) -> Outcomes:
    """Return the meaning of each cell, looking up each distinct text once."""
    encoded = column.dictionary_encode(null_encoding="encode")
    meaning = np.full(len(encoded.dictionary), EMPTY)
    for number, word in enumerate(encoded.dictionary.to_pylist()):
        tidy = (word or "").strip().lower()
        if tidy not in NO_VALUES and tidy not in meanings:
            index = pc.index(encoded.indices, number).as_py()
            raise BadCell(f"{quoted(word)} {problem}", index)
        meaning[number] = meanings.get(tidy, EMPTY)
    return cast("Outcomes", meaning[encoded.indices.to_numpy()])


def _tidied(column: pa.Array) -> pa.Array:
    """Strip spaces around cells; one of spaces only, or that says "no value", becomes null."""
    trimmed = pc.utf8_trim_whitespace(column)
    is_empty = pc.is_in(pc.utf8_lower(trimmed), pa.array(NO_VALUES, trimmed.type))
    return pc.if_else(is_empty, pa.scalar(None, trimmed.type), trimmed)


def _cast(column: pa.Array, kind: pa.DataType, problem: Callable[[str], str]) -> pa.Array:
    """Cast a column of text, or raise `BadCell` for the first cell that cannot be cast."""
    try:
        return column.cast(kind)
    except UNREADABLE:
        index = first_bad(column, lambda part: part.cast(kind))
    cell = column[index].as_py()
    raise BadCell(problem(cell if isinstance(cell, str) else ""), index)


def first_bad(column: pa.Array, convert: Callable[[pa.Array], object]) -> int:
    """Find the first cell that cannot be converted, by bisection."""
    first, last = 0, len(column)
    while last - first > 1:
        middle = (first + last) // 2
        try:
            convert(column.slice(first, middle - first))
            first = middle
        except (*UNREADABLE, BadCell):
            last = middle
    return first


def _filled(column: pa.Array) -> NDArray[Any]:
    """Return a column of numbers as an array, with an acceptable number for nulls."""
    return cast("NDArray[Any]", column.fill_null(1).to_numpy(zero_copy_only=False))


def _reject(column: pa.Array, wrong: Bools, problem: str) -> None:
    """Raise `BadCell` for the first cell marked as wrong, if any."""
    if wrong.any():
        index = int(np.argmax(wrong))
        raise BadCell(f"{quoted(str(column[index].as_py()))} {problem}", index)

"""Parse times in tables, in many formats, to microseconds since 1970.

They may be Unix times in any unit, ISO 8601 with or without a zone, dates of servers and logs, or
the fourteen digits of archives; a column may mix several of these.
"""

import re
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from recrawl.formats.cells import (
    NUMERIC,
    UNREADABLE,
    BadCell,
    cast_text,
    filled,
    is_text,
    read_text,
    reject,
    tidied,
    type_name,
)
from recrawl.kernels.jit import Bools, Ints
from recrawl.records import NO_TIME
from recrawl.units import SECONDS_A_DAY, TIME_EXAMPLES, parse_http_date, quoted

#: The years that a calendar has, in seconds since 1970.
YEAR_1 = int(datetime(1, 1, 1, tzinfo=UTC).timestamp())
YEAR_10000 = int(datetime(9999, 12, 31, tzinfo=UTC).timestamp() + SECONDS_A_DAY)

_PER_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
_UNIT_NAMES = {"ms": "milliseconds", "us": "microseconds", "ns": "nanoseconds"}
#: The range of numbers whose digits are a date and time, as archives write them.
DIGITS_1990, DIGITS_2100 = 19900101000000, 21000101000000
_NUMBER = r"^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$"
_NOT_A_TIME = f"is not a time; write {TIME_EXAMPLES}"

#: Unix seconds, times with a zone, times without one.
_TIME_TYPES = (pa.float64(), pa.timestamp("us", "UTC"), pa.timestamp("us"))
_ZONED = r"[T ].*(Z|[+-]\d\d(:?\d\d)?)$"
#: A time such as 20260131T123000Z, and its form with separators.
_WITHOUT_SIGNS = (
    r"^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)",
    r"\1-\2-\3T\4:\5:\6",
)
#: A date that begins with the name of a day, or as in the logs of web servers.
_SERVER_DATE = r"^([A-Z][a-z]{2},? |\d\d/[A-Z][a-z]{2}/\d{4}:)"
_JAVA_DATE = re.compile(r"^(\w{3}) (\w{3}) +(\d+) ([\d:]+) ([\w:+-]+) (\d{4})$")
#: A zone such as GMT+02:00, or a name such as CEST. Only names from the e-mail standard are
#: unambiguous; any other would be taken for UTC, hours off.
_OFFSET = re.compile(r" (?:GMT|UTC)([+-]\d\d):?(\d\d)$")
_ZONE = re.compile(r"\d ([A-Za-z]\S*)$")
_ZONES = frozenset("UT UTC GMT Z EST EDT CST CDT MST MDT PST PDT AST ADT".split())
_LOG_DATE = re.compile(r"^(\d\d)/(\w{3})/(\d{4}):(.*)$")

#: Called with a sentence about how cells were read.
Note = Callable[[str], object]


def no_note(_remark: str) -> None:
    """Ignore a remark."""


def read_times(column: pa.Array, note: Note = no_note) -> Ints:
    """Return microseconds since 1970, ``NO_TIME`` for empty cells.

    Numbers are Unix seconds if that is a year with four digits, else milliseconds, microseconds or
    nanoseconds; ``note`` is called if they were not seconds. Fourteen digits may also be a date and
    time, as archives write them.
    """
    if pa.types.is_null(column.type):
        return np.full(len(column), NO_TIME)
    if is_text(column.type):
        return _times_of_text(read_text(column), note)
    if pa.types.is_date(column.type):
        column = column.cast(pa.timestamp("ms"))
    elif pa.types.is_floating(column.type) or pa.types.is_decimal(column.type):
        column = column.cast(pa.float64(), safe=False)
    if any(is_kind(column.type) for is_kind in (pa.types.is_timestamp, *NUMERIC)):
        return _times_of_numbers(column, column, note)
    raise BadCell(f"the column holds {type_name(column.type)}, not times")


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
            # A marker for a missing value, unlike the first cell.
            break
    return _mixed_times(column, note)


def _mixed_times(column: pa.Array, note: Note) -> Ints:
    """Read times of which some are Unix times, some have a zone and some are dates of servers."""
    tidy = pc.replace_substring_regex(tidied(column), r"(:\d\d\.\d{6})\d+", r"\1")
    tidy = pc.replace_substring_regex(tidy, *_WITHOUT_SIGNS)
    is_number = pc.match_substring_regex(tidy, _NUMBER)
    is_date = pc.match_substring_regex(tidy, _SERVER_DATE)
    is_zoned = pc.and_not(pc.match_substring_regex(tidy, _ZONED), pc.or_(is_number, is_date))
    is_plain = pc.invert(pc.or_(pc.or_(is_number, is_zoned), is_date))
    times = np.full(len(column), NO_TIME)
    for is_kind, kind in zip((is_number, is_zoned, is_plain), _TIME_TYPES, strict=True):
        such = pc.if_else(is_kind, tidy, pa.scalar(None, tidy.type))
        read = cast_text(such, kind, lambda cell: f"{quoted(cell)} {_NOT_A_TIME}")
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
        date = _JAVA_DATE.sub(r"\1, \3 \2 \6 \4 \5", _LOG_DATE.sub(r"\1 \2 \3 \4", text))
        date = _OFFSET.sub(r" \1\2", date)
        zone, at = _ZONE.search(date), parse_http_date(date)
        is_known = zone is None or zone[1] in _ZONES
        if at is None or not is_known:
            index = pc.index(coded.indices, number).as_py()
            problem = _NOT_A_TIME if is_known else "is in an unknown time zone; write it in UTC"
            raise BadCell(f"{quoted(text)} {problem}", index)
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
    numbers = filled(column)
    if pa.types.is_floating(column.type):
        empty = np.isnan(numbers)
        if empty.any() and is_text(shown.type):
            reject(shown, empty, _NOT_A_TIME)
        numbers = np.where(empty, 1.0, numbers)
        column = column.fill_null(np.nan)
        empty |= np.isnan(column.to_numpy(zero_copy_only=False))
    else:
        empty = column.is_null().to_numpy(zero_copy_only=False)
    times = np.empty(0, np.int64)
    outside = ~((numbers >= YEAR_1 * per_second) & (numbers < YEAR_10000 * per_second))
    if outside.any() and not is_timestamp:
        times, outside = _times_by_size(numbers, note)
    reject(shown, outside & ~empty, "is outside the years 1 to 9999")
    if not times.size:
        times = _microseconds(numbers, per_second)
        if not (is_timestamp or empty.all()) and numbers[~empty].max() < SECONDS_A_DAY:
            note("numbers below 86,400 are read as Unix seconds, of 1970-01-01")
    times[empty] = NO_TIME
    return times


def _times_by_size(numbers: NDArray[Any], note: Note) -> tuple[Ints, Bools]:
    """Convert Unix times, whose size tells their unit, to microseconds; also return which fail.

    The unit is the largest in which the time is before the year 10000.
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
    reject(texts, bad, _NOT_A_TIME)
    return cast("Ints", parsed.cast(pa.int64()).to_numpy())


def _microseconds(numbers: NDArray[Any], per_second: int) -> Ints:
    if numbers.dtype.kind == "f":
        return np.rint(numbers * (_PER_SECOND["us"] / per_second)).astype(np.int64)
    if per_second > _PER_SECOND["us"]:
        return (numbers // (per_second // _PER_SECOND["us"])).astype(np.int64)
    return numbers.astype(np.int64) * (_PER_SECOND["us"] // per_second)

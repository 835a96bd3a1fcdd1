"""Convert cells of tables, as text or typed values, to numbers, one column at a time.

Every function takes an Arrow array and returns a NumPy array; an invalid cell raises `BadCell` with
its index in the array. Where a cast rejects a column, the first bad cell is found by bisection.
"""

from collections.abc import Callable, Mapping
from http import HTTPStatus
from typing import Any, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from recrawl.kernels.hashing import hash_column
from recrawl.kernels.jit import Bools, Floats, Ints
from recrawl.quantities import LARGEST, SMALLEST
from recrawl.records import Outcome
from recrawl.units import quoted

Outcomes = NDArray[np.int8]

#: Stands for an empty cell in a column of outcomes.
EMPTY = np.int8(-1)

#: The values of the column ``changed``, as outcomes.
CHANGED = {
    **dict.fromkeys("1 true 1.0 t y yes changed modified".split(), int(Outcome.CHANGED)),
    **dict.fromkeys("0 false 0.0 f n no unchanged notmodified".split(), int(Outcome.UNCHANGED)),
}
#: What programs write for a missing value.
NO_VALUES = ("", "-", "null", r"\n", "nan", "none", "na", "n/a", "nat", "<na>")
#: The longest cell that may be one of these, in bytes; most digests are longer.
_LONGEST_NO_VALUE = 8
#: Stands for a missing digest.
NO_DIGEST = 0
FIRST_REDIRECT = 300
OUTCOMES = {outcome.name.lower(): int(outcome) for outcome in Outcome}

#: Predicates for numeric types.
NUMERIC = (pa.types.is_integer, pa.types.is_floating, pa.types.is_decimal)
#: The longest name of a type that is quoted whole.
_MAX_TYPE = 60
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
    """Return the name of a type for messages, shortened, as a type with fields can be long."""
    try:
        name = str(kind)
    except UnicodeDecodeError:
        return "fields whose names are not UTF-8"
    return name if name.isprintable() and len(name) <= _MAX_TYPE else quoted(name)


def read_text(column: pa.Array) -> pa.Array:
    """Return a column of text as valid UTF-8 strings."""
    return cast_text(
        decoded(column).cast(pa.large_binary()), pa.large_string(), lambda _: "this is not UTF-8"
    )


def decoded(column: pa.Array) -> pa.Array:
    """Return a column with dictionary encoding undone."""
    if not pa.types.is_dictionary(column.type):
        return column
    values = column.dictionary
    if is_text(values.type):
        values = values.cast(pa.large_binary())
    return values.take(column.indices)


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
    numbers = filled(column)
    wrong = (numbers != 0) & (numbers != 1)
    if pa.types.is_floating(kind):
        wrong &= ~np.isnan(numbers)
    reject(column, wrong, "is neither 0 nor 1")
    outcomes = np.where(numbers == 1, Outcome.CHANGED, Outcome.UNCHANGED).astype(np.int8)
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
    """Return the outcomes of HTTP statuses: FAILED, GONE, UNCHANGED for 304, EMPTY for success.

    Negative ones are Heritrix's reasons for a failed visit.
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
    values = column.fill_null(b"" if pa.types.is_large_binary(column.type) else 0)
    if pa.types.is_large_binary(column.type):
        empty |= pc.is_in(values, _no_values(values)).to_numpy(zero_copy_only=False)
    digests = hash_column(values).view(np.int64)
    digests[empty] = NO_DIGEST
    return digests


def _no_values(column: pa.Array) -> pa.Array:
    """Return the distinct cells of a column of bytes that stand for a missing value."""
    short = pc.less_equal(pc.binary_length(column), _LONGEST_NO_VALUE)
    found = column.filter(short).unique()
    is_empty = [
        cell.decode(errors="replace").strip().lower() in NO_VALUES for cell in found.to_pylist()
    ]
    return found.filter(pa.array(is_empty, pa.bool_()))


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
        column = tidied(read_text(column))
        numbers = cast_text(column, pa.float64(), lambda cell: f"{quoted(cell)} {problem}")
    elif any(is_kind(column.type) for is_kind in NUMERIC):
        # "Unsafe" in Arrow's terms: large integers are rounded, as in a CSV file.
        numbers = column.cast(pa.float64(), safe=False)
    else:
        raise BadCell(f"the column holds {type_name(column.type)}, not numbers")
    found = filled(numbers)
    wrong = ~(is_good(found) & np.isfinite(found))
    empty = numbers.is_null().to_numpy(zero_copy_only=False)
    reject(column, wrong & ~empty, problem)
    return np.where(empty, np.nan, found)


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


def tidied(column: pa.Array) -> pa.Array:
    """Strip spaces around cells; empty ones, and those for a missing value, become null."""
    trimmed = pc.utf8_trim_whitespace(column)
    is_empty = pc.is_in(pc.utf8_lower(trimmed), pa.array(NO_VALUES, trimmed.type))
    return pc.if_else(is_empty, pa.scalar(None, trimmed.type), trimmed)


def cast_text(column: pa.Array, kind: pa.DataType, problem: Callable[[str], str]) -> pa.Array:
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


def filled(column: pa.Array) -> NDArray[Any]:
    """Return a column of numbers as an array, with an acceptable number for nulls."""
    return cast("NDArray[Any]", column.fill_null(1).to_numpy(zero_copy_only=False))


def reject(column: pa.Array, wrong: Bools, problem: str) -> None:
    """Raise `BadCell` for the first cell marked as wrong, if any."""
    if wrong.any():
        index = int(np.argmax(wrong))
        raise BadCell(f"{quoted(str(column[index].as_py()))} {problem}", index)

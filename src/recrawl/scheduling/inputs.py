"""Check a frontier's arguments; errors name the argument and the invalid value."""

import math
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import ArrayLike

from recrawl.errors import ArgumentError
from recrawl.estimation.belief import Prior
from recrawl.kernels.jit import Bools, Floats, Ints
from recrawl.quantities import LARGEST, as_array
from recrawl.quantities import duration as as_duration
from recrawl.quantities import durations as as_durations
from recrawl.quantities import number as as_number
from recrawl.quantities import numbers as as_numbers
from recrawl.quantities import rate as as_rate
from recrawl.quantities import time as as_time
from recrawl.quantities import times as as_times

#: Pages, hosts and sections are stored as 32-bit numbers.
MAX_NUMBER = 2**31 - 2
#: Up to this many numbers, Python is faster than NumPy.
FEW = 64
#: The maximum days from the origin of time; with more, a float cannot represent minutes.
MAX_TIME = 1e12
#: The range of budgets and durations. Activity is kept in single precision, with a range of 1e38,
#: and multiplies them by numbers of pages.
MIN_SETTING, MAX_SETTING = 1e-24, 1e24
#: The shape of a belief, and its time, which is by default pages / budget.
MAX_SHAPE = 1e24
MIN_TIME_KNOWN, MAX_TIME_KNOWN = 1e-36, 1e36


def time(name: str, value: float) -> float:
    """Return a time in days: a finite number."""
    number = as_time(name, value)
    if not abs(number) <= MAX_TIME:
        raise ArgumentError(f"{name}: {number} is not a time in days")
    return number


def rate(name: str, value: float) -> float:
    """Return a finite rate per day above 0."""
    return _positive(name, as_rate(name, value))


def duration(name: str, value: float) -> float:
    """Return a finite number of days above 0."""
    return _positive(name, as_duration(name, value))


def _positive(name: str, number: float) -> float:
    if not MIN_SETTING <= number <= MAX_SETTING:
        raise ArgumentError(
            f"{name}: {number} cannot be used; it must be above 0 and finite, "
            f"{MIN_SETTING:g} to {MAX_SETTING:g}"
        )
    return number


def belief(name: str, given: Prior, size: int) -> tuple[Floats, Floats]:
    """Return the columns of a belief or a prior."""
    shape, time = given.columns(size)
    usual = (shape <= MAX_SHAPE) & (time >= MIN_TIME_KNOWN) & (time <= MAX_TIME_KNOWN)
    if not usual.all():
        row = int(np.argmin(usual))
        raise ArgumentError(
            f"{name}: {shape[row]:g} changes in {time[row]:g} days cannot be used; there may be "
            f"up to {MAX_SHAPE:g} changes, in {MIN_TIME_KNOWN:g} to {MAX_TIME_KNOWN:g} days"
        )
    return shape, time


def prior(name: str, given: Prior | None, size: int) -> tuple[Floats, Floats]:
    """Return the columns of a prior; shapes of 0 if there is none."""
    return (np.zeros(size), np.zeros(size)) if given is None else belief(name, given, size)


def delay(name: str, value: float) -> float:
    """Return a finite number of days, at least 0."""
    number = as_duration(name, value)
    if not 0.0 <= number <= MAX_TIME:
        raise ArgumentError(f"{name}: {number} cannot be used; it must be 0 or more, and finite")
    return number


def share(name: str, value: float) -> float:
    """Return a share between 0 and 1."""
    return float(shares(name, value, 1)[0])


def spacing(name: str, budget: float | None) -> float:
    """Return the days of a host's budget that one visit uses; 0 without a budget."""
    return 0.0 if budget is None else 1.0 / rate(name, budget)


def one_of(name: str, value: str, known: tuple[str, ...]) -> str:
    """Return one of some words."""
    if value not in known:
        raise ArgumentError(f"{name}: '{value}' is not known; use {' or '.join(known)}")
    return value


def whole(name: str, value: float) -> int:
    """Return a whole number, at least 0."""
    number = as_number(name, value)
    if not (0 <= number < math.inf and number == int(number)):
        raise ArgumentError(f"{name}: {number} cannot be used; it must be a whole number from 0")
    return int(number)


def pages(name: str, values: ArrayLike) -> Ints:
    """Return page numbers without duplicates."""
    numbers = numbers_from_0(name, values).reshape(-1)
    if numbers.size <= FEW and len(set(numbers.tolist())) == numbers.size:
        return numbers
    if numbers.size > 1 and not (numbers[1:] > numbers[:-1]).all():
        ordered = np.sort(numbers)
        twice = ordered[1:][ordered[1:] == ordered[:-1]]
        if twice.size:
            raise ArgumentError(f"{name}: {twice[0]} appears twice")
    return numbers


def hosts(name: str, values: ArrayLike, known: int) -> Ints:
    """Return numbers of hosts that have pages."""
    numbers = np.atleast_1d(numbers_from_0(name, values))
    if numbers.size and numbers.max() >= known:
        raise ArgumentError(f"{name}: {numbers.max()} has no pages yet; add them first")
    return numbers


def numbers_from_0(name: str, values: ArrayLike) -> Ints:
    """Return integers from 0, including duplicates."""
    raw = as_array(name, values)
    if raw.ndim > 1 or (raw.size and raw.dtype.kind not in "iu"):
        raise ArgumentError(f"{name}: expected whole numbers from 0")
    numbers = np.ascontiguousarray(raw, np.int64)
    if numbers.size and (numbers.min() < 0 or numbers.max() > MAX_NUMBER):
        wrong = numbers[(numbers < 0) | (numbers > MAX_NUMBER)]
        raise ArgumentError(f"{name}: {wrong[0]} cannot be used; numbers go from 0 to 2^31 - 2")
    return numbers


def _column(name: str, column: Floats, size: int) -> Floats:
    # Always a writable copy, as kernels are compiled for that.
    if column.shape == (size,):
        return column.copy()
    if column.ndim == 0:
        return np.full(size, column)
    try:
        return np.array(np.broadcast_to(column, size))
    except ValueError as error:
        raise ArgumentError(f"{name}: expected one number, or {size}, one per page") from error


def importances(values: ArrayLike, size: int) -> Floats:
    """Return importances: finite and not negative."""
    column = _column("importance", as_numbers("importance", values), size)
    wrong = column[~((column >= 0.0) & (column <= LARGEST))]
    if wrong.size:
        raise ArgumentError(f"importance: {wrong[0]} cannot be used; it must be 0 or more")
    return column


def shares(name: str, values: ArrayLike, size: int) -> Floats:
    """Return shares between 0 and 1."""
    column = _column(name, as_numbers(name, values), size)
    wrong = column[~((column >= 0.0) & (column <= 1.0))]
    if wrong.size:
        raise ArgumentError(f"{name}: {wrong[0]} is not a share, 0 to 1")
    return column


def times(name: str, values: ArrayLike, size: int) -> Floats:
    """Return times: finite numbers."""
    column = _column(name, as_times(name, values), size)
    if not (np.abs(column) <= MAX_TIME).all():
        raise ArgumentError(f"{name}: expected finite times")
    return column


def ages(values: ArrayLike | None, size: int) -> Floats:
    """Return ages in days, NaN for unknown; a date in the future counts as now."""
    if values is None:
        return np.full(size, math.nan)
    column = _column("age", as_durations("age", values), size)
    if (column > MAX_TIME).any():
        raise ArgumentError(f"age: {np.nanmax(column)} is not a number of days")
    return np.maximum(column, 0.0)


def _is(values: object, kind: type) -> bool:
    """Whether a value is a plain one, for which the full checks would take longest of all."""
    return type(values) is kind


def pauses(values: ArrayLike, size: int) -> Floats:
    """Return pauses in days: finite and not negative."""
    if _is(values, float) and values == 0.0:
        return np.zeros(size)
    column = _column("pause", as_durations("pause", values), size)
    wrong = column[~((column >= 0.0) & (column < math.inf))]
    if wrong.size:
        raise ArgumentError(f"pause: {wrong[0]} cannot be used; it must be 0 or more days")
    return column


def flags(name: str, values: ArrayLike, size: int) -> Bools:
    """Return bools; 0 and 1 count as such."""
    if _is(values, bool):
        return np.full(size, values)
    if type(values) is np.ndarray and values.dtype == np.bool_ and values.shape == (size,):
        return values.copy()
    column = _column(name, as_numbers(name, values), size)
    if not ((column == 0.0) | (column == 1.0)).all():
        raise ArgumentError(f"{name}: expected true or false, one per page")
    return column.astype(np.bool_)


@dataclass(frozen=True, eq=False)
class NewPages:
    """Pages to be added; one element per page."""

    page: Ints
    importance: Floats
    host: Ints
    section: Ints
    last_visit: Floats
    min_interval: Floats
    max_interval: Floats
    payment: Floats

    @classmethod
    def of(
        cls,
        page: Ints,
        importance: ArrayLike,
        host: ArrayLike,
        section: ArrayLike | None,
        last_visit: ArrayLike | None,
        intervals: tuple[ArrayLike, ArrayLike],
        payment: Floats,
        now: float,
    ) -> Self:
        """Check the columns of new pages."""
        size = page.size
        hosts = _broadcast("host", numbers_from_0("host", host), size)
        sections = (
            hosts
            if section is None
            else _broadcast("section", numbers_from_0("section", section), size)
        )
        if last_visit is None:
            visits = np.full(size, -math.inf)
        else:
            visits = _column("last_visit", as_times("last_visit", last_visit), size)
            if not ((visits == -math.inf) | (np.abs(visits) <= MAX_TIME) | (visits > now)).all():
                raise ArgumentError("last_visit: expected times, or -inf for none")
            if size and visits.max() > now:
                raise ArgumentError(f"last_visit: {visits.max()} is after now, {now}")
        return cls(
            page,
            importances(importance, size),
            hosts,
            sections,
            visits,
            *checked_intervals(intervals, size),
            payment,
        )


def checked_intervals(intervals: tuple[ArrayLike, ArrayLike], size: int) -> tuple[Floats, Floats]:
    """Return the limits on days between two visits; the maximum may be infinite."""
    low, high = (
        _column(name, as_durations(name, values), size)
        for name, values in zip(("min_interval", "max_interval"), intervals, strict=True)
    )
    if not ((low >= 0.0) & (low < math.inf)).all():
        raise ArgumentError("min_interval: expected days, 0 or more")
    if not ((high > 0.0) & (high >= low)).all():
        raise ArgumentError("max_interval: expected days, above 0 and no less than min_interval")
    return low, high


def _broadcast(name: str, numbers: Ints, size: int) -> Ints:
    try:
        return np.array(np.broadcast_to(numbers, size))
    except ValueError as error:
        raise ArgumentError(f"{name}: expected one number, or {size}, one per page") from error

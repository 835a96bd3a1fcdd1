"""What is given, checked: errors name the argument and the page or value that cannot be used."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from recrawl.allocation.pages import HARMONIC, PERIODIC, POISSON
from recrawl.errors import ArgumentError
from recrawl.kernels.jit import Floats, Ints, extremes, read_only

#: Beyond these, products of two numbers would not be floats any more.
SMALLEST, LARGEST = 1e-120, 1e120


def kind_of(visits: str, objective: str) -> int:
    """Give the kind of pages that go with these names."""
    if visits not in ("poisson", "periodic"):
        raise ArgumentError(f"visits: '{visits}' is neither poisson nor periodic")
    if objective not in ("freshness", "harmonic"):
        raise ArgumentError(f"objective: '{objective}' is neither freshness nor harmonic")
    if objective == "freshness":
        return POISSON if visits == "poisson" else PERIODIC
    if visits != "poisson":
        raise ArgumentError("objective: harmonic goes with visits at random times, poisson")
    return HARMONIC


def as_rates(name: str, values: ArrayLike) -> Floats:
    """Give a column of finite numbers, none negative."""
    column = _numbers(name, values)
    if column.ndim != 1:
        raise ArgumentError(f"{name}: has shape {column.shape}; expected one number a page")
    return _checked(name, column)


def as_column(
    name: str, values: ArrayLike, pages: int, *, infinite: bool = False, positive: bool = False
) -> Floats:
    """Give a column of one number a page, or of a single one that stands for all."""
    column = _numbers(name, values)
    if column.ndim == 0:
        column = column.reshape(1)
    elif column.shape != (pages,):
        raise ArgumentError(
            f"{name}: has shape {column.shape}; expected {pages} numbers, one a page"
        )
    return _checked(name, column, infinite=infinite, positive=positive)


def as_number(name: str, value: float) -> float:
    """Give a finite number that is not negative."""
    try:
        number = float(value)
    except (TypeError, ValueError) as error:
        raise ArgumentError(f"{name}: {value!r} is not a number") from error
    if number != 0.0 and not SMALLEST <= number <= LARGEST:
        raise ArgumentError(
            f"{name}: {number} cannot be used; it must be 0, or {SMALLEST:g} to {LARGEST:g}"
        )
    return number


def as_hosts(
    host: ArrayLike | None, host_budget: ArrayLike | None, pages: int
) -> tuple[Ints, Floats] | None:
    """Give each page's host, and each host's budget; None if hosts have none."""
    if host is None and host_budget is None:
        return None
    if host is None or host_budget is None:
        missing = "host" if host is None else "host_budget"
        raise ArgumentError(f"{missing}: host and host_budget go together; this one is missing")
    raw = np.asarray(host)
    if raw.shape != (pages,) or (raw.dtype.kind not in "iu" and pages):
        raise ArgumentError(f"host: expected {pages} whole numbers from 0, one a page")
    numbers = read_only(np.ascontiguousarray(raw, np.int64))
    if pages and numbers.min() < 0:
        page = int(np.argmax(numbers < 0))
        raise ArgumentError(f"host: page {page} has host {numbers[page]}; hosts count from 0")
    hosts = int(numbers.max(initial=-1)) + 1
    budget = _numbers("host_budget", host_budget)
    if budget.ndim == 0:
        budget = np.full(hosts, budget)
    elif budget.ndim != 1 or budget.size < hosts:
        page = int(np.argmax(numbers >= budget.size)) if budget.ndim == 1 else 0
        raise ArgumentError(
            f"host_budget: has shape {budget.shape}; host {numbers[page]} of page {page} has none"
        )
    return numbers, _checked("host_budget", budget, infinite=True, item="host")


def _numbers(name: str, values: ArrayLike) -> NDArray[np.float64]:
    try:
        return (
            np.ascontiguousarray(values, np.float64)
            if np.ndim(values)
            else np.asarray(values, np.float64)
        )
    except (TypeError, ValueError) as error:
        raise ArgumentError(f"{name}: not numbers") from error


def _checked(
    name: str,
    column: Floats,
    *,
    infinite: bool = False,
    positive: bool = False,
    item: str = "page",
) -> Floats:
    """Give the column back, or say which page's number cannot be used."""
    low, high = extremes(column)
    lowest = SMALLEST if positive else 0.0
    highest = np.inf if infinite else LARGEST
    fine_low = low >= SMALLEST or (not positive and low >= 0.0 and not _any_tiny(column))
    if column.size and not (fine_low and high <= highest):
        fine = ((column >= SMALLEST) | (column == lowest)) & (column <= highest)
        bad = int(np.argmin(fine))
        where = f"{item} {bad} has " if column.size > 1 else ""
        zero = "" if positive else "0, or "
        raise ArgumentError(
            f"{name}: {where}{column[bad]}; numbers must be {zero}{SMALLEST:g} to {highest:g}"
        )
    return column


def _any_tiny(column: Floats) -> bool:
    return bool(((column > 0.0) & (column < SMALLEST)).any())

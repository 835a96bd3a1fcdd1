"""Check arguments; errors name the argument, and the invalid page or value."""

import numpy as np
from numpy.typing import ArrayLike

from recrawl.allocation.formulas import HARMONIC, PERIODIC, POISSON
from recrawl.errors import ArgumentError
from recrawl.kernels.jit import Floats, Ints, extremes, read_only
from recrawl.quantities import as_array, rate, rates
from recrawl.quantities import numbers as as_numbers

#: Beyond these limits, products of two numbers could overflow or underflow.
SMALLEST, LARGEST = 1e-120, 1e120


def kind_of(visits: str, objective: str) -> int:
    """Return POISSON, PERIODIC or HARMONIC."""
    if visits not in ("poisson", "periodic"):
        raise ArgumentError(f"visits: '{visits}' is neither poisson nor periodic")
    if objective not in ("freshness", "harmonic"):
        raise ArgumentError(f"objective: '{objective}' is neither freshness nor harmonic")
    if objective == "freshness":
        return POISSON if visits == "poisson" else PERIODIC
    if visits != "poisson":
        raise ArgumentError("objective: harmonic needs visits at random times, poisson")
    return HARMONIC


def as_rates(name: str, values: ArrayLike) -> Floats:
    """Return a column of finite, non-negative rates per day."""
    column = rates(name, values)
    if column.ndim != 1:
        raise ArgumentError(f"{name}: has shape {column.shape}; expected one number per page")
    return _checked(name, column)


def as_column(
    name: str, values: ArrayLike, pages: int, *, infinite: bool = False, positive: bool = False
) -> Floats:
    """Return a column of one number per page, or of a single one that applies to all."""
    read = rates if name.endswith("_rate") else as_numbers
    column = read(name, values)
    if column.ndim == 0:
        column = column.reshape(1)
    elif column.shape != (pages,):
        raise ArgumentError(
            f"{name}: has shape {column.shape}; expected {pages} numbers, one per page"
        )
    return _checked(name, column, infinite=infinite, positive=positive)


def as_budget(name: str, value: float) -> float:
    """Return a finite, non-negative rate per day."""
    number = rate(name, value)
    if number != 0.0 and not SMALLEST <= number <= LARGEST:
        raise ArgumentError(
            f"{name}: {number} cannot be used; it must be 0, or {SMALLEST:g} to {LARGEST:g}"
        )
    return number


def as_hosts(
    host: ArrayLike | None, host_budget: ArrayLike | None, pages: int
) -> tuple[Ints, Floats] | None:
    """Return each page's host and each host's budget, or None if neither is given."""
    if host is None and host_budget is None:
        return None
    if host is None or host_budget is None:
        missing = "host" if host is None else "host_budget"
        raise ArgumentError(f"{missing}: host and host_budget go together; this one is missing")
    raw = as_array("host", host)
    if raw.shape != (pages,) or (raw.dtype.kind not in "iu" and pages):
        raise ArgumentError(f"host: expected {pages} whole numbers from 0, one per page")
    numbers = read_only(np.ascontiguousarray(raw, np.int64))
    if pages and numbers.min() < 0:
        page = int(np.argmax(numbers < 0))
        raise ArgumentError(
            f"host: page {page} has host {numbers[page]}; hosts are numbered from 0"
        )
    hosts = int(numbers.max(initial=-1)) + 1
    budget = rates("host_budget", host_budget)
    if budget.ndim == 0:
        budget = np.full(hosts, budget)
    elif budget.ndim != 1 or budget.size < hosts:
        page = int(np.argmax(numbers >= budget.size)) if budget.ndim == 1 else 0
        raise ArgumentError(
            f"host_budget: has shape {budget.shape}; host {numbers[page]} of page {page} has none"
        )
    return numbers, _checked("host_budget", budget, infinite=True, item="host")


def _checked(
    name: str, column: Floats, *, infinite: bool = False, positive: bool = False, item: str = "page"
) -> Floats:
    """Return the column, or raise an error that names the first number that cannot be used."""
    low, high = extremes(column)
    lowest = SMALLEST if positive else 0.0
    highest = np.inf if infinite else LARGEST
    tiny = not low >= SMALLEST and ((column > 0.0) & (column < SMALLEST)).any()
    if column.size and not (low >= lowest and high <= highest and not tiny):
        fine = ((column >= SMALLEST) | (column == lowest)) & (column <= highest)
        bad = int(np.argmin(fine))
        where = f"{item} {bad} has " if column.size > 1 else ""
        zero = "" if positive else "0, or "
        raise ArgumentError(
            f"{name}: {where}{column[bad]}; numbers must be {zero}{SMALLEST:g} to {highest:g}"
        )
    return read_only(column)

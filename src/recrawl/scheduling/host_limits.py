"""Decide when a host may be visited: its delay between visits, its budget, and Retry-After."""

from recrawl.kernels.jit import small_bare_step
from recrawl.scheduling.state import Rows


@small_bare_step
def is_open(hosts: Rows, host: int, now: float, gap: float) -> bool:
    """Whether a host may be visited now; it may use the budget of the last ``gap`` days at once."""
    if hosts["open_at"][host] > now:
        return False
    spacing = hosts["spacing"][host]
    used = max(hosts["paid_until"][host], now - gap - spacing)
    return bool(spacing == 0.0 or used + spacing <= now + 1e-9 * spacing)


@small_bare_step
def opens_at(hosts: Rows, host: int) -> float:
    """Return when a host may be visited again."""
    return float(max(hosts["open_at"][host], hosts["paid_until"][host] + hosts["spacing"][host]))


@small_bare_step
def count_visit(hosts: Rows, host: int, now: float, gap: float) -> None:
    """Start a host's delay after a visit, and charge the visit to its budget."""
    if hosts["delay"][host] > 0.0:
        hosts["open_at"][host] = now + hosts["delay"][host]
    spacing = hosts["spacing"][host]
    if spacing > 0.0:
        hosts["paid_until"][host] = max(hosts["paid_until"][host], now - gap - spacing) + spacing

"""Visits at random times: F = p / (p + Δ) (Azar et al. 2018)."""

import math

from recrawl.kernels.jit import inlined


@inlined
def poisson_response(importance: float, change_rate: float, price: float) -> tuple[float, float]:
    """Give the crawl rate worth buying at a price, and by how much it falls as ln price rises.

    p = √(wΔ/price) − Δ, or 0 where w/Δ ≤ price.
    """
    product = importance * change_rate
    root = math.sqrt(product / price)
    bought = (product > 0.0) & (root > change_rate)
    return (root - change_rate if bought else 0.0), (0.5 * root if bought else 0.0)


@inlined
def poisson_freshness(crawl_rate: float, change_rate: float) -> float:
    """Give p / (p + Δ); a page that never changes is always fresh."""
    return crawl_rate / (crawl_rate + change_rate) if change_rate > 0.0 else 1.0


@inlined
def poisson_marginal(crawl_rate: float, change_rate: float) -> float:
    """Give dF/dp = Δ / (p + Δ)²."""
    both = crawl_rate + change_rate
    return change_rate / both / both if change_rate > 0.0 else 0.0

"""The harmonic objective: minimise −Σ w ln(p/(p + Δ)) (Kolobov et al. 2019); it starves no page."""

import math

from recrawl.kernels.jit import inlined


@inlined
def harmonic_response(importance: float, change_rate: float, price: float) -> tuple[float, float]:
    """Give the crawl rate worth buying at a price, and by how much it falls as ln price rises.

    p² + pΔ = wΔ/price, solved for p without cancellation.
    """
    per_price = importance / price
    bought = (importance > 0.0) & (change_rate > 0.0)
    rate = 2.0 * per_price / (1.0 + math.sqrt(1.0 + 4.0 * per_price / change_rate))
    rate = rate if price > 0.0 else math.inf
    fall = rate * (rate + change_rate) / (2.0 * rate + change_rate)
    return (rate if bought else 0.0), (fall if bought else 0.0)


@inlined
def harmonic_marginal(crawl_rate: float, change_rate: float) -> float:
    """Give d ln(p / (p + Δ)) / dp = Δ / (p (p + Δ))."""
    if change_rate == 0.0:
        return 0.0
    return change_rate / (crawl_rate + change_rate) / crawl_rate

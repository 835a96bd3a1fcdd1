"""Synthetic pages to compare policies on."""

import math
from collections.abc import Sequence

import numpy as np

from recrawl.simulation.world import World

PAGES_PER_SECTION, PAGES_PER_HOST = 10, 100
#: With this exponent, a fifth of very many pages has four fifths of the importance; of 1,000 pages,
#: some 72 %.
PARETO = 1.16

#: Precision and recall of mixed hosts, in turn; the last has no signals.
MIXED = ((0.2, 0.5), (0.8, 0.8), (0.5, 0.9), (1.0, 0.95), (0.9, 0.0))


def add_signals(world: World, quality: Sequence[tuple[float, float]], seed: int) -> World:
    """Return a world with signals, given precision and recall of its hosts, in turn."""
    precision, recall = np.array(quality)[world.host % len(quality)].T
    return world.with_signals(precision, recall, seed=seed)


def synthetic_world(
    model: str,
    pages: int,
    days: float,
    median: float,
    spread: float,
    importance: str,
    seed: int,
) -> World:
    """Draw a world with log-normal change rates.

    Half of the variance of the rates' logarithms is between sections and half within them, because
    pages of a section are alike. That they change at the same times is not modelled.

    Args:
        model: ``"poisson"``, ``"bursty"`` or ``"drifting"``.
        pages: Number of pages.
        days: Length of the window.
        median: The median change rate.
        spread: e to the standard deviation of the rates' logarithms.
        importance: ``"pareto"`` or ``"equal"``.
        seed: The same seed gives the same world.

    >>> world = synthetic_world("poisson", 1000, 30.0, 2.0, 5.0, "pareto", 0)
    >>> importance = np.sort(world.importance)
    >>> float((importance[-200:].sum() / importance.sum()).round(2))
    0.72
    """
    rng = np.random.default_rng((seed, pages))
    page = np.arange(pages)
    section = page // PAGES_PER_SECTION
    shared = rng.standard_normal(section[-1] + 1)[section]
    deviation = math.sqrt(0.5) * (shared + rng.standard_normal(pages))
    # Quantiles in random order: with random draws, the largest importance would vary a lot.
    order = rng.permutation(pages)
    pareto = ((order + 0.5) / pages) ** (-1.0 / PARETO)
    draw = {"poisson": World.poisson, "bursty": World.bursty, "drifting": World.drifting}[model]
    return draw(
        median * spread**deviation,
        days=days,
        importance=pareto if importance == "pareto" else np.ones(pages),
        host=page // PAGES_PER_HOST,
        section=section,
        seed=int(rng.integers(2**32)),
    )

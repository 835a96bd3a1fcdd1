"""Pages to compare policies on where none are recorded."""

import math

import numpy as np

from recrawl.simulation.world import World
from recrawl.units import format_rate

#: Pages that stand in one section, and on one host.
IN_SECTION, ON_HOST = 10, 100
#: With this exponent a fifth has four fifths among very many, and some 72 % among 1,000 pages.
PARETO = 1.16


def make_world(
    model: str,
    pages: int,
    days: float,
    median: float,
    spread: float,
    importance: str,
    seed: int,
) -> World:
    """Draw a world whose change rates are log-normal.

    Half of the variance of the rates' logarithms lies between sections and half within them, for
    pages that stand together are alike. That they change at the same moments is not modelled.

    Args:
        model: ``"poisson"``, ``"bursty"`` or ``"drifting"``.
        pages: How many.
        days: How long the window is.
        median: The median change rate.
        spread: e to the standard deviation of the rates' logarithms.
        importance: ``"pareto"`` or ``"equal"``.
        seed: The same seed gives the same world.

    >>> world = make_world("poisson", 1000, 30.0, 2.0, 5.0, "pareto", 0)
    >>> importance = np.sort(world.importance)
    >>> float((importance[-200:].sum() / importance.sum()).round(2))
    0.72
    """
    rng = np.random.default_rng((seed, pages))
    page = np.arange(pages)
    section = page // IN_SECTION
    together = rng.standard_normal(section[-1] + 1)[section]
    away = math.sqrt(0.5) * (together + rng.standard_normal(pages))
    # Quantiles in random order: drawn ones would make another page count most of all every time.
    order = rng.permutation(pages)
    pareto = ((order + 0.5) / pages) ** (-1.0 / PARETO)
    draw = {"poisson": World.poisson, "bursty": World.bursty, "drifting": World.drifting}[model]
    return draw(
        median * spread**away,
        days=days,
        importance=pareto if importance == "pareto" else np.ones(pages),
        host=page // ON_HOST,
        section=section,
        seed=int(rng.integers(2**32)),
    )


def in_words(model: str, median: float, spread: float, importance: str, seed: int) -> str:
    """Say how such a world is made."""
    return (
        f"Made up: {model}; change rates log-normal around {format_rate(median)}, "
        f"spread {spread:g}; importance {importance}; seed {seed}"
    )

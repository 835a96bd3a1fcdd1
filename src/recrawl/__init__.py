"""Keeps a copy of the web fresh on a budget.

The public names; each is loaded when it is first used, so that importing recrawl costs nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from recrawl.allocation import (
        Allocation,
        allocate,
        budget_for,
        check_allocator,
        freshness,
        freshness_curve,
        proportional,
        uniform,
    )
    from recrawl.estimation import (
        LLN,
        MLE,
        SA,
        SAM,
        Belief,
        BiasReduced,
        Estimates,
        Estimator,
        GammaFilter,
        LastModified,
        MomentMatching,
        Naive,
        Observations,
        Prior,
        Tracker,
        check_estimator,
        estimate,
        fit_host_priors,
        fit_prior,
        load_state,
        save_state,
    )

_HOMES = {
    "recrawl.allocation": (
        "Allocation",
        "allocate",
        "budget_for",
        "check_allocator",
        "freshness",
        "freshness_curve",
        "proportional",
        "uniform",
    ),
    "recrawl.estimation": (
        "LLN",
        "MLE",
        "SA",
        "SAM",
        "Belief",
        "BiasReduced",
        "Estimates",
        "Estimator",
        "GammaFilter",
        "LastModified",
        "MomentMatching",
        "Naive",
        "Observations",
        "Prior",
        "Tracker",
        "check_estimator",
        "estimate",
        "fit_host_priors",
        "fit_prior",
        "load_state",
        "save_state",
    ),
}

__all__ = [
    "LLN",
    "MLE",
    "SA",
    "SAM",
    "Allocation",
    "Belief",
    "BiasReduced",
    "Estimates",
    "Estimator",
    "GammaFilter",
    "LastModified",
    "MomentMatching",
    "Naive",
    "Observations",
    "Prior",
    "Tracker",
    "allocate",
    "budget_for",
    "check_allocator",
    "check_estimator",
    "estimate",
    "fit_host_priors",
    "fit_prior",
    "freshness",
    "freshness_curve",
    "load_state",
    "proportional",
    "save_state",
    "uniform",
]


def __getattr__(name: str) -> Any:  # noqa: ANN401
    for home, names in _HOMES.items():
        if name in names:
            return getattr(import_module(home), name)
    raise AttributeError(f"module 'recrawl' has no attribute '{name}'")


def __dir__() -> list[str]:
    return __all__

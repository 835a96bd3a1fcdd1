"""The methods, priors and spacings that plans can use, by name."""

from collections.abc import Collection
from typing import Literal

from recrawl.errors import ArgumentError

Spacing = Literal["periodic", "poisson"]

#: Estimation methods, and their classes in `recrawl.estimation`.
METHODS = {
    "naive": "Naive",
    "lln": "LLN",
    "sa": "SA",
    "sam": "SAM",
    "mle": "MLE",
    "mm": "MomentMatching",
    "bias-reduced": "BiasReduced",
    "last-modified": "LastModified",
    "gamma": "GammaFilter",
}
WITH_PRIOR = ("gamma", "last-modified")
PRIORS = ("alone", "fleet", "host")
SPACINGS = ("periodic", "poisson")


def check_choice(name: str, value: str, choices: Collection[str]) -> None:
    """Raise an `ArgumentError` that names the argument unless its value is one of the choices."""
    if value not in choices:
        raise ArgumentError(f"{name}: '{value}' is none of {', '.join(choices)}")


def check_method(method: str, prior: str) -> None:
    """Raise an `ArgumentError` for an unknown method, or a prior that the method does not have."""
    check_choice("method", method, METHODS)
    check_choice("prior", prior, PRIORS)
    if prior != "alone" and method not in WITH_PRIOR:
        raise ArgumentError(
            f"prior: the method {method} has no prior; only {' and '.join(WITH_PRIOR)} do"
        )


def default_prior(method: str) -> str:
    """Return the default prior of a method: learned from all pages, if it has one.

    >>> default_prior("gamma"), default_prior("mle")
    ('fleet', 'alone')
    """
    return "fleet" if method in WITH_PRIOR else "alone"

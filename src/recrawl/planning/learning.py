"""From the visits in a crawl log to what an estimator learns of them."""

from dataclasses import dataclass
from typing import Any

from recrawl import estimation
from recrawl.errors import CrawlLogError
from recrawl.estimation import Observations, Prior, fit_host_priors, fit_prior
from recrawl.formats.source import source_name
from recrawl.kernels.jit import Floats
from recrawl.planning.hosts import host_numbers
from recrawl.planning.methods import METHODS, WITH_PRIOR
from recrawl.records import Visits


@dataclass(frozen=True, eq=False)
class Learned:
    """An estimator, and its state after all visits."""

    estimator: Any
    state: Any

    @property
    def rate(self) -> Floats:
        """Each page's change rate."""
        rate: Floats = self.estimator.rate(self.state)
        return rate

    def interval(self, level: float) -> tuple[Floats, Floats]:
        """Give the ends of each page's interval."""
        low, high = self.estimator.interval(self.state, level)
        return low, high


def learn(log: str, visits: Visits, method: str, prior: str) -> Learned:
    """Fold all that a log teaches into a method's state.

    Raises:
        CrawlLogError: The log teaches nothing, or lacks what the method needs.
    """
    if method == "last-modified" and visits.last_modified is None:
        raise CrawlLogError(
            source_name(log), f"the method {method} needs the column 'last_modified'"
        )
    observations = estimation.observe(visits)
    if not observations.rows:
        raise CrawlLogError(source_name(log), "no page was seen twice, so nothing can be learned")
    settings = {"prior": _prior(prior, visits, observations)} if method in WITH_PRIOR else {}
    estimator: Any = getattr(estimation, METHODS[method])(**settings)
    state = estimator.update(estimator.start(len(visits.names)), observations)
    return Learned(estimator, state)


def _prior(name: str, visits: Visits, observations: Observations) -> Prior | None:
    if name == "fleet":
        return fit_prior(observations)
    if name == "host":
        return fit_host_priors(observations, host_numbers(visits.names))
    return None

"""From a crawl log to what is believed of its pages: how often each changes, and what it counts."""

import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from recrawl import estimation
from recrawl.errors import ArgumentError, CrawlLogError, InputError
from recrawl.estimation import Observations, Prior, fit_host_priors, fit_prior
from recrawl.formats.crawl_log import read_log
from recrawl.formats.importance import read_importance
from recrawl.formats.source import source_name
from recrawl.hosts import number_hosts
from recrawl.kernels.jit import Floats, Ints
from recrawl.planning.methods import METHODS, WITH_PRIOR, check_method, default_prior
from recrawl.records import CrawlLog

#: A crawl log that was read, or the file it is in; "-" is standard input.
LogSource = CrawlLog | str | os.PathLike[str]
#: Importance per page in the order of `CrawlLog.names`, or a file with it.
ImportanceSource = str | os.PathLike[str] | ArrayLike
#: Shows a stage of the work by name, and is called with what is done and what there is to do.
Progress = Callable[[str], AbstractContextManager[Callable[[int, int | None], object]]]


@contextmanager
def no_progress(_stage: str) -> Iterator[Callable[[int, int | None], object]]:
    """Show nothing."""
    yield lambda _done, _total: None


@dataclass(frozen=True, eq=False)
class Beliefs:
    """What a crawl log teaches about its pages.

    Attributes:
        log: The crawl log.
        estimator: The estimation method.
        state: Its state after all visits.
    """

    log: CrawlLog
    estimator: Any
    state: Any

    @cached_property
    def change_rate(self) -> Floats:
        """Estimated changes per day, one element per page."""
        rate: Floats = self.estimator.rate(self.state)
        return rate

    def interval(self, level: float = 0.95) -> tuple[Floats, Floats]:
        """Return the lower and upper ends of the change rates' intervals."""
        low, high = self.estimator.interval(self.state, level)
        return low, high

    @property
    def observations(self) -> Ints:
        """The number of visits that taught something, one element per page."""
        visits: Ints = self.state.visits
        return visits

    @property
    def unknown(self) -> int:
        """The number of pages about which nothing was learned."""
        return int((self.observations == 0).sum())


def learn(
    log: LogSource,
    *,
    method: str = "gamma",
    prior: str = "alone",
    ignore_unknown: bool = False,
    progress: Progress = no_progress,
) -> Beliefs:
    """Estimate the change rates of the pages in a crawl log; arguments as for `recrawl.plan`.

    Raises:
        ArgumentError: There is no such method, or it has no such prior.
        CrawlLogError: The log is invalid, teaches nothing, or lacks what the method needs.
    """
    check_method(method, prior)
    if not isinstance(log, CrawlLog):
        with progress("Reading") as advance:
            log = read_log(log, ignore_unknown=ignore_unknown, progress=advance)
    with progress("Estimating"):
        return _estimate(log, method, prior)


def learn_weighted(
    log: LogSource,
    importance: ImportanceSource | None,
    *,
    method: str,
    prior: str | None,
    ignore_unknown: bool,
    progress: Progress,
) -> tuple[Beliefs, Floats]:
    """Return the beliefs about the pages in a log, and the importance of each page."""
    prior = default_prior(method) if prior is None else prior
    check_method(method, prior)
    with progress("Reading") as advance:
        if not isinstance(log, CrawlLog):
            log = read_log(log, ignore_unknown=ignore_unknown, progress=advance)
        weights = _importance(log, importance, ignore_unknown=ignore_unknown)
    return learn(log, method=method, prior=prior, progress=progress), weights


def _estimate(log: CrawlLog, method: str, prior: str) -> Beliefs:
    if method == "last-modified" and log.last_modified is None:
        raise CrawlLogError(log.source, f"the method {method} needs the column 'last_modified'")
    observations = estimation.observe(log)
    if not observations.rows:
        raise CrawlLogError(log.source, "no page was seen twice, so nothing can be learned")
    settings = {"prior": _prior(prior, log, observations)} if method in WITH_PRIOR else {}
    estimator: Any = getattr(estimation, METHODS[method])(**settings)
    return Beliefs(log, estimator, estimator.update(estimator.start(log.pages), observations))


def _prior(name: str, log: CrawlLog, observations: Observations) -> Prior | None:
    if name == "fleet":
        return fit_prior(observations)
    if name == "host":
        return fit_host_priors(observations, number_hosts(log.names)[0])
    return None


def _importance(log: CrawlLog, given: ImportanceSource | None, *, ignore_unknown: bool) -> Floats:
    """Return the importance of each page: as given, else as in the log; 1 where neither has it."""
    source = log.source
    if given is None:
        found = _latest_importance(log)
    elif isinstance(given, str | os.PathLike):
        source = source_name(given)
        found = read_importance(given, log.names, ignore_unknown=ignore_unknown)
    else:
        found = np.asarray(given, np.float64)
        if found.shape != (log.pages,):
            raise ArgumentError(
                f"importance: has shape {found.shape}; the log has {log.pages} pages"
            )
    importance = np.where(np.isnan(found), 1.0, found)
    if not importance.any():
        raise InputError(source, "no page has an importance above 0", column="importance")
    return importance


def _latest_importance(log: CrawlLog) -> Floats:
    """Return the importance in the last row of each page that has one, else NaN."""
    importance = np.full(log.pages, np.nan)
    if log.importance is not None:
        # Rows are in order of time, and the last assignment to an element is the one that stays.
        given = np.flatnonzero(~np.isnan(log.importance))
        importance[log.page[given]] = log.importance[given]
    return importance

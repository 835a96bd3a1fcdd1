"""Estimate the change rates of the pages in a crawl log, and read their importance."""

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from recrawl.errors import ArgumentError, CrawlLogError, InputError
from recrawl.estimation import Observations, Prior
from recrawl.formats.crawl_log import Visits
from recrawl.formats.importance import read_importance
from recrawl.formats.naming import Naming
from recrawl.formats.source import source_name
from recrawl.hosts import number_hosts
from recrawl.kernels.jit import Floats, Ints
from recrawl.planning.memory import Memory
from recrawl.planning.methods import check_method, default_prior
from recrawl.planning.out_of_core import believe_spilled, spill_rest
from recrawl.planning.parts import (
    NOTHING_LEARNED,
    PageFacts,
    estimator_of,
    nothing_learned,
    observed,
    page_facts,
)
from recrawl.planning.sampling import fleet_prior, host_priors, name_hashes, sample_pages
from recrawl.records import CrawlLog, LogFacts
from recrawl.tabular import spread

#: A crawl log that was read, or the files it is in; "-" is standard input.
LogSource = CrawlLog | str | os.PathLike[str] | Iterable[str | os.PathLike[str]]
#: Importance per page in the order of the pages, or a file with it.
ImportanceSource = str | os.PathLike[str] | ArrayLike
#: Shows a stage of the work by name; yields a function to call with the amount done and the total.
Progress = Callable[[str], AbstractContextManager[Callable[[int, int | None], object]]]


@contextmanager
def no_progress(_stage: str) -> Iterator[Callable[[int, int | None], object]]:
    """Show nothing."""
    yield lambda _done, _total: None


@dataclass(frozen=True)
class Reading:
    """How a log is read.

    Attributes:
        columns: The log's names of columns, by our names.
        ignore_unknown: Whether unknown columns are skipped instead of rejected.
        memory: How many bytes of memory visits may take; by default half of what is free.
        progress: Shows progress.
    """

    columns: Mapping[str, str] = field(default_factory=dict)
    ignore_unknown: bool = False
    memory: float | str | None = None
    progress: Progress = no_progress


@dataclass(frozen=True, eq=False, repr=False)
class Beliefs:
    """The estimates from a crawl log; columns have one element per page.

    Attributes:
        facts: A summary of the log.
        names: The names of the pages, an Arrow array.
        change_rate: Estimated changes per day.
        observations: The number of visits that could be compared.
        pages: What the log says about its pages.
        interval: Returns the lower and upper ends of the change rates' intervals at a level.
    """

    facts: LogFacts
    names: Any
    change_rate: Floats
    observations: Ints
    pages: PageFacts
    interval: Callable[[float], tuple[Floats, Floats]]

    @property
    def unknown(self) -> int:
        """The number of pages without observations."""
        return int((self.observations == 0).sum())

    def __repr__(self) -> str:
        spreads = spread(self.change_rate)
        return f"Beliefs({self.facts.pages:,} pages, changes per day: {spreads})"


class Options(NamedTuple):
    """How to estimate: the method, the prior, and the level of intervals."""

    method: str
    prior: str
    level: float | None


def learn(
    log: LogSource,
    *,
    method: str = "gamma",
    prior: str = "alone",
    level: float | None = 0.95,
    reading: Reading | None = None,
) -> Beliefs:
    """Estimate the change rates of the pages in a crawl log; arguments as for `recrawl.plan`.

    ``level`` is that of the intervals that will be needed; None if none will.

    Raises:
        ArgumentError: There is no such method, or it has no such prior.
        CrawlLogError: The log is invalid, has no observations, or lacks what the method needs.
        OutputError: The log is larger than memory, and the disk too small for it.
    """
    check_method(method, prior)
    reading = reading or Reading()
    options = Options(method, prior, level)
    if not isinstance(log, CrawlLog):
        memory = Memory.of(reading.memory)
        visits = Visits.open(log, Naming(reading.columns, reading.ignore_unknown))
        with ExitStack() as files:
            with reading.progress("Reading rows") as advance:
                spill = spill_rest(visits, memory, files, advance, by_host=prior == "host")
            if spill is not None:
                found = believe_spilled(visits, spill, files, options, reading.progress)
                return Beliefs(**found)
        log = visits.log()
        del visits
    with reading.progress("Estimating"):
        return _estimate(log, options)


def learn_weighted(
    log: LogSource,
    importance: ImportanceSource | None,
    *,
    method: str,
    prior: str | None,
    level: float | None,
    reading: Reading,
) -> tuple[Beliefs, Floats]:
    """Return the beliefs about the pages in a log, and the importance of each page."""
    prior = default_prior(method) if prior is None else prior
    beliefs = learn(log, method=method, prior=prior, level=level, reading=reading)
    return beliefs, _importance(beliefs, importance, ignore_unknown=reading.ignore_unknown)


def _estimate(log: CrawlLog, options: Options) -> Beliefs:
    facts = log.facts
    if facts.first == facts.last:
        raise CrawlLogError(log.source, NOTHING_LEARNED)
    # Done first, as it needs memory that observations need later.
    pages = page_facts(log)
    observations = observed(log, options.method)
    if not observations.rows:
        raise CrawlLogError(log.source, nothing_learned(facts.visits, facts.pages))
    estimator = estimator_of(options.method, _prior(options.prior, log, observations))
    state = estimator.update(estimator.start(log.pages), observations)
    return Beliefs(
        facts,
        log.names,
        estimator.rate(state),
        state.visits,
        pages,
        lambda level: estimator.interval(state, level),
    )


def _prior(name: str, log: CrawlLog, observations: Observations) -> Prior | None:
    if name == "alone":
        return None
    hashes = name_hashes(log.names)
    fleet = fleet_prior(sample_pages(observations, hashes))
    if name == "fleet":
        return fleet
    return host_priors(observations, hashes, number_hosts(log.names)[0], fleet)


def _importance(
    beliefs: Beliefs, given: ImportanceSource | None, *, ignore_unknown: bool
) -> Floats:
    """Return the importance of each page: as given, else as in the log, else 1."""
    source, pages = beliefs.facts.source, beliefs.facts.pages
    if given is None:
        found = beliefs.pages.importance
    elif isinstance(given, str | os.PathLike):
        source = source_name(given)
        found = read_importance(given, beliefs.names, ignore_unknown=ignore_unknown)
    else:
        found = np.asarray(given, np.float64)
        if found.shape != (pages,):
            raise ArgumentError(f"importance: has shape {found.shape}; the log has {pages} pages")
    if found is None:
        return np.ones(pages)
    importance = np.where(np.isnan(found), 1.0, found)
    if not importance.any():
        raise InputError(source, "no page has an importance above 0", column="importance")
    return importance

"""Sample the pages that priors are learned from, independently of the order of rows.

The pages with the lowest hashes of their names are a random sample. Each part of a log can be
sampled separately: the lowest of all pages are among the lowest of each part.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from recrawl.estimation import Observations, Prior, fit_host_priors
from recrawl.estimation.fleet import MAX_PAGES, fit_sample
from recrawl.hosts import number_hosts
from recrawl.kernels.grouping import group_rows
from recrawl.kernels.hashing import Hashes, hash_column
from recrawl.kernels.jit import Bools, Floats, Ints


class Sample(NamedTuple):
    """The observations of some pages, page by page in order of hash.

    Attributes:
        hashes: The hash of each page's name, ascending.
        rows: How many observations each page has.
        elapsed: The gap of each observation, in days.
        changed: Whether it found a change.
    """

    hashes: Hashes
    rows: Ints
    elapsed: Floats
    changed: Bools


def name_hashes(names: Any) -> Hashes:  # noqa: ANN401 - pyarrow has no types
    """Return a hash of each page's name.

    >>> bool((name_hashes(np.array(["a"])) == name_hashes(pa.array(["a"]))).all())
    True
    """
    column = names if isinstance(names, pa.Array) else pa.array(names)
    whole = pa.types.is_integer(column.type)
    return hash_column(column if whole else column.cast(pa.large_string()))


def host_hashes(names: Any) -> Hashes:  # noqa: ANN401 - pyarrow has no types
    """Return a hash of each page's host: the same for all pages of a host."""
    host, hosts = number_hosts(names)
    found: Hashes = hash_column(pa.array(hosts, pa.large_string()))[host]
    return found


def sample_pages(observations: Observations, hashes: Hashes, most: int = MAX_PAGES) -> Sample:
    """Return the visited pages with the lowest hashes, at most so many."""
    visited = np.flatnonzero(np.bincount(observations.page, minlength=observations.pages))
    if visited.size > most:
        visited = visited[np.argpartition(hashes[visited], most)[:most]]
    chosen = visited[np.argsort(hashes[visited], kind="stable")]
    return _gathered(observations, hashes, chosen)


def lowest(samples: Sequence[Sample], most: int = MAX_PAGES) -> Sample:
    """Return the pages with the lowest hashes in samples of parts of a log, at most so many."""
    hashes, rows, elapsed, changed = (np.concatenate(columns) for columns in zip(*samples))  # noqa: B905
    page = np.repeat(np.arange(rows.size), rows)
    chosen = np.argsort(hashes, kind="stable")[:most]
    return _gathered(Observations(rows.size, page, elapsed, changed), hashes, chosen)


def fleet_prior(sample: Sample) -> Prior:
    """Learn the prior of all pages from a sample of them."""
    page = np.repeat(np.arange(sample.rows.size), sample.rows)
    return fit_sample(Observations(sample.rows.size, page, sample.elapsed, sample.changed))


def host_priors(observations: Observations, hashes: Hashes, host: Ints, fleet: Prior) -> Prior:
    """Learn a prior for every host, with one element per page.

    Args:
        observations: All observations of the hosts' pages.
        hashes: The hash of each page's name.
        host: Each page's host, numbered from 0.
        fleet: The prior of all pages.
    """
    shape, time = fleet.columns(int(host.max(initial=-1)) + 1)
    visited = np.flatnonzero(np.bincount(observations.page, minlength=observations.pages))
    by_hash = visited[np.argsort(hashes[visited], kind="stable")]
    order = by_hash[np.argsort(host[by_hash], kind="stable")]
    if order.size:
        sizes = np.bincount(host[order])
        rank = np.arange(order.size) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        chosen = order[rank < MAX_PAGES]
        sample = _gathered(observations, hashes, chosen)
        page = np.repeat(np.arange(chosen.size), sample.rows)
        seen = Observations(chosen.size, page, sample.elapsed, sample.changed)
        found = fit_host_priors(seen, host[chosen], fleet)
        shape[host[chosen]], time[host[chosen]] = found.shape, found.time
    return Prior(shape[host], time[host])


def _gathered(observations: Observations, hashes: Hashes, chosen: Ints) -> Sample:
    """Return the observations of chosen pages, in this order of pages."""
    number = np.full(observations.pages, -1, np.int64)
    number[chosen] = np.arange(chosen.size)
    page = number[observations.page]
    kept = page >= 0
    starts, elapsed, changed = group_rows(
        page[kept], chosen.size, observations.elapsed[kept], observations.changed[kept]
    )
    return Sample(hashes[chosen], np.diff(starts), elapsed, changed)

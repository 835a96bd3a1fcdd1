"""Serialise beliefs about pages for the store, and convert the Gamma beliefs of older stores."""

from collections.abc import Callable, Sequence

import numpy as np

from recrawl.estimation import Observations, Prior, fit_host_priors
from recrawl.estimation.octaves import OCTAVES, Octaves, start_near
from recrawl.estimation.shown.evidence import ROW, evidence_of, read_evidence
from recrawl.kernels.jit import Bools, Ints
from recrawl.records import MICROSECONDS_A_DAY
from recrawl.store.rows import Observed, PageTable

#: About how many observations the priors of older stores are learned from.
MAX_OBSERVATIONS = 200_000
#: With fewer observations than this, the frontier's own priors are used.
MIN_OBSERVATIONS = 50


def pack_octaves(octaves: Octaves) -> list[bytes]:
    """Return the likelihoods of pages as bytes, one element per page.

    >>> unpack_octaves(pack_octaves(Octaves(-9, np.ones((1, OCTAVES))))).first
    -9
    """
    data = evidence_of(octaves).tobytes()
    return [data[at : at + ROW.itemsize] for at in range(0, len(data), ROW.itemsize)]


def unpack_octaves(packed: Sequence[bytes | None], first: int | None = None) -> Octaves:
    """Unpack what `pack_octaves` packed, onto one grid of rates; None is a page without evidence.

    Args:
        packed: One element per page.
        first: The lowest octave of the grid; by default that of the first page.
    """
    rows = read_evidence(packed)
    likelihood = rows["likelihood"].astype(np.float32)
    wanted = int(rows["first"][0]) if first is None and rows.size else first or 0
    for octave in np.unique(rows["first"]).tolist():
        here = rows["first"] == octave
        likelihood[here] = Octaves(octave, likelihood[here]).shifted(wanted).likelihood
    return Octaves(wanted, likelihood)


def _first(packed: bytes) -> int:
    """Return the lowest octave of a packed likelihood."""
    return int.from_bytes(packed[: ROW["first"].itemsize], "little", signed=True)


def stored_octaves(
    fleet: PageTable, observations: Callable[[int], Observed], host: Ints, gap: float
) -> Octaves:
    """Return the evidence of earlier visits about every page.

    Older stores hold Gamma beliefs. Their priors were learned from the observations, or assumed one
    change in the mean time between two visits.

    Args:
        fleet: The pages.
        observations: Returns about a given number of observations to learn these priors from.
        host: The host of each page.
        gap: The mean time between two visits to a page, in days.
    """
    # The grid may have moved since a page was last visited; the most recent grid is the right one.
    latest = max((_first(one) for one in fleet.octaves if one is not None), default=-OCTAVES)
    first = start_near(latest, gap)
    octaves = unpack_octaves(fleet.octaves, first)
    old = ~np.isnan(fleet.shape) & np.array([one is None for one in fleet.octaves], np.bool_)
    if not old.any():
        return octaves
    shape, time = _former_prior(fleet, observations(MAX_OBSERVATIONS), host, gap).columns(
        fleet.number.size
    )
    before, belief = Prior(shape[old], time[old]), Prior(fleet.shape[old], fleet.time[old])
    octaves.likelihood[old] = Octaves.of_gamma(first, belief, before, int(old.sum())).likelihood
    return octaves


def _former_prior(fleet: PageTable, log: Observed, host: Ints, gap: float) -> Prior:
    """Return the priors that the Gamma beliefs started from."""
    index = np.minimum(np.searchsorted(fleet.number, log.page), fleet.number.size - 1)
    ours: Bools = (log.elapsed > 0) & (fleet.number[index] == log.page)
    if int(ours.sum()) < MIN_OBSERVATIONS:
        return Prior(1.0, gap)
    seen = Observations.of(
        log.elapsed[ours] / MICROSECONDS_A_DAY,
        log.changed[ours],
        page=index[ours],
        pages=fleet.number.size,
    )
    return fit_host_priors(seen, host)

"""Priors from other pages: what is believed about a section, its host and the whole fleet.

Pages of one section change about as often as one another. So what is believed about a page before
its own visits is the mean of what is believed about the others of its section, around the same for
its host, around the same for the fleet. The page itself is left out: it would confirm itself. Half
of what host and fleet say is that all rates are equally likely, on a logarithmic scale: however
many pages never change, the next one may.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from recrawl.estimation.octaves import (
    OCTAVES,
    ONE,
    combine,
    gamma_weights,
    shift_rows,
    value_at_rate,
)
from recrawl.kernels.jit import Floats, Ints, compiled, step
from recrawl.scheduling.state import ABSENT, Rows, Tables

#: Pages after which the mean of a host's or the fleet's pages, or of a section's, counts half.
FLEET_PRIOR = HOST_PRIOR = 5.0
SECTION_PRIOR = 3.0
#: The share of a host's and the fleet's prior that is learned; the rest is flat.
LEARNED = 0.5
FLAT = 1.0 / OCTAVES


@step
def find_prior(tables: Tables, page: int) -> None:
    """Write the prior of a page whose weights are not counted to the shared ``prior``."""
    pages, shared = tables.pages, tables.shared
    prior = shared["prior"][0]
    if pages["prior_shape"][page] > 0.0:
        shape, time = float(pages["prior_shape"][page]), float(pages["prior_time"][page])
        gamma_weights(shape, time, shared["rate"][0], prior)
        return
    for k in range(OCTAVES):
        prior[k] = FLAT
    if shared["pooling"][0]:
        _mix(prior, shared, 0, FLEET_PRIOR, LEARNED)
        _mix(prior, tables.hosts, pages["host"][page], HOST_PRIOR, LEARNED)
        _mix(prior, tables.sections, pages["section"][page], SECTION_PRIOR, LEARNED)


@step
def _mix(prior: Floats, pool: Rows, row: int, strength: float, learned: float) -> None:
    """Mix the mean weights of a pool into a prior, which counts as ``strength`` pages."""
    own = strength / (strength + pool["members"][row])
    others = learned / ((strength + pool["members"][row]) * ONE)
    for k in range(OCTAVES):
        prior[k] = (1.0 - learned) * FLAT + learned * own * prior[k] + others * pool["pool"][row, k]


@step
def count(tables: Tables, page: int, sign: float) -> None:
    """Add a page's weights to those of its section, its host and the fleet, or subtract them."""
    pages = tables.pages
    if pages["prior_shape"][page] > 0.0 or not tables.shared["pooling"][0]:
        return
    host, section, weight = pages["host"][page], pages["section"][page], pages["weight"][page]
    tables.shared["members"][0] += int(sign)
    tables.hosts["members"][host] += int(sign)
    tables.sections["members"][section] += int(sign)
    for k in range(OCTAVES):
        share = sign * weight[k]
        tables.shared["pool"][0, k] += share
        tables.hosts["pool"][host, k] += share
        tables.sections["pool"][section, k] += share


@step
def weigh(tables: Tables, page: int, kept: float) -> None:
    """Set a page's weights from its prior and its likelihood; ``kept`` of that is remembered."""
    find_prior(tables, page)
    pages = tables.pages
    combine(pages["likelihood"][page], tables.shared["prior"][0], kept, pages["weight"][page])


@step
def value_of_prior(tables: Tables, page: int, elapsed: float) -> float:
    """Return the value of a visit by what is believed about a page without its own visits."""
    find_prior(tables, page)
    value, rate = 0.0, tables.shared["rate"][0]
    for k in range(OCTAVES):
        value += tables.shared["prior"][0, k] * value_at_rate(rate, elapsed)
        rate *= 2.0
    return value


@compiled
def weigh_pages(tables: Tables, page: Ints) -> None:
    """Set the weights of new pages, and count those that were visited before."""
    for row in range(page.size):
        weigh(tables, page[row], 1.0)
        if tables.pages["counts"][page[row]]:
            count(tables, page[row], 1.0)
    # Again, now that all of them are there to go by.
    for row in range(page.size):
        if tables.pages["counts"][page[row]]:
            _weigh_counted(tables, page[row])


@step
def _weigh_counted(tables: Tables, page: int) -> None:
    count(tables, page, -1.0)
    weigh(tables, page, 1.0)
    count(tables, page, 1.0)


def shift_octaves(tables: Tables, octaves: int) -> None:
    """Move all beliefs to a grid of rates that begins some octaves higher, or lower."""
    for table in (tables.pages, tables.hosts, tables.sections, tables.shared):
        name = "weight" if "weight" in (table.dtype.names or ()) else "pool"
        table[name] = _merged(table[name], octaves)
    likelihood = tables.pages["likelihood"].astype(np.float64)
    shift_rows(likelihood, octaves)
    tables.pages["likelihood"] = likelihood
    tables.shared["rate"] *= 2.0**octaves
    _weigh_again(tables)


def _merged(rows: NDArray[Any], octaves: int) -> NDArray[Any]:
    """Return rows of weights moved by octaves; what falls off an end is added to it."""
    moved = np.zeros_like(rows)
    for k in range(OCTAVES):
        moved[:, min(max(k - octaves, 0), OCTAVES - 1)] += rows[:, k]
    return moved


@compiled
def _weigh_again(tables: Tables) -> None:
    """Set the weights of all pages anew."""
    for page in range(tables.pages.size):
        if tables.pages["status"][page] != ABSENT:
            if tables.pages["counts"][page]:
                _weigh_counted(tables, page)
            else:
                weigh(tables, page, 1.0)

"""Learn priors from other pages: those of the same section, the same host and the whole fleet.

Pages of one section change about equally often. So the prior of a page is the mean of the beliefs
about the other pages of its section, shrunk towards the same for its host, and that towards the
same for the fleet. The page itself is left out: it would confirm itself. Half of each of the three
is flat, with all rates equally likely on a logarithmic scale: however many pages never change, the
next one may.

How low these rates go depends on how long a page was observed. If it was unchanged for a month, it
may change once a year or once in a century: its visits are equally likely at both rates, and
counting both would only make it more likely that it never changes. So a low rate counts only as far
as the likelihood of the visits differs from that at the next one: the longer a page is unchanged,
the lower the rates go.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from recrawl.estimation.octaves import (
    BELOW,
    OCTAVES,
    ONE,
    Likelihoods,
    Weights,
    chance_and_value,
    combine,
    gamma_weights,
    shift_rows,
)
from recrawl.kernels.jit import Ints, bare_step, compiled, prefetch_start, small_bare_step
from recrawl.scheduling.signals import is_heard, lean_to_signals
from recrawl.scheduling.state import ABSENT, NONE, ROWS_AHEAD, Rows, Tables

#: The number of pages at which the mean of a host, of the fleet, or of a section counts half.
FLEET_PRIOR = HOST_PRIOR = 5.0
SECTION_PRIOR = 3.0
#: The share of a section's, a host's and the fleet's prior that is learned; the rest is flat.
LEARNED = 0.5
#: In the flat part, the rates from 1/8 of a change to 16 changes in the mean time between visits
#: are equally likely; only a given prior has weight on the two above that...
FIRST, END = BELOW - 3, OCTAVES - 2
#: ...and each below counts in full if the likelihood of visits differs from the next by this share.
APART = np.float32(1 / 64)
#: Rates with less likelihood than this are clearly distinct from all others.
SMALLEST = np.float32(1e-36)


@small_bare_step
def find_prior(tables: Tables, page: int) -> None:
    """Write the prior of a page, including its signals, to the shared ``prior``."""
    pages = tables.pages
    find_usual_prior(tables, page)
    if pages["prior_shape"][page] == 0.0 and is_heard(tables.hosts, pages["host"][page]):
        lean_to_signals(tables, page)


@bare_step
def find_usual_prior(tables: Tables, page: int) -> None:
    """Write the prior of a page, without its signals, to the shared ``prior``."""
    pages, shared = tables.pages, tables.shared
    prior = shared["prior"][0]
    if pages["prior_shape"][page] > 0.0:
        shape, time = float(pages["prior_shape"][page]), float(pages["prior_time"][page])
        gamma_weights(shape, time, shared["rate"][0], prior)
        return
    for k in range(OCTAVES):
        prior[k] = np.float32(0.0)
    flat = 1.0
    if shared["pooling"][0]:
        itself = int(pages["counts"][page])
        own = pages["weight"][page]
        flat = _mix(prior, flat, shared, 0, FLEET_PRIOR, own, itself)
        flat = _mix(prior, flat, tables.hosts, pages["host"][page], HOST_PRIOR, own, itself)
        section = pages["section"][page]
        flat = _mix(prior, flat, tables.sections, section, SECTION_PRIOR, own, itself)
    _add_flat(prior, flat, pages["likelihood"][page], shared["likely"][0])


@small_bare_step
def _mix(
    prior: Likelihoods,
    flat: float,
    pool: Rows,
    row: int,
    strength: float,
    own: Weights,
    itself: int,
) -> float:
    """Mix the mean weights of a pool, without the page itself, into a prior.

    Args:
        prior: Counts, with its flat part, as ``strength`` pages.
        flat: The share of the prior that is flat, which is not in ``prior`` itself.
        pool: Sections, hosts, or the fleet.
        row: Which of them.
        strength: How many pages.
        own: The page's own weights.
        itself: 1 if they are part of the pool, 0 if not.

    Returns:
        The share that is flat afterwards.
    """
    members = strength + pool["members"][row] - itself
    before, others = LEARNED * strength / members, LEARNED / (members * ONE)
    total = pool["pool"][row]
    for k in range(OCTAVES):
        prior[k] = np.float32(before) * prior[k] + np.float32(
            others * (total[k] - itself * float(own[k]))
        )
    return float(1.0 - LEARNED + before * flat)


@small_bare_step
def _add_flat(
    prior: Likelihoods, share: float, likelihood: Likelihoods, apart: Likelihoods
) -> None:
    """Add a flat share over all rates that a page's visits distinguish.

    Args:
        prior: What to add to.
        share: How much of it is flat.
        likelihood: The likelihood of the page's visits.
        apart: Output: how far they distinguish each of the low rates from the next one.
    """
    total = np.float32(END - FIRST)
    for k in range(FIRST):
        apart[k] = _distinctness(likelihood, k)
        total += apart[k]
    each = np.float32(share) / total
    for k in range(FIRST):
        prior[k] += each * apart[k]
    for k in range(FIRST, END):
        prior[k] += each


@small_bare_step
def _distinctness(likelihood: Likelihoods, k: int) -> np.float32:
    """Return how far visits distinguish a rate from the next one, 0 to 1."""
    apart = abs(likelihood[k + 1] - likelihood[k])
    return min((apart + SMALLEST) / (APART * likelihood[k] + SMALLEST), np.float32(1.0))


@bare_step
def weigh(tables: Tables, page: int, kept: float, counts: bool) -> None:  # noqa: FBT001
    """Set a page's weights from its prior and its likelihood.

    Args:
        tables: The frontier's tables.
        page: The page.
        kept: The share of the likelihood that is remembered.
        counts: Whether its weights count for other pages from now on.
    """
    find_prior(tables, page)
    pages, shared = tables.pages, tables.shared
    combine(pages["likelihood"][page], shared["prior"][0], kept, shared["weight"][0])
    _recount(tables, page, counts)
    weight, now = pages["weight"][page], shared["weight"][0]
    for k in range(OCTAVES):
        weight[k] = now[k]


@small_bare_step
def _recount(tables: Tables, page: int, counts: bool) -> None:  # noqa: FBT001
    """Replace a page's old weights with the new ones in section, host and fleet."""
    pages = tables.pages
    before, after = int(pages["counts"][page]), int(counts)
    pages["counts"][page] = counts
    if pages["prior_shape"][page] > 0.0 or not tables.shared["pooling"][0] or not before + after:
        return
    old, new = pages["weight"][page], tables.shared["weight"][0]
    _move(tables.shared, 0, old, before, new, after)
    _move(tables.hosts, pages["host"][page], old, before, new, after)
    _move(tables.sections, pages["section"][page], old, before, new, after)


@small_bare_step
def _move(pool: Rows, row: int, old: Weights, before: int, new: Weights, after: int) -> None:
    pool["members"][row] += after - before
    total = pool["pool"][row]
    for k in range(OCTAVES):
        total[k] += after * float(new[k]) - before * float(old[k])


@bare_step
def uncount(tables: Tables, page: int) -> None:
    """Stop counting a page's weights for other pages."""
    _recount(tables, page, False)  # noqa: FBT003


@bare_step
def value_of_prior(tables: Tables, page: int, elapsed: float) -> float:
    """Return the value of a visit under a page's prior, without its own visits."""
    find_prior(tables, page)
    shared = tables.shared
    _, value = chance_and_value(tables.curves, shared["prior"][0], shared["rate"][0], elapsed)
    return ONE * value


@small_bare_step
def _starts_alike(tables: Tables, page: int, other: int) -> bool:
    """Whether two pages without visits obviously have the same prior."""
    pages, hosts, sections = tables.pages, tables.hosts, tables.sections
    if pages["prior_shape"][page] > 0.0 or pages["prior_shape"][other] > 0.0:
        return False
    host, other_host = pages["host"][page], pages["host"][other]
    if host != other_host and (is_heard(hosts, host) or is_heard(hosts, other_host)):
        return False
    if tables.shared["members"][0] == 0:
        return True
    if host != other_host and hosts["members"][host] + hosts["members"][other_host] > 0:
        return False
    section, other_section = pages["section"][page], pages["section"][other]
    return bool(
        section == other_section
        or sections["members"][section] + sections["members"][other_section] == 0
    )


@compiled
def weigh_pages(tables: Tables, page: Ints) -> None:
    """Set the weights of new pages, and count those that were visited before."""
    counts, weight = tables.pages["counts"], tables.pages["weight"]
    any_counts = False
    like = NONE
    for row in range(page.size):
        ahead = page[min(row + ROWS_AHEAD, page.size - 1)]
        prefetch_start(tables.hosts, tables.pages["host"][ahead])
        here, visited = page[row], bool(counts[page[row]])
        counts[here] = False
        if like != NONE and not visited and _starts_alike(tables, here, like):
            # A million new pages start from a few priors.
            for k in range(OCTAVES):
                weight[here, k] = weight[like, k]
            continue
        weigh(tables, here, 1.0, visited)
        like = NONE if visited else here
        any_counts |= visited
    if any_counts:
        # Again, now that all of them are counted.
        for row in range(page.size):
            weigh(tables, page[row], 1.0, bool(counts[page[row]]))


def shift_octaves(tables: Tables, octaves: int) -> None:
    """Move all beliefs to a grid of rates that starts some octaves higher, or lower."""
    tables.pages["weight"] = _merged(tables.pages["weight"], octaves)
    for table in (tables.hosts, tables.sections, tables.shared):
        table["pool"] = _merged(table["pool"], octaves)
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
    """Recompute the weights of all pages."""
    for page in range(tables.pages.size):
        if tables.pages["status"][page] != ABSENT:
            weigh(tables, page, 1.0, bool(tables.pages["counts"][page]))

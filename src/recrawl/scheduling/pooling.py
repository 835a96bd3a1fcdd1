"""Learn priors from other pages: those of the same section, the same host and the whole fleet.

Pages of one section change about equally often. So the prior of a page is the mean of the beliefs
about the other pages of its section, shrunk towards the same for its host, and that towards the
same for the fleet. The page itself is left out: it would confirm itself. Half of each of the three
is the fleet's mixture of shapes (`recrawl.estimation.rate_shapes`), one of which is flat: however
many pages never change, the next one may.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from recrawl.estimation.octaves import (
    OCTAVES,
    ONE,
    Likelihoods,
    Weights,
    chance_and_value,
    combine,
    gamma_weights,
    shift_rows,
)
from recrawl.estimation.rate_shapes import (
    FLAT,
    MIN_CHANCE,
    MIN_COUNTING,
    Fits,
    fits,
    learn_shape,
    write_base,
    write_flat,
)
from recrawl.kernels.jit import Ints, bare_step, compiled, prefetch_start, small_bare_step
from recrawl.scheduling.signals import is_heard, lean_to_signals
from recrawl.scheduling.state import ABSENT, NONE, ROWS_AHEAD, Rows, Tables, set_usual_shapes

#: The number of pages at which the mean of a host, of the fleet, or of a section counts half.
FLEET_PRIOR = HOST_PRIOR = 5.0
SECTION_PRIOR = 3.0
#: The share of a section's, a host's and the fleet's prior that is learned; the rest is the mixture
#: of shapes.
LEARNED = 0.5
#: How well shapes fit a page without visits.
NO_VISITS = (1.0, 1.0, 1.0, 1.0)


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
    base = 1.0
    if shared["pooling"][0]:
        itself = int(pages["counts"][page])
        own = pages["weight"][page]
        base = _mix(prior, base, shared, 0, FLEET_PRIOR, own, itself)
        base = _mix(prior, base, tables.hosts, pages["host"][page], HOST_PRIOR, own, itself)
        section = pages["section"][page]
        base = _mix(prior, base, tables.sections, section, SECTION_PRIOR, own, itself)
    _add_shapes(tables, page, base)


@small_bare_step
def _mix(
    prior: Likelihoods,
    base: float,
    pool: Rows,
    row: int,
    strength: float,
    own: Weights,
    itself: int,
) -> float:
    """Mix the mean weights of a pool, without the page itself, into a prior.

    Args:
        prior: Counts, with its part from the shapes, as ``strength`` pages.
        base: The share of the prior that is from the shapes, which is not in ``prior`` itself.
        pool: Sections, hosts, or the fleet.
        row: Which of them.
        strength: How many pages.
        own: The page's own weights.
        itself: 1 if they are part of the pool, 0 if not.

    Returns:
        The share that is from the shapes afterwards.
    """
    members = strength + pool["members"][row] - itself
    before, others = LEARNED * strength / members, LEARNED / (members * ONE)
    total = pool["pool"][row]
    for k in range(OCTAVES):
        prior[k] = np.float32(before) * prior[k] + np.float32(
            others * (total[k] - itself * float(own[k]))
        )
    return float(1.0 - LEARNED + before * base)


@small_bare_step
def _add_shapes(tables: Tables, page: int, share: float) -> None:
    """Add the mixture of shapes to the shared ``prior``, as a share of it."""
    shared = tables.shared
    prior, flat, base = shared["prior"][0], shared["flat"][0], shared["base"][0]
    write_flat(tables.pages["likelihood"][page], flat)
    of_flat, of_base = np.float32(share * shared["chances"][0, FLAT]), np.float32(share)
    for k in range(OCTAVES):
        prior[k] += of_flat * flat[k] + of_base * base[k]


@bare_step
def shape_fits(tables: Tables, page: int) -> Fits:
    """Return how likely the visits to a page are under each shape; the flat one is shared."""
    flat = tables.shared["flat"][0]
    write_flat(tables.pages["likelihood"][page], flat)
    return fits(tables.pages["likelihood"][page], flat)


@bare_step
def learn_shape_from(tables: Tables, page: int, before: Fits) -> None:
    """Learn the shape of the fleet's rates from a visit to a page.

    Args:
        tables: The frontier's tables, with the flat shape as of before the visit.
        page: The page, with the likelihoods after the visit.
        before: How likely earlier visits are under each shape.
    """
    shared = tables.shared
    if _is_pooled(tables, page):
        after = fits(tables.pages["likelihood"][page], shared["flat"][0])
        learn_shape(shared["chances"][0], before, after, MIN_CHANCE)
        write_base(shared["chances"][0], shared["base"][0])


@small_bare_step
def _is_pooled(tables: Tables, page: int) -> bool:
    """Whether the prior of a page is learned, and its visits teach about those of others."""
    return bool(tables.shared["pooling"][0]) and not tables.pages["prior_shape"][page] > 0.0


@small_bare_step
def _count_shape(tables: Tables, page: int) -> None:
    """Learn the shape of the fleet's rates from all visits to a page, one of many."""
    if _is_pooled(tables, page):
        after = shape_fits(tables, page)
        learn_shape(tables.shared["chances"][0], NO_VISITS, after, MIN_COUNTING)


@small_bare_step
def _finish_counting(tables: Tables) -> None:
    """Raise the chances of shapes that hardly any page has to what they are at least."""
    shared = tables.shared
    if shared["pooling"][0]:
        learn_shape(shared["chances"][0], NO_VISITS, NO_VISITS, MIN_CHANCE)
        write_base(shared["chances"][0], shared["base"][0])


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
    for row in range(page.size):
        if counts[page[row]]:
            any_counts = True
            _count_shape(tables, page[row])
    _finish_counting(tables)
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
    set_usual_shapes(tables.shared)
    learn_shape_of_all(tables)
    _weigh_again(tables)


def _merged(rows: NDArray[Any], octaves: int) -> NDArray[Any]:
    """Return rows of weights moved by octaves; what falls off an end is added to it."""
    moved = np.zeros_like(rows)
    for k in range(OCTAVES):
        moved[:, min(max(k - octaves, 0), OCTAVES - 1)] += rows[:, k]
    return moved


@compiled
def learn_shape_of_all(tables: Tables) -> None:
    """Learn the shape of the fleet's rates from all visits to all pages."""
    for page in range(tables.pages.size):
        if tables.pages["status"][page] != ABSENT and tables.pages["counts"][page]:
            _count_shape(tables, page)
    _finish_counting(tables)


@compiled
def _weigh_again(tables: Tables) -> None:
    """Recompute the weights of all pages."""
    for page in range(tables.pages.size):
        if tables.pages["status"][page] != ABSENT:
            weigh(tables, page, 1.0, bool(tables.pages["counts"][page]))

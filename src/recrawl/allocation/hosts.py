"""Hosts with budgets of their own, nested in the budget of all.

A page's price is λ·cost + μ of its host, where μ > 0 only if the host would else get more visits
than it allows. Where all visits to a host cost the same, its full price does not depend on λ and is
found once; where not, μ is found again at every λ tried.
"""

import math
from typing import NamedTuple

import numpy as np

from recrawl.allocation.one_budget import SAMPLE, guess
from recrawl.allocation.pages import BLOCK, Bench, Pages, made_of, put_on, respond, set_up
from recrawl.allocation.price_search import Mix, mixed, narrow, new_bracket
from recrawl.kernels.jit import Bools, Floats, Ints, compiled, compiled_sum, cut, in_parallel

#: A first price is made from the hosts that a sample has room for, but not from fewer than this.
ENOUGH_HOSTS = 100


class Hosts(NamedTuple):
    """Pages sorted by host, and what each host allows.

    Attributes:
        starts: Where each host's pages start.
        budget: Visits a day it allows; infinite if it does not say.
        one_cost: Whether all visits to it cost the same.
        low: Where they do, its own full price: the lower end of a mix,
        high: the upper end,
        share: and the share of the lower. All 0 if it never reaches its budget.
    """

    starts: Ints
    budget: Floats
    one_cost: Bools
    low: Floats
    high: Floats
    share: Floats


class Sums(NamedTuple):
    """What a host's pages add up to: visits, cost, and how these fall as prices rise."""

    visits: float
    spent: float
    fall: float
    fall_cost: float
    fall_cost_squared: float


def priced(pages: Pages, starts: Ints, budget: Floats) -> Hosts:
    """Find the hosts' own prices."""
    count = budget.size
    hosts = Hosts(
        starts, budget, np.empty(count, np.bool_), np.zeros(count), np.zeros(count), np.ones(count)
    )
    in_parallel(lambda first, last: _price_hosts(pages, hosts, first, last), _spans(hosts))
    return hosts


def demand(pages: Pages, hosts: Hosts, price: float) -> tuple[float, float]:
    """Give what all pages spend at a price a unit of cost, and how it falls as ln price rises."""
    sums = in_parallel(lambda first, last: _add_up(pages, hosts, price, first, last), _spans(hosts))
    return math.fsum(spent for spent, _ in sums), math.fsum(fall for _, fall in sums)


def meet_budget(pages: Pages, hosts: Hosts, budget: float) -> Mix:
    """Find the price, as a mix of two, at which the pages spend the budget."""
    if demand(pages, hosts, 0.0)[0] <= budget:
        return Mix(0.0, 0.0, 1.0)
    bracket = new_bracket()
    price = _first_price(pages, hosts, budget)
    while price > 0.0:
        price = narrow(bracket, price, *demand(pages, hosts, price), budget)
    return mixed(bracket, budget)


def _first_price(pages: Pages, hosts: Hosts, budget: float) -> float:
    """Give a price to start from: that of the first of many hosts."""
    count = int(np.searchsorted(hosts.starts, SAMPLE))
    if count < ENOUGH_HOSTS or hosts.starts[-1] < 2 * SAMPLE:
        return guess(pages, budget)
    size = int(hosts.starts[count])
    first = made_of(
        pages.kind, (column[:size] if column.size > 1 else column for column in pages[1:])
    )
    some = Hosts(
        hosts.starts[: count + 1],
        hosts.budget[:count],
        hosts.one_cost[:count],
        hosts.low[:count],
        hosts.high[:count],
        hosts.share[:count],
    )
    price = meet_budget(first, some, budget * size / pages.change_rate.size).high
    return price if 0.0 < price < np.inf else guess(pages, budget)


def rates(pages: Pages, hosts: Hosts, mix: Mix) -> Floats:
    """Give every page what it buys at the mix of prices, in the order of hosts."""
    out = np.zeros(pages.change_rate.size)
    in_parallel(lambda first, last: _write(pages, hosts, mix, first, last, out), _spans(hosts))
    return out


def _spans(hosts: Hosts) -> list[tuple[int, int]]:
    return cut(hosts.budget.size, int(hosts.starts[-1]), hosts.starts)


@compiled_sum
def _sums(
    room: Bench, pages: Pages, first: int, last: int, price: float, host_price: float
) -> Sums:
    """Add up a host's pages at λ·cost + μ."""
    visits = spent = fall = fall_cost = fall_cost_squared = 0.0
    for low in range(first, last, BLOCK):
        count = min(BLOCK, last - low)
        bench = put_on(room, pages, low, count)
        for item in range(count):
            bench.price[item] = price * bench.cost[item] + host_price
        respond(pages.kind, bench, count)
        for item in range(count):
            visits += bench.rate[item]
            spent += bench.cost[item] * bench.rate[item]
            falling = bench.fall[item] / bench.price[item] if bench.fall[item] > 0.0 else 0.0
            fall += falling
            fall_cost += bench.cost[item] * falling
            fall_cost_squared += bench.cost[item] * bench.cost[item] * falling
    return Sums(visits, spent, fall, fall_cost, fall_cost_squared)


@compiled
def _own_price(
    room: Bench, pages: Pages, first: int, last: int, price: float, budget: float
) -> Mix:
    """Find the μ at which a host gets the visits it allows; 0 if it gets no more than that."""
    least = roots = changes = 0.0
    for low in range(first, last, BLOCK):
        count = min(BLOCK, last - low)
        bench = put_on(room, pages, low, count)
        for item in range(count):
            least += bench.least[item]
            changes += bench.change_rate[item]
            roots += math.sqrt(bench.importance[item] * bench.change_rate[item])
    if budget <= least:
        return Mix(np.inf, np.inf, 0.0)
    unbounded = price == 0.0 and pages.most.size == 1 and pages.most[0] == np.inf
    if not (unbounded and roots > 0.0) and (
        _sums(room, pages, first, last, price, 0.0).visits <= budget
    ):
        return Mix(0.0, 0.0, 1.0)
    bracket = new_bracket()
    host_price = (roots / (budget + changes)) ** 2
    while host_price > 0.0:
        found = _sums(room, pages, first, last, price, host_price)
        host_price = narrow(bracket, host_price, found.visits, host_price * found.fall, budget)
    return mixed(bracket, budget)


@compiled
def _price_hosts(pages: Pages, hosts: Hosts, first: int, last: int) -> None:
    room = set_up(pages)
    for host in range(first, last):
        begin, end = hosts.starts[host], hosts.starts[host + 1]
        hosts.one_cost[host] = pages.cost.size == 1 or (
            end == begin or pages.cost[begin:end].min() == pages.cost[begin:end].max()
        )
        if hosts.one_cost[host] and hosts.budget[host] < np.inf and end > begin:
            mix = _own_price(room, pages, begin, end, 0.0, hosts.budget[host])
            hosts.low[host], hosts.high[host], hosts.share[host] = mix.low, mix.high, mix.share


@compiled
def _is_full(pages: Pages, hosts: Hosts, host: int, price: float) -> bool:
    """Whether a host gets all the visits it allows, at λ and at any lower price."""
    cost = pages.cost[hosts.starts[host] if pages.cost.size > 1 else 0]
    return bool(hosts.one_cost[host] and price * cost <= hosts.low[host] and hosts.low[host] > 0.0)


@compiled
def _host_price(
    room: Bench, pages: Pages, hosts: Hosts, host: int, price: float
) -> tuple[float, Mix]:
    """Give λ and μ for a host's pages; for a host with a price of its own, 0 and that price.

    Its price is used as it was found: where demand jumps, the last digit decides.
    """
    begin, end = hosts.starts[host], hosts.starts[host + 1]
    if hosts.budget[host] == np.inf or begin == end:
        return price, Mix(0.0, 0.0, 1.0)
    if not hosts.one_cost[host]:
        return price, _own_price(room, pages, begin, end, price, hosts.budget[host])
    base = price * pages.cost[begin if pages.cost.size > 1 else 0]
    if hosts.high[host] <= base:
        return price, Mix(0.0, 0.0, 1.0)
    return 0.0, Mix(max(hosts.low[host], base), hosts.high[host], hosts.share[host])


@compiled
def _add_up(pages: Pages, hosts: Hosts, price: float, first: int, last: int) -> tuple[float, float]:
    room = set_up(pages)
    spent = falling = 0.0
    for host in range(first, last):
        begin, end = hosts.starts[host], hosts.starts[host + 1]
        if begin == end:
            continue
        if hosts.low[host] < np.inf and _is_full(pages, hosts, host, price):
            spent += hosts.budget[host] * pages.cost[begin if pages.cost.size > 1 else 0]
            continue
        base, mix = _host_price(room, pages, hosts, host, price)
        lower = _sums(room, pages, begin, end, base, mix.low)
        upper = _sums(room, pages, begin, end, base, mix.high) if mix.share < 1.0 else lower
        spent += upper.spent + mix.share * (lower.spent - upper.spent)
        fall = lower.fall_cost_squared
        if mix.high > 0.0 and lower.fall > 0.0:
            fall -= lower.fall_cost * lower.fall_cost / lower.fall
        falling += price * max(fall, 0.0)
    return spent, falling


@compiled
def _write(pages: Pages, hosts: Hosts, mix: Mix, first: int, last: int, out: Floats) -> None:
    room = set_up(pages)
    for host in range(first, last):
        price, own = _host_price(room, pages, hosts, host, mix.low)
        if mix.share == 1.0 or _is_full(pages, hosts, host, mix.high):
            _write_host(room, pages, hosts, host, price, own, 1.0, out)
        else:
            _write_host(room, pages, hosts, host, price, own, mix.share, out)
            price, own = _host_price(room, pages, hosts, host, mix.high)
            _write_host(room, pages, hosts, host, price, own, 1.0 - mix.share, out)


@compiled
def _write_host(
    room: Bench,
    pages: Pages,
    hosts: Hosts,
    host: int,
    price: float,
    own: Mix,
    weight: float,
    out: Floats,
) -> None:
    """Add to a host's rates what it buys at a price, times a weight."""
    begin, end = hosts.starts[host], hosts.starts[host + 1]
    lower = np.empty(BLOCK)
    for low in range(begin, end, BLOCK):
        count = min(BLOCK, end - low)
        bench = put_on(room, pages, low, count)
        for item in range(count):
            bench.price[item] = price * bench.cost[item] + own.low
        respond(pages.kind, bench, count)
        if own.share < 1.0:
            lower[:count] = bench.rate[:count]
            for item in range(count):
                bench.price[item] = price * bench.cost[item] + own.high
            respond(pages.kind, bench, count)
            for item in range(count):
                bench.rate[item] += own.share * (lower[item] - bench.rate[item])
        for item in range(count):
            out[low + item] += weight * bench.rate[item]

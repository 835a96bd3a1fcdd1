"""Pages that are out: released, held, taken of some hosts, under a budget that changes."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recrawl.engine.leases import Leases
from recrawl.errors import ArgumentError
from recrawl.scheduling.frontier import Frontier


def frontier_of(pages: int, budget: float, hosts: int = 1, **more: float) -> Frontier:
    frontier = Frontier(budget, **more)  # type: ignore[arg-type]
    numbers = np.arange(pages)
    frontier.add(numbers, now=0.0, host=numbers % hosts, last_visit=0.0)
    return frontier


def test_what_is_released_is_as_if_it_had_not_been_taken() -> None:
    frontier, other = frontier_of(10, 10.0), frontier_of(10, 10.0)
    taken = frontier.take(0.25, 2)
    assert taken.size == 2
    frontier.release(taken, 0.25)
    again = frontier.take(0.25, 9)
    assert sorted(again) == sorted(other.take(0.25, 9))
    assert again.size == 2
    before = other.belief(again)
    assert np.array_equal(frontier.belief(again).shape, before.shape)


def test_what_is_released_twice_is_paid_back_once() -> None:
    frontier = frontier_of(10, 10.0, catch_up=2.0)
    taken = frontier.take(0.25, 2)
    frontier.release(taken, 0.25)
    frontier.release(range(10), 0.25)
    assert frontier.take(0.25, 9).size == 2


def test_pages_of_some_hosts_are_taken_only_if_they_are_worth_it() -> None:
    frontier = frontier_of(40, 400.0, hosts=4)
    frontier.take(0.05, 10)
    rest = frontier.take(0.06, 100, host=[2, 3])
    assert rest.size > 0
    assert set(frontier.host(rest).tolist()) <= {2, 3}
    assert (frontier.due(rest) <= 0.06).all()
    with pytest.raises(ArgumentError, match="host"):
        frontier.take(0.07, 1, host=[99])


def test_some_hosts_have_no_more_budget_and_no_shorter_delay_than_all() -> None:
    frontier = frontier_of(40, 40.0, hosts=2, host_delay=0.01)
    frontier.take(0.01, 0)
    times = []
    for step in range(4_000):
        now = 0.01 + step / 400
        taken = frontier.take(now, 9, host=[step % 2])
        times += [(int(host), now) for host in frontier.host(taken)]
        frontier.report(taken, now, changed=True)
    assert 100 < len(times) <= 401
    for host in (0, 1):
        asked = [at for of, at in times if of == host]
        assert min(np.diff(asked)) >= 0.01 - 1e-9


def test_a_page_whose_visit_failed_is_not_taken_before_its_retry() -> None:
    frontier = frontier_of(1, 100.0)
    (page,) = frontier.take(0.1, 1, host=[0])
    frontier.report([page], 0.1, changed=False, failed=True, pause=0.5)
    assert frontier.take(0.5, 1, host=[0]).size == 0
    assert frontier.take(0.7, 1, host=[0]).size == 1


def test_pages_that_are_held_are_not_taken_until_they_are_reported() -> None:
    frontier = frontier_of(4, 100.0)
    frontier.hold([0, 2])
    assert sorted(frontier.take(0.1, 9)) == [1, 3]
    frontier.report([0], 0.1, changed=True)
    frontier.release([2], 0.1)
    assert sorted(frontier.take(0.2, 9)) == [0, 2]


@pytest.mark.parametrize("factor", [0.1, 0.5, 3.0, 20.0])
def test_a_new_budget_is_spent_and_its_price_follows_at_once(factor: float) -> None:
    frontier = frontier_of(200, 100.0, slack=0.0)
    for step in range(1, 40):
        taken = frontier.take(step * 0.1, 99)
        frontier.report(taken, step * 0.1, changed=np.arange(taken.size) % 2 == 0)
    before = frontier.price
    frontier.set_budget(100.0 * factor, 4.0)
    assert (frontier.price < before) == (factor > 1.0)
    visits = 0
    for step in range(41, 141):
        taken = frontier.take(step * 0.1, 10_000)
        frontier.report(taken, step * 0.1, changed=np.arange(taken.size) % 2 == 0)
        visits += taken.size
    assert visits == pytest.approx(1_000.0 * factor, rel=0.12, abs=3)


def test_intervals_can_be_changed() -> None:
    frontier = frontier_of(3, 3.0)
    frontier.take(0.1, 0)
    frontier.set_intervals([1], 0.0, 1e-9)
    assert frontier.take(1.0, 1).tolist() == [1]
    frontier.report([1], 1.0, changed=False)
    frontier.set_intervals([1], 5.0, math.inf)
    assert 1 not in frontier.take(3.0, 9)
    with pytest.raises(ArgumentError, match="max_interval"):
        frontier.set_intervals([1], 2.0, 1.0)


#: Steps of a history: take some pages, report some, let time pass.
STEPS = st.lists(
    st.tuples(st.sampled_from(["grant", "settle", "end"]), st.sets(st.integers(0, 9))), max_size=40
)


@given(STEPS)
def test_leases_agree_with_a_plain_version(steps: list[tuple[str, set[int]]]) -> None:
    leases, plain, now = Leases(), dict[int, tuple[str, int]](), 0
    for number, (what, pages) in enumerate(steps):
        now += 1
        name = f"lease-{number}"
        if what == "grant":
            if pages & plain.keys():
                with pytest.raises(ArgumentError):
                    leases.grant(name, pages, now, now + 3)
                continue
            leases.grant(name, pages, now, now + 3)
            plain |= dict.fromkeys(pages, (name, now + 3))
        elif what == "settle":
            for known in {lease for lease, _ in plain.values()}:
                expected = {page for page in pages if plain.get(page, ("",))[0] == known}
                assert set(leases.settle(known, pages)) == expected
            plain = {page: one for page, one in plain.items() if page not in pages}
        else:
            ended = {page for lease in leases.end(now) for page in lease.pages}
            assert ended == {page for page, (_, until) in plain.items() if until <= now}
            plain = {page: one for page, one in plain.items() if one[1] > now}
        assert leases.out == len(plain)
        assert {page for lease in leases for page in lease.pages} == set(plain)
        assert len(leases) == len({name for name, _ in plain.values()})

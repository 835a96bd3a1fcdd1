"""Host queues: hosts take turns, and none has more pages in flight than it may."""

import math
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recrawl.engine.host_queue import HostQueue
from recrawl.http.host_pacing import HostPacing
from recrawl.records import Page, Response


def page(number: int, host: str) -> Page:
    return Page(number, f"https://{host}/{number}", host)


def queues_for(host_connections: int, connections: int = 2) -> HostQueue:
    pacing = HostPacing(0.0, host_connections, connections=connections)
    return HostQueue(pacing, connections, host_connections)


@given(
    st.lists(st.sampled_from("abc"), max_size=30),
    st.lists(st.sampled_from(["next", "done", "drop a"]), max_size=60),
    st.integers(1, 3),
)
def test_no_host_has_more_in_flight_than_it_may_and_no_page_is_lost(
    hosts: list[str], steps: list[str], limit: int
) -> None:
    queues = queues_for(limit)
    waiting = Counter(hosts)
    in_flight: list[Page] = []
    given_out: list[int] = []
    for number, host in enumerate(hosts):
        queues.add(page(number, host))
    for step in steps:
        if step == "next":
            got = queues.next()
            running = Counter(one.host for one in in_flight)
            free = [host for host in waiting if waiting[host] and running[host] < limit]
            assert (got is not None) == bool(free)
            if got is not None:
                in_flight.append(got)
                given_out.append(got.number)
                waiting[got.host] -= 1
        elif step == "done" and in_flight:
            queues.done(in_flight.pop(0).host)
        elif step == "drop a":
            dropped = queues.drop("a")
            assert len(dropped) == waiting["a"]
            waiting["a"] = 0
        assert queues.waiting == waiting.total()
        assert max(Counter(one.host for one in in_flight).values(), default=0) <= limit
    assert len(set(given_out)) == len(given_out)
    for host in "abc":
        ours = [number for number in given_out if hosts[number] == host]
        assert ours == sorted(ours)


def test_suspects_share_half_of_the_connections() -> None:
    pacing = HostPacing(0.0, 1, connections=2)
    queues = HostQueue(pacing, 2)
    hanging = Response("https://a/", 0, at=0, error="nothing came for 15 s")
    for host in "ab":
        pacing.backoff(host, hanging)
    for number, host in enumerate("abcab"):
        queues.add(page(number, host))
    assert [one.number for one in iter(queues.next, None)] == [0, 2]
    queues.done("c")
    assert queues.next() is None
    queues.done("a")
    assert [one.number for one in iter(queues.next, None)] == [1]
    # A host that answered is like any other, and its page in flight counts no more.
    pacing.backoff("b", Response("https://b/", 200, at=0))
    queues.release()
    assert [one.number for one in iter(queues.next, None)] == [3]
    queues.done("b")
    assert [one.number for one in iter(queues.next, None)] == [4]
    for host in "ab":
        queues.done(host)
    assert queues.next() is None


def test_a_queue_is_full_at_sixteen_pages_per_connection_to_the_host() -> None:
    queues = queues_for(2)
    for number in range(31):
        queues.add(page(number, "a"))
    assert not queues.is_full("a")
    queues.add(page(31, "a"))
    assert queues.is_full("a")
    assert not queues.is_full("b")


def test_queues_are_filled_up_when_half_of_the_pages_are_gone() -> None:
    queues = queues_for(1, connections=4)
    assert queues.wanted(in_flight=4) == 32
    for number in range(16):
        queues.add(page(number, str(number)))
    assert queues.wanted(in_flight=4) == 16
    queues.add(page(16, "16"))
    assert queues.wanted(in_flight=4) == 0
    # Connections are free although pages wait: those of hosts that hang.
    assert queues.wanted(in_flight=1) == 3


def test_hosts_take_turns() -> None:
    queues = queues_for(10)
    for number, host in enumerate("aaaab"):
        queues.add(page(number, host))
    first, second = queues.next(), queues.next()
    assert first is not None
    assert second is not None
    assert [first.host, second.host] == ["a", "b"]


def test_a_page_waits_for_the_delay_of_its_host_without_being_in_flight() -> None:
    now = [10.0]
    pacing = HostPacing(2.0, 1, connections=2)
    queues = HostQueue(pacing, 2, 1, now=lambda: now[0])
    for number, host in enumerate("aab"):
        queues.add(page(number, host))
    pacing.start_request("a")
    pacing.end_request("a", 10.0)
    assert [one.number for one in iter(queues.next, None)] == [2]
    assert queues.opens_at == 12.0
    now[0] = 11.9
    assert queues.next() is None
    now[0] = 12.0
    first = queues.next()
    assert first == page(0, "a")
    # It comes back, as its robots.txt had to be read, and is next again after the delay.
    pacing.start_request("a")
    pacing.end_request("a", 12.0)
    queues.done("a")
    queues.add_first(first)
    assert queues.next() is None
    now[0] = 14.0
    assert [one.number for one in iter(queues.next, None)] == [0]
    assert queues.waiting == 1
    assert queues.opens_at == math.inf


def test_a_host_that_stays_closed_is_left_to_the_visit_and_a_dropped_one_does_not_come_back() -> (
    None
):
    now = [0.0]
    pacing = HostPacing(4.0, 1, connections=2)
    queues = HostQueue(pacing, 2, 1, now=lambda: now[0])
    pacing.close_host("a", 429, 100.0, 0.0)
    queues.add(page(0, "a"))
    assert queues.next() == page(0, "a")
    pacing.start_request("b")
    pacing.end_request("b", 0.0)
    queues.add(page(1, "b"))
    assert queues.next() is None
    assert queues.drop("b") == [page(1, "b")]
    queues.add(page(2, "b"))
    assert queues.next() is None
    now[0] = 4.0
    assert [one.number for one in iter(queues.next, None)] == [2]
    assert queues.next() is None


@pytest.mark.parametrize(("seconds", "waits"), [(5.0, True), (5.1, False)])
def test_a_page_waits_for_its_host_for_five_seconds_and_not_for_longer(
    seconds: float, waits: bool
) -> None:
    pacing = HostPacing(0.0, 1, connections=2)
    queues = HostQueue(pacing, 2, 1, now=lambda: 0.0)
    pacing.close_host("a", 429, seconds, 0.0)
    queues.add(page(0, "a"))
    assert (queues.next() is None) is waits


def test_pages_of_some_hosts_can_be_asked_for() -> None:
    now = [0.0]
    pacing = HostPacing(0.0, 2, connections=8)
    queues = HostQueue(pacing, 8, 2, now=lambda: now[0])
    for number, host in enumerate("aaabc"):
        queues.add(page(number, host))
    pacing.close_host("c", 429, 10.0, 0.0)
    assert [queues.queued(host) for host in "abcd"] == [3, 1, 1, 0]
    assert queues.next_of("d") is None
    assert queues.next_of("c") is None
    # A host is with one lessee at a time, who may have more of its pages.
    assert [queues.next_of("a"), queues.next_of("a")] == [page(0, "a"), None]
    assert queues.more_of("a") == page(1, "a")
    # Whoever visits a host may go on with it, whatever is in flight.
    assert queues.more_of("a") == page(2, "a")
    assert queues.more_of("a") is None
    now[0] = 10.0
    assert queues.next_of("c") == page(4, "c")
    assert queues.waiting == 1


def test_a_suspect_is_asked_for_only_if_suspects_have_a_connection_free() -> None:
    pacing = HostPacing(0.0, 1, connections=2)
    queues = HostQueue(pacing, 2, now=lambda: 0.0)
    for number, host in enumerate("ab"):
        pacing.backoff(host, Response("", 0, at=0, error="nothing came for 15 s"))
        queues.add(page(number, host))
    assert queues.next_of("a") == page(0, "a")
    assert queues.next_of("b") is None
    queues.done("a")
    assert queues.next_of("b") == page(1, "b")


def test_by_default_there_is_one_connection() -> None:
    queues = HostQueue(HostPacing())
    assert queues.wanted(in_flight=0) == 8
    for number in range(16):
        assert not queues.is_full("a")
        queues.add(page(number, "a"))
    assert queues.is_full("a")


def test_a_host_whose_last_page_is_done_does_not_come_up_twice() -> None:
    """With two visits at a time, it is in line already when one of them ends."""
    queues = queues_for(2)
    for number, host in enumerate("aaaab"):
        queues.add(page(number, host))
    assert [one.number for one in (queues.next(), queues.next()) if one] == [0, 4]
    queues.done("a")
    queues.add(page(5, "c"))
    order = [queues.next() for _ in range(4)]
    assert [one.number for one in order if one] == [1, 5, 2]


def test_a_host_that_opened_can_close_again() -> None:
    """What it waited for before says nothing about the next time."""
    now = [0.0]
    pacing = HostPacing(2.0, 1, connections=2)
    queues = HostQueue(pacing, 2, 1, now=lambda: now[0])

    def request(at: float) -> None:
        pacing.start_request("a")
        pacing.end_request("a", at)

    request(0.0)
    queues.add(page(0, "a"))
    assert queues.next() is None
    assert queues.drop("a") == [page(0, "a")]
    queues.add(page(1, "a"))
    now[0] = 1.0
    request(1.0)
    assert queues.next() is None
    # The end of the first delay was forgotten with the page that waited for it.
    now[0] = 2.5
    assert queues.next() is None
    now[0] = 3.0
    assert queues.next() == page(1, "a")

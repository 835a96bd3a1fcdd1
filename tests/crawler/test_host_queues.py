"""HostQueues: hosts take turns, and none has more under way than it may."""

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from recrawl.crawler.host_queues import HostQueues
from recrawl.records import Page


def page(number: int, host: str) -> Page:
    return Page(number, f"https://{host}/{number}", host)


@given(
    st.lists(st.sampled_from("abc"), max_size=30),
    st.lists(st.sampled_from(["next", "done", "drop a"]), max_size=60),
    st.integers(1, 3),
)
def test_no_host_has_more_under_way_than_it_may_and_no_page_is_lost(
    hosts: list[str], steps: list[str], most: int
) -> None:
    lanes = HostQueues(most)
    waiting = Counter(hosts)
    under_way: list[Page] = []
    given_out: list[int] = []
    for number, host in enumerate(hosts):
        lanes.add(page(number, host))
    for step in steps:
        if step == "next":
            got = lanes.next()
            running = Counter(one.host for one in under_way)
            free = [host for host in waiting if waiting[host] and running[host] < most]
            assert (got is not None) == bool(free)
            if got is not None:
                under_way.append(got)
                given_out.append(got.number)
                waiting[got.host] -= 1
        elif step == "done" and under_way:
            lanes.done(under_way.pop(0).host)
        elif step == "drop a":
            dropped = lanes.drop("a")
            assert len(dropped) == waiting["a"]
            waiting["a"] = 0
        assert lanes.waiting == waiting.total()
        assert all(lanes.queued(host) == waiting[host] for host in "abc")
        assert max(Counter(one.host for one in under_way).values(), default=0) <= most
    assert len(set(given_out)) == len(given_out)
    for host in "abc":
        ours = [number for number in given_out if hosts[number] == host]
        assert ours == sorted(ours)


def test_suspected_hosts_share_some_of_the_connections() -> None:
    lanes = HostQueues(host_connections=1, max_suspects=1)
    for host in "ab":
        lanes.suspect(host, is_suspect=True)
    for number, host in enumerate("abcab"):
        lanes.add(page(number, host))
    assert [one.number for one in iter(lanes.next, None)] == [0, 2]
    lanes.done("c")
    assert lanes.next() is None
    lanes.done("a")
    assert [one.number for one in iter(lanes.next, None)] == [1]
    # One that answered is like any other, and its page under way counts no more.
    lanes.suspect("b", is_suspect=False)
    assert [one.number for one in iter(lanes.next, None)] == [3]
    lanes.done("b")
    assert [one.number for one in iter(lanes.next, None)] == [4]
    for host in "ab":
        lanes.done(host)
    assert lanes.next() is None


def test_hosts_take_turns() -> None:
    lanes = HostQueues(host_connections=10)
    for number, host in enumerate("aaaab"):
        lanes.add(page(number, host))
    first, second = lanes.next(), lanes.next()
    assert first is not None
    assert second is not None
    assert [first.host, second.host] == ["a", "b"]

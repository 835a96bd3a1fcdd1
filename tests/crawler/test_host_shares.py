"""Which process a host belongs to."""

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from recrawl.crawler.host_shares import process_of, share_of
from recrawl.crawler.settings import Settings


def test_processes_have_about_as_many_hosts() -> None:
    counts = Counter(process_of(f"site{number}.example", 4) for number in range(4_000))
    # Four standard deviations of a binomial distribution.
    assert all(
        abs(counts[process] - 1_000) < 4 * (4_000 * 0.25 * 0.75) ** 0.5 for process in range(4)
    )


@given(st.text(), st.integers(1, 100))
def test_a_host_belongs_to_one_process(host: str, processes: int) -> None:
    assert 0 <= process_of(host, processes) < processes
    assert process_of(f"www.{host}", processes) == process_of(host.removeprefix("www."), processes)


@given(st.integers(1, 10_000), st.integers(1, 1_000), st.integers(1, 100))
def test_shares_add_up(connections: int, parsing: int, processes: int) -> None:
    settings = Settings(connections=connections, parse_processes=parsing)
    share = share_of(settings, processes)
    assert connections <= share.connections * processes < connections + processes
    assert 1 <= share.parse_processes <= max(parsing / processes, 1)

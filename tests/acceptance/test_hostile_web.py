"""A hostile web beside a good one: the crawl goes on, in little memory, and nobody is slowed.

`python -m benchmarks hostile` does the same at full size and measures against the real bars. These
are far wider, as other tests run at the same time, and show that nothing is stuck.
"""

import random
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from acceptance.hostile_crawl import (
    GOOD_PAGES,
    Compared,
    Crawling,
    Hosts,
    compare,
    crawling,
    hostile_hosts,
    stop_at,
    wait_until,
)
from acceptance.hostile_server import KINDS, WITH_SITEMAP
from acceptance.lag import STOP_SECONDS

from recrawl.records import Outcome
from recrawl.store.sqlite import SqliteStore

pytestmark = pytest.mark.skipif(
    sys.platform != "linux", reason="hosts are 127.0.1.x, memory is in /proc"
)

SECONDS, MIN_VISITS = 10.0, 200
#: The share of visits that good hosts get beside hostile ones, in ten seconds that begin with the
#: worst; 0.9 over a minute when idle. A host that slows the others leaves them a tenth.
MIN_SHARE = 0.25
#: Bytes in all processes; half as many when idle. A single file can take more than a gigabyte.
MAX_MEMORY = 1_000_000_000
#: Seconds without waiting for a processor; a fifth of a second when idle, and 14 to 30 if the loop
#: reads what a host sent.
MAX_LAG = 5.0
#: Seconds to end; 5 when idle.
PATIENCE = 300.0


@pytest.fixture(scope="module", autouse=True)
def _patient() -> Iterator[None]:
    """Let a busy machine take its time to stop: the crawl ends by itself, not at its deadline."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(STOP_SECONDS, str(PATIENCE))
        yield


@pytest.fixture(scope="module")
def hostile() -> Iterator[Hosts]:
    with hostile_hosts(1) as hosts:
        yield hosts


@pytest.fixture(scope="module")
def compared(
    hostile: Hosts, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Compared, Crawling, Path]:
    folder = tmp_path_factory.mktemp("hostile")
    result = compare(folder, hostile, WITH_SITEMAP, SECONDS, min_visits=MIN_VISITS)
    return *result, folder / "beside.db"


def test_there_are_fifty_kinds_of_hostile_hosts() -> None:
    assert len(set(KINDS)) >= 50


def test_good_hosts_are_crawled_as_ever_beside_hostile_ones(
    compared: tuple[Compared, Crawling, Path],
) -> None:
    result = compared[0]
    assert result.share >= MIN_SHARE * result.share_of_time


def test_the_event_loop_is_never_blocked_by_what_hosts_send(
    compared: tuple[Compared, Crawling, Path],
) -> None:
    assert compared[0].own_lag < MAX_LAG


def test_hostile_hosts_do_not_fill_the_memory(compared: tuple[Compared, Crawling, Path]) -> None:
    assert 0 < compared[0].pss < MAX_MEMORY


def test_nothing_is_damaged_and_all_copies_can_be_exported(
    compared: tuple[Compared, Crawling, Path],
) -> None:
    assert compared[0].problems == []


def test_good_copies_are_right_beside_hostile_hosts(
    compared: tuple[Compared, Crawling, Path],
) -> None:
    _, crawl, store = compared
    with SqliteStore.open(store) as opened:
        assert opened.spent(0).outcomes[Outcome.FAILED] > 0
        copies = [
            (opened.copy(f"{url}/{n}"), crawl.site.pages[f"/{n}"])
            for url in crawl.site.urls
            for n in range(GOOD_PAGES)
        ]
    assert all(copy is None or copy.response.body == page.encode() for copy, page in copies)
    assert sum(copy is not None for copy, _ in copies) > GOOD_PAGES


def test_a_crawl_of_hostile_hosts_ends_when_told_to(hostile: Hosts, tmp_path: Path) -> None:
    rng = random.Random(12)  # noqa: S311 - moments, not secrets
    for attempt in range(2):
        folder = tmp_path / str(attempt)
        folder.mkdir()
        took = stop_at(folder, hostile, WITH_SITEMAP, rng.uniform(0.0, 5.0))
        assert took < PATIENCE


def test_a_stored_robots_txt_does_not_stop_the_next_start(tmp_path: Path) -> None:
    with hostile_hosts(1, ["rules_for_many"]) as hosts:
        for _ in range(2):
            with crawling(tmp_path / "again.db", hosts) as crawl:
                wait_until(lambda crawl=crawl: crawl.visits > GOOD_PAGES)  # type: ignore[misc]
                crawl.stop()
            assert crawl.stopped_in < PATIENCE

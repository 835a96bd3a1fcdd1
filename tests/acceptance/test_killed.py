"""Killed at any time, and started again: nothing lost, nothing counted twice, the budget kept."""

import random
import sys
from pathlib import Path

import pytest
from acceptance.killing import CONNECTIONS, MAX_LOST, Crawled, crawl_and_kill


@pytest.mark.skipif(sys.platform == "win32", reason="kills as POSIX does")
def test_a_crawl_that_is_killed_loses_nothing_that_it_reported(tmp_path: Path) -> None:
    rng = random.Random(6)  # noqa: S311 - not for secrets
    crawled = crawl_and_kill(tmp_path / "recrawl.db", [rng.randrange(10, 150) for _ in range(4)])
    check_that_nothing_is_lost(crawled)


def check_that_nothing_is_lost(crawled: Crawled) -> None:
    assert crawled.problems == []
    for run in crawled.runs:
        # What was reported was written, and what was written was served.
        assert run.reported <= run.logged
        assert run.requests <= run.served
        assert run.lost <= MAX_LOST
        # The first request is free if there was none just before. The second request for a page is
        # paid for when its visit is recorded, and never if that does not come.
        unpaid = CONNECTIONS + run.lost // 2
        assert run.served <= 1 + run.allowed + unpaid
    assert crawled.runs[-1].lost == 0
    assert sum(run.reported for run in crawled.runs) > 0

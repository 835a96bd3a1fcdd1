"""The benchmark of years in trouble runs, at its smallest size."""

from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


def test_a_crawl_of_pages_in_trouble_is_killed_and_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT))
    from benchmarks.troubled_web import Web
    from benchmarks.troubled_year import KILLS, free_port, live

    year = live(Web(pages=20, days=20.0, seed=1, port=free_port()), speed=10.0)
    assert KILLS == 2
    assert (year.ended, year.twice, year.trespasses, year.logged) == (0, 0, 0, [])
    assert year.visits >= 10

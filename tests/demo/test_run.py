"""The demo itself: a crawl of the demo web, judged by what really happened."""

from pathlib import Path

import numpy as np
import pytest
from demo.in_virtual_time import use_virtual_time

from recrawl.demo.ground_truth import Curve, replayed
from recrawl.demo.picture import draw_demo
from recrawl.demo.run import DemoResult, Snapshot, run_demo
from recrawl.demo.scenario import Scenario, draw_scenario
from recrawl.records import Outcome
from recrawl.store.sqlite import SqliteStore

SECONDS, PAGES = 12.0, 150
Run = tuple[DemoResult, Scenario, list[Snapshot], Path]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    store_path = tmp_path_factory.mktemp("demo") / "recrawl.db"
    scenario = draw_scenario(PAGES, SECONDS, seed=1)
    snapshots: list[Snapshot] = []
    with pytest.MonkeyPatch.context() as patch:
        use_virtual_time(patch)
        result = run_demo(scenario, store_path, snapshots.append)
    return result, scenario, snapshots, store_path


def test_the_copy_is_fresher_than_uniform_crawling_keeps_it(run: Run) -> None:
    result, _, _, _ = run
    snapshot = result.final
    assert snapshot.seconds == pytest.approx(SECONDS)
    assert snapshot.uniform.mean() < snapshot.ours.mean() < 1.0
    assert snapshot.stats.requests == pytest.approx(PAGES / 10.0 * SECONDS, rel=0.1)
    assert not snapshot.stats.outcomes[Outcome.FAILED]


def test_the_others_make_as_many_requests(run: Run) -> None:
    result, scenario, _, _ = run
    requests = result.final.stats.requests
    for name, curve in (("uniform", result.final.uniform), ("index-known", result.final.best)):
        expected = replayed(scenario.world, name, requests).freshness
        np.testing.assert_array_equal(curve.freshness, expected)


def test_the_copies_in_the_store_are_those_that_the_truth_speaks_of(run: Run) -> None:
    result, scenario, _, store_path = run
    with SqliteStore.open(store_path) as store:
        assert store.check() == []
        assert store.totals().with_copy == PAGES
        logged = sum(len(store.history(number, 10_000)) for number in range(PAGES))
    assert logged == result.visits.sum() > PAGES
    np.testing.assert_array_equal(result.true, scenario.world.change_rate)
    assert (result.estimated > 0.0).all()


def test_it_is_told_while_it_goes_on(run: Run) -> None:
    result, _, snapshots, _ = run
    seconds = [snapshot.seconds for snapshot in snapshots]
    assert len(snapshots) > SECONDS
    assert seconds == sorted(seconds)
    assert all(snapshot.ours.seconds == snapshot.seconds <= SECONDS for snapshot in snapshots)
    halfway = snapshots[len(snapshots) // 2]
    # The snapshot agrees with the final result for the time until then.
    assert halfway.ours.mean() == pytest.approx(
        result.final.ours.mean(0.0, halfway.seconds), abs=0.02
    )


def test_the_picture_is_a_picture(run: Run, tmp_path: Path) -> None:
    draw_demo(tmp_path / "freshness.png", run[0].final)
    assert (tmp_path / "freshness.png").read_bytes().startswith(b"\x89PNG")
    assert isinstance(run[0].final.ours, Curve)


def test_it_is_a_real_crawl_over_http(tmp_path: Path) -> None:
    """How much of it a busy machine manages does not matter, if it manages anything."""
    for seconds in (2.0, 20.0, 200.0):
        store_path, snapshots = tmp_path / f"{seconds}.db", list[Snapshot]()
        result = run_demo(draw_scenario(40, seconds, seed=1), store_path, snapshots.append)
        if result.final.stats.outcomes[Outcome.CHANGED]:
            break
    assert result.final.seconds >= seconds
    assert result.final.stats.outcomes[Outcome.CHANGED]
    assert all(url.startswith("http://127.0.0.") for url in result.urls)
    with SqliteStore.open(store_path) as store:
        assert store.check() == []
        logged = sum(len(store.history(number, 10_000)) for number in range(40))
    assert logged == result.visits.sum()
    assert snapshots

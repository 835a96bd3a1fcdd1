"""The demo itself: a real crawl of the little web, judged by what really happened."""

from pathlib import Path

import numpy as np
import pytest

from recrawl.demo.history import History, draw_history
from recrawl.demo.picture import draw_demo
from recrawl.demo.playing import Played, Sight, play
from recrawl.demo.truth import Curve, replayed
from recrawl.records import Outcome
from recrawl.store.sqlite import SqliteStore

SECONDS, PAGES = 12.0, 150
Run = tuple[Played, History, list[Sight], Path]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    place = tmp_path_factory.mktemp("demo") / "recrawl.db"
    history = draw_history(PAGES, SECONDS, seed=1)
    sights: list[Sight] = []
    return play(history, place, sights.append), history, sights, place


def test_the_copy_is_fresher_than_uniform_crawling_keeps_it(run: Run) -> None:
    played, _, _, _ = run
    sight = played.sight
    assert sight.seconds == SECONDS
    assert sight.uniform.mean() < sight.ours.mean() < 1.0
    assert sight.view.requests == pytest.approx(PAGES / 10.0 * SECONDS, rel=0.1)
    assert not sight.view.outcomes[Outcome.FAILED]


def test_the_others_make_as_many_requests(run: Run) -> None:
    played, history, _, _ = run
    requests = played.sight.view.requests
    for name, curve in (("uniform", played.sight.uniform), ("index-known", played.sight.best)):
        expected = replayed(history.world, name, requests).freshness
        np.testing.assert_array_equal(curve.freshness, expected)


def test_the_copies_in_the_store_are_those_that_the_truth_speaks_of(run: Run) -> None:
    played, history, _, place = run
    with SqliteStore.open(place) as store:
        assert store.check() == []
        assert store.totals().with_copy == PAGES
        logged = sum(len(store.history(number, 10_000)) for number in range(PAGES))
    assert logged == played.visits.sum() > PAGES
    np.testing.assert_array_equal(played.true, history.world.change_rate)
    assert (played.estimated > 0.0).all()


def test_it_is_told_while_it_goes_on(run: Run) -> None:
    played, _, sights, _ = run
    seconds = [sight.seconds for sight in sights]
    assert len(sights) > SECONDS
    assert seconds == sorted(seconds)
    assert all(sight.ours.seconds == sight.seconds <= SECONDS for sight in sights)
    halfway = sights[len(sights) // 2]
    # What was told then is what is known now of the time until then.
    assert halfway.ours.mean() == pytest.approx(
        played.sight.ours.mean(0.0, halfway.seconds), abs=0.02
    )


def test_the_picture_is_a_picture(run: Run, tmp_path: Path) -> None:
    draw_demo(tmp_path / "freshness.png", run[0].sight)
    assert (tmp_path / "freshness.png").read_bytes().startswith(b"\x89PNG")
    assert isinstance(run[0].sight.ours, Curve)

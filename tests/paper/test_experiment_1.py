"""Experiment 1 against numbers measured elsewhere, and against what theory says exactly."""

from collections.abc import Iterator

import numpy as np
import pytest
from golden import avrachenkov_patil_thoppe_2020 as golden
from paper.undrawn import undrawn
from scipy import stats

from recrawl.paper import experiment_1
from recrawl.paper.section import Section
from recrawl.paper.simulate import ESTIMATORS


@pytest.fixture(scope="module", autouse=True)
def _few_pages_are_timed() -> Iterator[None]:
    """Most of a run goes into timing a hundred pages, and no time is looked at here."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(experiment_1, "TIMED_PAGES", 10)
        yield


@pytest.fixture(scope="module")
def measured() -> experiment_1.Errors:
    return experiment_1.measure(1_000, np.random.default_rng([0, 1]))


@pytest.fixture(scope="module")
def small() -> Section:
    return experiment_1.run(3, 7)


@pytest.mark.parametrize("name", golden.RMSE)
@pytest.mark.parametrize("index", [0, 1])
def test_errors_are_those_measured_elsewhere(
    measured: experiment_1.Errors, name: str, index: int
) -> None:
    expected = golden.RMSE[name][index]
    found = measured.rmse_at(name, experiment_1.REPORTED[index])
    assert found == pytest.approx(expected, rel=golden.RMSE_WITHIN)


@pytest.mark.parametrize("visits", experiment_1.REPORTED)
def test_the_llns_error_is_the_exact_one(measured: experiment_1.Errors, visits: int) -> None:
    """The number of changes found is binomial; 1,000 runs tell the error within some 7 %."""
    found = np.arange(visits + 1)
    weight = stats.binom.pmf(found, visits, 5 / 8)
    exact = np.sqrt(np.sum(weight * (3.0 * found / (visits + 1 - found) - 5.0) ** 2))
    assert measured.rmse_at("LLN", visits) == pytest.approx(float(exact), rel=0.07)


def test_bands_hold_the_truth_but_for_the_naive_one(measured: experiment_1.Errors) -> None:
    for name in ESTIMATORS:
        low, high = measured.low[name][-1], measured.high[name][-1]
        assert low <= measured.mean[name][-1] <= high
        assert (low < 5.0 < high) == (name != "Naive")
    assert measured.mean["Naive"][-1] == pytest.approx(15 / 8, rel=0.01)


def test_all_claims_hold_at_the_papers_size(measured: experiment_1.Errors) -> None:
    """Times are made up here, as a machine that does other work takes what it likes."""
    visits = np.array(experiment_1.TIMED_VISITS, float)
    times = {name: visits if name in {"MLE", "MM"} else np.ones(visits.size) for name in ESTIMATORS}
    kept = experiment_1.numbers_kept(np.random.default_rng(0))
    verdicts = {claim.verdict for claim in experiment_1.claims(measured, times, kept)}
    assert "does not hold" not in verdicts
    grown = experiment_1.claims(measured, dict.fromkeys(times, visits), kept)
    assert [claim.verdict for claim in grown].count("does not hold") == 2


def test_the_mle_keeps_its_whole_past_and_the_others_do_not() -> None:
    kept = experiment_1.numbers_kept(np.random.default_rng(0))
    for name, held in kept.items():
        if name in {"MLE", "MM"}:
            assert (held >= 2 * np.array(experiment_1.TIMED_VISITS)).all()
        else:
            assert len(set(held.tolist())) == 1


def test_the_same_seed_gives_the_same_tables(small: Section) -> None:
    with undrawn():
        again, other = experiment_1.run(3, 7), experiment_1.run(3, 8)
    for one, two in zip(small.tables, again.tables, strict=True):
        assert list(one.columns) == list(two.columns)
        for name, column in one.columns.items():
            assert np.array_equal(column, two.columns[name])
    assert not np.array_equal(small.tables[0].columns["mean"], other.tables[0].columns["mean"])
    assert [claim.says for claim in small.claims] == [claim.says for claim in again.claims]


def test_one_run_is_enough_to_draw() -> None:
    section = experiment_1.run(1, 0)
    assert [picture.png[:4] for picture in section.pictures] == [b"\x89PNG"] * 3
    assert all(b"</svg>" in picture.svg for picture in section.pictures)

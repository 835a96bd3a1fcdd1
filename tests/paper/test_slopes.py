"""Slopes of the mean error, against exact moments and the bias in closed form."""

from dataclasses import replace

import numpy as np
import pytest

from recrawl.estimation import Naive
from recrawl.kernels.jit import Floats
from recrawl.paper import slopes
from recrawl.paper.simulate import follow
from recrawl.paper.slopes import CHANGE_RATE, CRAWL_RATE, LAST, MU, WINDOW, Slope, Slopes

RUNS = 120


@pytest.fixture(scope="module")
def found() -> Slopes:
    return slopes.measure(RUNS, np.random.default_rng(1))


def fitted(visits: Floats, errors: Floats) -> float:
    return float(np.polyfit(np.log(visits), np.log(errors), 1)[0])


def exact_rmse(gamma: float, visits: int) -> float:
    """Carry the mean and the mean square of SA's error from visit to visit, as they are."""
    mean, square = -CHANGE_RATE, CHANGE_RATE**2
    pull = 1.0 - MU
    for k in range(visits):
        eta = (k + 1.0) ** -gamma
        level = CHANGE_RATE + CRAWL_RATE
        noise = MU * pull * (square + 2.0 * level * mean + level**2)
        square = (1.0 - pull * eta) ** 2 * square + eta**2 * noise
        mean *= 1.0 - pull * eta
    return float(np.sqrt(square))


def test_predictions_are_the_theorems() -> None:
    predicted = [slopes.predicted_slope(name) for name in (*slopes.LLNS, *slopes.SAS)]
    assert predicted == [-0.5, -0.5, -0.5, -0.25, -0.1, -0.25, -0.3, -0.375, -0.45, -0.375]


@pytest.mark.parametrize("gamma", [0.5, 0.75, 0.9])
def test_mean_error_of_sa_is_that_of_its_exact_moments(found: Slopes, gamma: float) -> None:
    """A normal error's mean size is √(2/π) of its RMSE, and varies by .756 of itself."""
    expected = np.sqrt(2.0 / np.pi) * exact_rmse(gamma, LAST)
    measured = found.errors[f"γ = {gamma:g}"][-1]
    assert abs(measured / expected - 1.0) < 4.0 * 0.756 / np.sqrt(RUNS)


def test_mean_error_of_the_lln_is_that_of_its_variance(found: Slopes) -> None:
    deviation = np.sqrt(CHANGE_RATE / (CRAWL_RATE * LAST)) * (CHANGE_RATE + CRAWL_RATE)
    expected = np.sqrt(2.0 / np.pi) * deviation
    assert abs(found.errors["α = 1"][-1] / expected - 1.0) < 4.0 * 0.756 / np.sqrt(RUNS)


@pytest.mark.parametrize(("setting", "power"), [("α = k^0.75", 0.75), ("α = k^0.9", 0.9)])
def test_large_alpha_has_the_slope_of_its_bias(found: Slopes, setting: str, power: float) -> None:
    for slope, first, last, within in (
        (found.near[setting], WINDOW, LAST, 0.01),
        (found.far[setting], slopes.FAR_FIRST, slopes.FAR_LAST, 0.001),
    ):
        k = np.geomspace(first, last, 30)
        share = k ** (power - 1.0)
        assert slope.fitted == pytest.approx(fitted(k, share / (share + 1.0 - MU)), abs=within)


def test_counting_gives_what_folding_gives() -> None:
    visits = np.array([7, 300])
    folded = {name: estimator for name, (estimator, _) in slopes.LLNS.items()}
    found = follow(
        {"Naive": Naive(), **folded}, np.full(9, 5.0), 3.0, visits, np.random.default_rng(5)
    )
    changes = np.rint(found["Naive"] * visits[:, None] / 3.0).astype(np.int64)
    for name, errors in slopes.lln_errors(visits, changes).items():
        np.testing.assert_allclose(errors, np.abs(found[name] - 5.0), rtol=0, atol=1e-12)


def test_bands_hold_the_slope_and_are_narrow(found: Slopes) -> None:
    for slope in (*found.near.values(), *found.far.values()):
        assert slope.low <= slope.fitted <= slope.high
        assert slope.high - slope.low < 0.12


def test_both_theorems_hold_and_a_flatter_error_would_not(found: Slopes) -> None:
    lln, sa = slopes.claims(found)
    assert (lln.verdict, sa.verdict) == ("holds with a remark", "holds with a remark")
    flat = Slope(-0.2, -0.21, -0.19, -0.25, slopes.tolerance(RUNS))
    wrong = replace(
        found,
        near={**found.near, "γ = 0.5": flat},
        far={**found.far, "α = k^0.75": flat},
    )
    assert {claim.verdict for claim in slopes.claims(wrong)} == {"does not hold"}


def test_one_run_will_do_and_the_same_seed_gives_the_same() -> None:
    once, again = slopes.run(1, 7), slopes.run(1, 7)
    for table, other in zip(once.tables, again.tables, strict=True):
        for name, column in table.columns.items():
            assert column.tobytes() == other.columns[name].tobytes()
    columns = once.tables[0].columns
    np.testing.assert_allclose(columns["low"].astype(float), columns["high"].astype(float))
    assert once.pictures[0].png == again.pictures[0].png

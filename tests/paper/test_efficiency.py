"""The estimators against the Cramér–Rao bound, checked against quadrature and theory."""

import numpy as np
import pytest
from paper.undrawn import undrawn
from scipy import integrate

from recrawl.paper import efficiency
from recrawl.paper.efficiency import RATIOS, information, lln_visits


@pytest.mark.parametrize("change_rate", [0.01, 0.4, 5.0, 300.0])
@pytest.mark.parametrize("crawl_rate", [1.0, 3.0])
def test_the_information_is_the_integral(change_rate: float, crawl_rate: float) -> None:
    """E[τ²/(e^(Δτ) − 1)] over exponential gaps, with time in units of 1/(Δ + p)."""
    unit = 1.0 / (change_rate + crawl_rate)

    def integrand(x: float) -> float:
        gap = x * unit
        information_of_gap = gap**2 / np.expm1(change_rate * gap)
        return float(information_of_gap * crawl_rate * np.exp(-crawl_rate * gap) * unit)

    assert information(change_rate, crawl_rate) == pytest.approx(
        integrate.quad(integrand, 0.0, 300.0, limit=500)[0], rel=1e-7
    )


def test_what_lln_costs_in_the_limits() -> None:
    """As good as any where pages change slowly; 2ζ(3) = 2.404 times the visits where fast."""
    assert lln_visits(1e-6, 1.0) == pytest.approx(1.0, rel=1e-5)
    assert lln_visits(1e6, 1.0) == pytest.approx(2.404114, rel=1e-5)
    assert lln_visits(5.0, 3.0) == pytest.approx(1.80, abs=0.01)


def test_measured_errors_are_what_theory_says() -> None:
    """With 400 runs an RMSE has a standard error of 3.5 %; four of them are allowed."""
    found = efficiency.measure(400, np.random.default_rng(1))
    within = 4.0 / np.sqrt(2.0 * 400)
    middle = (RATIOS >= 0.1) & (RATIOS <= 5.0)
    limit = np.sqrt([lln_visits(ratio, 1.0) for ratio in RATIOS[middle].tolist()])
    np.testing.assert_allclose(found.over_bound("LLN")[1][middle], limit, rtol=within)
    np.testing.assert_allclose(found.over_bound("MLE")[1][middle], 1.0, rtol=within)
    # Naive tends to pΔ/(p + Δ), so its error is Δ²/(p + Δ) where that is much.
    fast = RATIOS > 1.0
    short = RATIOS[fast] ** 2 / (1.0 + RATIOS[fast])
    np.testing.assert_allclose(found.rmse["Naive"][1][fast], short, rtol=0.01)
    np.testing.assert_allclose(found.bias["Naive"][1][fast], -short, rtol=0.01)


def test_the_verdicts_follow_from_the_numbers() -> None:
    section = efficiency.run(300, 0)
    assert [claim.verdict for claim in section.claims] == [
        "holds with a remark",  # LLN and SA against MLE at Δ/p = 5/3
        "holds with a remark",  # LLN against MLE at any ratio
        "does not hold",  # SA likewise
        "holds with a remark",  # MLE's work cannot be reused
        "holds with a remark",  # LLN and SA against Naive
    ]
    assert [claim.section for claim in section.claims] == ["3.3", "3.3", "3.3", "3.3", "5"]


@pytest.mark.parametrize("runs", [1, 2])
def test_few_runs_and_the_same_seed(runs: int) -> None:
    first, again = efficiency.run(runs, 4), efficiency.run(runs, 4)
    with undrawn():
        other = efficiency.run(runs, 5)
    columns = first.tables[0].columns
    for name, column in columns.items():
        np.testing.assert_array_equal(column, again.tables[0].columns[name])
        assert column.shape == (6 * 2 * 14,)
    assert first.claims == again.claims
    assert not np.array_equal(columns["rmse"], other.tables[0].columns["rmse"])
    assert np.isfinite(columns["rmse_over_bound"]).all()
    assert first.pictures[0].svg == again.pictures[0].svg


def test_an_error_of_exactly_nothing_is_drawn() -> None:
    """A single run may hit the rate exactly, and a logarithmic axis has no zero."""
    found = efficiency.measure(1, np.random.default_rng(0))
    nothing = {name: np.zeros_like(error) for name, error in found.rmse.items()}
    efficiency.figure(efficiency.Efficiency(nothing, found.bias, found.bound))

"""The third experiment against what theory says of its two estimators."""

from dataclasses import replace

import numpy as np
import pytest
from paper.undrawn import undrawn

from recrawl.paper import experiment_3
from recrawl.paper.experiment_3 import (
    CHANGE_RATE,
    CRAWL_RATE,
    LAST,
    LLNS,
    SAS,
    Experiment3,
    measure,
)

#: The share of visits that find no change.
STILL = CRAWL_RATE / (CRAWL_RATE + CHANGE_RATE)


@pytest.fixture(scope="module")
def found() -> Experiment3:
    return measure(200, np.random.default_rng(2))


@pytest.mark.parametrize(("name", "alpha"), [("α = √k", LAST**0.5), ("α = k^0.75", LAST**0.75)])
def test_alpha_pulls_the_estimate_down_as_theory_says(
    found: Experiment3, name: str, alpha: float
) -> None:
    """At the mean share of changes x = Δ·s/(s + α/k), s being the share without; noise is .002."""
    assert found.bias[name][-1] == pytest.approx(-(alpha / LAST) / (STILL + alpha / LAST), abs=0.01)


def test_error_of_lln_is_its_standard_deviation(found: Experiment3) -> None:
    """With α ≡ 1 it is √(Δ(Δ+p)²/(pk)); 200 runs know a deviation to some 5 %."""
    deviation = (CHANGE_RATE + CRAWL_RATE) * np.sqrt(CHANGE_RATE / (CRAWL_RATE * LAST))
    assert found.rmse_at("α = 1", LAST) == pytest.approx(deviation / CHANGE_RATE, rel=0.2)


def test_error_of_sa_at_gamma_1_falls_as_slowly_as_theory_says(found: Experiment3) -> None:
    """E y follows m ← m(1 − η·s) + η·Δ·s with η = 1/(k+1), so its error falls as k^−s, s = 1/6."""
    error = 1.0
    for k in range(LAST):
        error *= 1.0 - STILL / (k + 1)
    assert found.bias["γ = 1"][-1] == pytest.approx(-error, abs=0.02)
    assert found.slope("γ = 1") == pytest.approx(-STILL, abs=0.04)


def test_first_run_is_one_of_the_runs() -> None:
    one = measure(1, np.random.default_rng(4))
    for name, line in one.first.items():
        np.testing.assert_allclose(one.rmse[name], np.abs(line / CHANGE_RATE - 1.0))


def test_an_error_of_0_has_no_logarithm(found: Experiment3) -> None:
    lucky = {name: line.copy() for name, line in found.rmse.items()}
    for line in lucky.values():
        line[[-5, -1]] = 0.0
    exact = replace(found, rmse=lucky)
    assert np.isfinite(exact.slope("α = 1"))
    assert experiment_3._picture(exact).png  # noqa: SLF001


def test_claims_are_judged_by_the_numbers(found: Experiment3) -> None:
    swapped = {**found.rmse, "γ = 1": found.rmse["γ = 0.75"], "γ = 0.75": found.rmse["γ = 1"]}
    claim = experiment_3._claim_gamma_1  # noqa: SLF001
    assert claim(found).verdict == "holds"
    assert claim(replace(found, rmse=swapped)).verdict == "does not hold"


@pytest.mark.parametrize("runs", [1, 2])
def test_a_seed_gives_the_same_numbers(runs: int) -> None:
    one = experiment_3.run(runs, 7)
    with undrawn():
        again = experiment_3.run(runs, 7)
    assert one.claims == again.claims
    columns = one.tables[0].columns
    assert set(columns["setting"].tolist()) == {*LLNS, *SAS}
    for name, column in columns.items():
        assert column.tobytes() == again.tables[0].columns[name].tobytes()

"""Long runs, against the spread that theory predicts."""

from dataclasses import replace

import numpy as np
import pytest
from paper.undrawn import undrawn
from scipy import stats

from recrawl.paper import long_runs
from recrawl.paper.long_runs import CHANGE_RATE, LAST, LATE, MAX_RUNS, NAIVE_LIMIT, LongRuns


@pytest.fixture(scope="module")
def found() -> LongRuns:
    return long_runs.measure(MAX_RUNS, np.random.default_rng(2))


@pytest.mark.parametrize("name", ["LLN", "SA", "SA 0.4"])
def test_runs_spread_as_theory_says(found: LongRuns, name: str) -> None:
    """The sum of squared standard errors is chi-squared; outside once in 10,000 times."""
    z = (found.estimates[name][-1] / CHANGE_RATE - 1.0) / long_runs.deviation(name, LAST)
    low, high = stats.chi2(MAX_RUNS).ppf([5e-5, 1.0 - 5e-5])
    assert low < (z @ z) < high


def test_what_is_to_come_never_grows_and_holds_what_is(found: LongRuns) -> None:
    for name, tails in found.tails.items():
        assert np.all(np.diff(tails, axis=0) <= 0)
        assert np.all(tails >= np.abs(found.estimates[name] / CHANGE_RATE - 1.0))
        np.testing.assert_array_equal(tails[0], np.abs(found.estimates[name] / 5.0 - 1.0).max(0))


def test_naive_settles_elsewhere(found: LongRuns) -> None:
    assert pytest.approx(15.0 / 8.0) == NAIVE_LIMIT
    assert found.worst("Naive", LATE) == pytest.approx(0.625, abs=0.005)


def test_claims_hold_and_others_would_not(found: LongRuns) -> None:
    claims = long_runs.claims(found)
    assert [claim.section for claim in claims] == ["3.1", "3.2", "3.1", "3.3", "3.3"]
    assert {claim.verdict for claim in claims} == {"holds"}
    wrong = replace(
        found,
        estimates={name: 1.05 * rows for name, rows in found.estimates.items()},
        tails={name: rows + 0.1 for name, rows in found.tails.items()},
    )
    assert {claim.verdict for claim in long_runs.claims(wrong)} == {"does not hold"}


def test_one_run_will_do_and_the_same_seed_gives_the_same() -> None:
    once = long_runs.run(1, 7)
    with undrawn():
        again = long_runs.run(1, 7)
    for name, column in once.tables[0].columns.items():
        assert column.tobytes() == again.tables[0].columns[name].tobytes()
    assert set(once.tables[0].columns["run"].tolist()) == {1}


def test_the_table_tells_which_run_is_which(found: LongRuns) -> None:
    columns = long_runs.table(found).columns
    row = (columns["estimator"] == "SA") & (columns["run"] == 3) & (columns["visits"] == LATE)
    at = int(np.searchsorted(found.visits, LATE))
    assert columns["estimate"][row].tolist() == [found.estimates["SA"][at, 2]]

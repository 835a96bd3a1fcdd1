"""Learning while crawling: what is reported follows from the replays."""

import numpy as np
import pytest
from golden.avrachenkov_patil_thoppe_2020 import POISSON_OPTIMUM, REGULAR_UNIFORM

from recrawl.paper import while_crawling
from recrawl.paper.section import Section
from recrawl.paper.while_crawling import BUDGET, LEARNING, PAGES, POLICIES, Crawls, Mean


@pytest.fixture(scope="module")
def found() -> Crawls:
    return while_crawling.crawl(2, np.random.default_rng(0))


@pytest.fixture(scope="module")
def section() -> Section:
    return while_crawling.run(1, 0)


def test_a_mean_and_two_standard_errors() -> None:
    draws = np.random.default_rng(2).normal(3.0, 0.5, 10_000)
    mean = Mean.of(draws)
    assert abs(mean.value - 3.0) < 0.02
    assert mean.reach == pytest.approx(2 * 0.5 / 100, rel=0.05)
    assert str(Mean(0.5, 0.01)) == "0.500 ± 0.010"


def test_long_replays_have_the_freshness_of_the_formula(found: Crawls) -> None:
    """Sum of p/(p + Δ); a replay's standard deviation is some .004."""
    np.testing.assert_allclose(found.long_run, found.optimum, atol=0.016)


def test_levels_are_the_known_ones(found: Crawls) -> None:
    """The draws' own standard deviation is some .015, and copies are fresh at first: so .04."""
    assert found.optimum.mean() == pytest.approx(POISSON_OPTIMUM, abs=0.04)
    assert found.overall("poisson-known").mean() == pytest.approx(POISSON_OPTIMUM, abs=0.04)
    assert found.overall("uniform").mean() == pytest.approx(REGULAR_UNIFORM, abs=0.04)


def test_what_overspending_buys_is_told_by_the_formula(found: Crawls) -> None:
    for name in POLICIES:
        more = found.budget_used[name] > 1.0
        assert (found.bought[name][more] > 0.0).all()
        assert (np.abs(found.bought[name]) < np.abs(found.budget_used[name] - 1.0) + 1e-12).all()
    for name in ("uniform", "index", "index-known"):
        np.testing.assert_allclose(found.budget_used[name], 1.0, atol=0.01)


def test_the_table_is_of_these_crawls(section: Section) -> None:
    columns = section.tables[0].columns
    assert columns["policy"].tolist() == list(POLICIES)
    mean = dict(zip(POLICIES, columns["mean"].tolist(), strict=True))
    low = dict(zip(POLICIES, columns["low"].tolist(), strict=True))
    assert all(low[name] <= mean[name] for name in POLICIES)
    days = section.tables[1].columns
    assert days["day"].size == 100
    for name in POLICIES:
        assert days[name.replace("-", "_")].mean() == pytest.approx(mean[name])
    assert mean["index"] > max(mean[name] for name in LEARNING if name != "index")


def test_claims_have_numbers_and_places(section: Section) -> None:
    formula, joined = section.claims
    assert (formula.section, joined.section) == ("4, Expt 2", "5")
    assert formula.verdict == joined.verdict == "holds with a remark"
    assert (PAGES, BUDGET) == (100, 80.0)


def test_the_same_seed_gives_the_same(section: Section) -> None:
    again = while_crawling.run(2, 0)
    for table, twin in zip(section.tables, again.tables, strict=True):
        for name, column in table.columns.items():
            np.testing.assert_array_equal(column, twin.columns[name])
    assert section.claims == again.claims
    assert section.pictures[0].png == again.pictures[0].png

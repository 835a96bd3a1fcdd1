"""Priors learned from a fleet."""

import numpy as np
import pytest

from recrawl import GammaFilter, Observations, Prior, fit_host_priors, fit_prior
from recrawl.errors import ArgumentError
from recrawl.kernels.jit import Floats, Ints


def fleet(rate: Floats, visits: int, gap: float, seed: int) -> Observations:
    rng = np.random.default_rng(seed)
    page = np.tile(np.arange(rate.size), visits)
    elapsed = rng.exponential(gap, page.size)
    changed = rng.random(page.size) < -np.expm1(-rate[page] * elapsed)
    return Observations.of(elapsed, changed, page=page, pages=rate.size)


@pytest.mark.parametrize(("shape", "time"), [(0.5, 10.0), (0.9, 3.0), (0.3, 30.0)])
def test_a_known_prior_is_found_again(shape: float, time: float) -> None:
    rate = np.random.default_rng(1).gamma(shape, 1 / time, 8_000)
    prior = fit_prior(fleet(rate, 30, gap=5.0, seed=2))
    assert prior.rate == pytest.approx(shape / time, rel=0.06)
    assert prior.shape == pytest.approx(shape, rel=0.1)


def test_the_shape_stays_at_one_or_below() -> None:
    prior = fit_prior(fleet(np.full(2_000, 0.2), 30, gap=5.0, seed=3))
    assert prior.shape == 1.0
    assert prior.rate == pytest.approx(0.2, rel=0.1)


@pytest.mark.parametrize("changed", [False, True])
def test_a_fleet_in_a_corner_keeps_a_prior(changed: bool) -> None:
    seen = Observations.of(np.ones(500), np.full(500, changed), page=np.arange(500) % 100)
    prior = fit_prior(seen)
    assert 0 < prior.rate < 100
    assert (prior.rate > 1) == changed


def test_a_learned_prior_helps_pages_with_few_visits() -> None:
    rate = np.random.default_rng(4).gamma(0.5, 1 / 20.0, 5_000)
    seen = fleet(rate, 3, gap=5.0, seed=5)
    errors = []
    for prior in (None, fit_prior(seen)):
        method = GammaFilter(prior)
        found = method.rate(method.update(method.start(rate.size), seen))
        errors.append(np.mean((found - rate) ** 2))
    assert errors[1] < 0.5 * errors[0]


def hosts() -> tuple[Observations, Ints]:
    """A slow host, a fast one, each of 500 pages; one of a single page; one never visited."""
    rng = np.random.default_rng(6)
    rate = np.concatenate([rng.gamma(1, 0.01, 500), rng.gamma(1, 1.0, 500), [0.5, 0.5]])
    host = np.repeat([0, 1, 2, 3], [500, 500, 1, 1])
    seen = fleet(rate, 20, gap=2.0, seed=7)
    rows = seen.page < 1_001
    kept = Observations.of(
        seen.elapsed[rows], seen.changed[rows], page=seen.page[rows], pages=1_002
    )
    return kept, host


def test_hosts_have_their_own_priors_where_there_is_data() -> None:
    seen, host = hosts()
    whole, priors = fit_prior(seen), fit_host_priors(seen, host)
    rate = np.asarray(priors.rate)
    assert rate[0] == pytest.approx(0.01, rel=0.5)
    assert rate[500] == pytest.approx(1.0, rel=0.15)
    assert rate[1_000] == pytest.approx(whole.rate, rel=0.2)
    assert rate[1_001] == pytest.approx(whole.rate, rel=1e-9)
    assert np.all(np.asarray(priors.shape) <= 1.0)


def test_nothing_to_learn_from_is_an_error() -> None:
    empty = Observations.of([], [], page=np.empty(0, int), pages=3)
    with pytest.raises(ArgumentError, match="observations"):
        fit_prior(empty)


@pytest.mark.parametrize("host", [np.zeros(3, int), np.full(1_002, -1)])
def test_hosts_that_do_not_fit_are_an_error(host: Ints) -> None:
    with pytest.raises(ArgumentError, match="host"):
        fit_host_priors(hosts()[0], host)


def test_many_pages_are_sampled_evenly() -> None:
    rate = np.random.default_rng(8).gamma(0.5, 0.1, 25_000)
    seen = fleet(rate, 4, gap=5.0, seed=9)
    assert fit_prior(seen).rate == pytest.approx(0.05, rel=0.1)
    assert isinstance(fit_prior(seen), Prior)

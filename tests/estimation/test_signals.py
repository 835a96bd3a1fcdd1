"""Signals: formulas against plain versions, and how fast a host's precision is learned."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from recrawl.estimation import signals
from recrawl.estimation.octaves import OCTAVES, ONE, Weights, make_curves

CURVES = make_curves()
LOWEST = 2.0**-11
RATES = LOWEST * 2.0 ** np.arange(OCTAVES)


def random_weights(seed: int) -> Weights:
    """Return weights that add up to one, in whole parts."""
    share = np.random.default_rng(seed).dirichlet(np.full(OCTAVES, 0.3))
    weight = np.floor(share * ONE).astype(np.uint16)
    weight[weight.argmax()] += ONE - weight.sum(dtype=np.int64)
    return weight


def same_after(weight: Weights, elapsed: float) -> float:
    return float(weight / ONE @ np.exp(-RATES * elapsed))


def value_of(weight: Weights, per_day: float, share: float, fresh: float) -> float:
    return signals.value_with_signals(CURVES, weight, LOWEST, per_day, share, fresh)


def plain_value(
    weight: Weights, per_day: float, share: float, fresh: float, max_signals: int = 150
) -> float:
    """Sum the area between the chance after a visit and the present one on a fine grid."""
    times = np.concatenate([[0.0], np.geomspace(1e-4, 40.0 / LOWEST, 4_000)])
    count = np.arange(max_signals)
    same = np.exp(-np.outer(times, RATES)) @ (weight / ONE)
    above = np.maximum(np.outer(same, (1.0 - share) ** count) - fresh, 0.0)
    chance = stats.poisson.pmf(count, per_day * times[:, None])
    return float(np.trapezoid((chance * above).sum(1), times))


def greedy_ncis(alpha: float, per_day: float, share: float, elapsed: float, n: int) -> float:
    """Return the index of Busa-Fekete et al. (WWW 2025) as their Theorem gives it, times 1."""
    beta = -math.log1p(-share) / alpha
    time = elapsed + beta * n
    change, wrong = alpha + per_day, per_day * (1.0 - share)
    terms = range(int(time / beta) + 1)
    psi = sum(stats.poisson.sf(i, per_day * (time - i * beta)) for i in terms) / per_day
    fresh = sum(
        (wrong / change) ** i * stats.poisson.sf(i, change * (time - i * beta)) for i in terms
    )
    return float(fresh / change - math.exp(-alpha * time) * psi)


@pytest.mark.parametrize("seed", range(12))
def test_the_value_is_the_area_above_the_present_chance(seed: int) -> None:
    rng = np.random.default_rng(seed)
    weight, share = random_weights(seed), float(rng.choice([0.3, 0.5, 0.8, 0.95]))
    per_day, elapsed = 10.0 ** rng.uniform(-2.5, 0.0), 10.0 ** rng.uniform(-0.5, 1.5)
    fresh = signals.chance_fresh(same_after(weight, elapsed), share, float(rng.integers(0, 3)))
    value = value_of(weight, per_day, share, fresh)
    assert value == pytest.approx(plain_value(weight, per_day, share, fresh), rel=0.02)


@pytest.mark.parametrize("fresh", [0.0, 0.001, 0.01])
@pytest.mark.parametrize(("per_day", "share"), [(0.03125, 0.015625), (0.5, 0.02), (0.2, 0.05)])
def test_the_value_counts_the_many_signals_of_a_low_precision(
    per_day: float, share: float, fresh: float
) -> None:
    weight = random_weights(140)
    expected = plain_value(weight, per_day, share, fresh, max_signals=1_500)
    assert value_of(weight, per_day, share, fresh) == pytest.approx(expected, rel=0.02)


@pytest.mark.parametrize(
    ("per_day", "share", "elapsed", "n"),
    [(0.1, 0.5, 5.0, 1), (0.3, 0.8, 3.0, 0), (0.05, 0.2, 20.0, 3), (0.02, 0.9, 8.0, 2)],
)
def test_at_a_known_rate_the_value_is_that_of_greedy_ncis(
    per_day: float, share: float, elapsed: float, n: int
) -> None:
    weight = np.zeros(OCTAVES, np.uint16)
    weight[5] = ONE
    fresh = math.exp(-RATES[5] * elapsed) * (1.0 - share) ** n
    value = value_of(weight, per_day, share, fresh)
    expected = greedy_ncis(float(RATES[5]), per_day, share, elapsed, n)
    assert value == pytest.approx(expected, rel=0.01)


@given(st.integers(0, 1_000), st.floats(0.01, 100.0))
def test_without_signals_it_is_the_freshness_index(seed: int, elapsed: float) -> None:
    weight = random_weights(seed)
    x = RATES * elapsed
    index = float(weight / ONE @ ((1.0 - np.exp(-x) * (1.0 + x)) / RATES))
    value = value_of(weight, 0.0, 0.5, same_after(weight, elapsed))
    assert value == pytest.approx(index, rel=0.03, abs=1e-9)


@given(
    st.integers(0, 1_000),
    st.floats(0.001, 1.0),
    st.floats(0.01, 0.99),
    st.floats(0.001, 0.998),
    st.floats(0.0, 0.9),
)
def test_the_value_rises_as_the_page_gets_less_likely_fresh(
    seed: int, per_day: float, share: float, fresh: float, less: float
) -> None:
    weight = random_weights(seed)
    now, later = (value_of(weight, per_day, share, chance) for chance in (fresh, fresh * less))
    # Each is an integral by a few nodes, within some 3 % as the tests above show.
    assert later >= now * (1.0 - 0.06) - 1e-9
    assert now >= 0.0


@pytest.mark.parametrize("seed", range(8))
def test_a_visit_is_worth_its_price_after_the_time_it_needs(seed: int) -> None:
    rng = np.random.default_rng(seed)
    weight, share = random_weights(seed), float(rng.choice([0.3, 0.8, 0.95]))
    per_day, wanted = 10.0 ** rng.uniform(-2.0, 0.0), 10.0 ** rng.uniform(-1.0, 1.0)
    value = plain_value(weight, per_day, share, same_after(weight, wanted))
    needed = signals.elapsed_worth_with_signals(CURVES, weight, LOWEST, per_day, share, value)
    worth = plain_value(weight, per_day, share, same_after(weight, needed))
    assert worth == pytest.approx(value, rel=0.06)


def test_no_time_makes_a_visit_worth_more_than_signals_leave() -> None:
    weight = random_weights(1)
    most = float((weight / ONE / (RATES + 0.5 * 0.9)).sum())
    for value, is_ever in ((0.8 * most, True), (1.2 * most, False)):
        needed = signals.elapsed_worth_with_signals(CURVES, weight, LOWEST, 0.5, 0.9, value)
        assert (needed < math.inf) == is_ever


@pytest.mark.parametrize("number", [1, 3, 30, 300, 3_000])
def test_signals_are_counted_in_steps_that_grow(number: int) -> None:
    """To within four standard errors of 200 counts (Morris 1978: (b − 1)/2 relative variance)."""
    rng = np.random.default_rng(number)
    counts = []
    for _ in range(200):
        steps = 0.0
        for drawn in rng.random(number):
            steps += signals.is_step(steps, float(drawn))
        counts.append(signals.signals_counted(steps))
    error = number * math.sqrt((signals.COUNT_STEP - 1.0) / 2.0 / 200)
    assert np.mean(counts) == pytest.approx(number, abs=4.0 * error)


def test_a_certainly_fresh_page_is_worth_nothing() -> None:
    assert value_of(random_weights(0), 0.1, 0.5, 1.0) == 0.0


def test_likely_weights_are_those_of_so_many_changes() -> None:
    likely, strength = 0.07, 3.0
    weight = (random_weights(5) / ONE).astype(np.float32)
    expected = weight * RATES**strength * np.exp(-strength * RATES / likely)
    signals.likely_weights(LOWEST, likely, strength, weight)
    assert weight == pytest.approx(expected / expected.sum(), rel=1e-4, abs=1e-7)


def test_likely_weights_far_from_all_rates_stay_weights() -> None:
    weight = np.zeros(OCTAVES, np.float32)
    weight[-1] = 1.0
    signals.likely_weights(LOWEST, LOWEST / 1e6, 4.0, weight)
    assert weight == pytest.approx(np.full(OCTAVES, 1.0 / OCTAVES))


@given(st.floats(0.001, 0.999), st.integers(1, 30), st.floats(0.001, 1.0))
def test_right_signals_are_their_expected_number(share: float, n: int, same: float) -> None:
    """P(change) = 1 − S(1 − π)ⁿ; by Bayes' rule each signal is right with π/P."""
    changed = 1.0 - same * (1.0 - share) ** n
    right = signals.right_signals(share, float(n), changed)
    assert right == pytest.approx(n * share / changed)
    assert right <= n + 1e-9


@given(st.floats(1e-6, 30.0))
def test_unsignalled_changes_are_those_of_a_poisson_variable_above_0(mean: float) -> None:
    found = signals.unsignalled_changes(math.exp(-mean))
    # −ln e^(−mean) rounds to about 1e-16.
    assert found == pytest.approx(max(mean, 0.0) / -math.expm1(-mean), rel=1e-6) or mean > 27.0


def test_odds_follow_the_better_prediction_within_limits() -> None:
    assert signals.next_odds(0.0, 0.8, 0.4) == pytest.approx(math.log(2.0))
    assert signals.next_odds(7.9, 0.9, 0.1) == signals.MAX_ODDS
    assert signals.next_odds(-7.9, 0.1, 0.9) == -signals.MAX_ODDS
    assert signals.next_odds(1.5, 0.0, 0.9) == 1.5
    assert signals.trust(0.0) == 0.5


class Host:
    """What is learned of one host's sitemap, from visits after one signal each."""

    def __init__(self) -> None:
        self.prior = signals.PRIOR_SIGNALS * signals.PRECISION["sitemap"]
        self.right, self.seen = self.prior, signals.PRIOR_SIGNALS

    @property
    def precision(self) -> float:
        return signals.precision(self.right, self.seen)

    def visits(self, number: int, share: float, same: float, seed: int) -> int:
        """Make visits; return how many it took until the precision was on the other side of ½."""
        rng = np.random.default_rng(seed)
        before, turned = self.precision, number
        for visit in range(number):
            changed = rng.random() > same * (1.0 - share)
            self.seen += 1.0
            if changed:
                chance = 1.0 - signals.chance_fresh(same, self.precision, 1.0)
                self.right += signals.right_signals(self.precision, 1.0, chance)
            self.right = signals.faded(self.right, self.prior)
            self.seen = signals.faded(self.seen, signals.PRIOR_SIGNALS)
            if (self.precision - 0.5) * (before - 0.5) <= 0.0 and turned == number:
                turned = visit + 1
        return turned


@pytest.mark.parametrize("seed", range(5))
def test_a_host_that_lies_loses_its_trust_and_one_that_turns_honest_regains_it(seed: int) -> None:
    host, same = Host(), 0.95
    host.visits(300, 0.95, same, seed)
    assert host.precision > 0.8
    assert host.visits(48, 0.0, same, seed + 10) <= 36
    assert host.precision < 0.35
    assert host.visits(100, 0.95, same, seed + 20) <= 48
    assert host.precision > 0.75


@pytest.mark.parametrize("seed", range(5))
def test_a_host_that_always_lied_is_hardly_trusted_after_two_dozen_visits(seed: int) -> None:
    """A page or two of two dozen change all the same."""
    host = Host()
    host.visits(24, 0.0, 0.95, seed)
    assert host.precision < 0.2


@pytest.mark.parametrize("share", [0.2, 0.5, 0.8, 1.0])
def test_the_precision_is_learned(share: float) -> None:
    """Of some 32 remembered visits, to within three standard errors."""
    host = Host()
    host.visits(400, share, 0.9, 7)
    assert host.precision == pytest.approx(share, abs=3.0 * math.sqrt(0.3 / 32.0))


def test_every_kind_has_a_prior_that_is_a_probability() -> None:
    assert set(signals.PRECISION) == {"sitemap", "feed", "push", "neighbour"}
    assert all(0.0 < share < 1.0 for share in signals.PRECISION.values())

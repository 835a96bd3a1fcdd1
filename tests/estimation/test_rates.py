"""What is shown of change rates: the web's prior, then the fleet's visits, then the page's own."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from recrawl import Frontier
from recrawl.estimation.octaves import OCTAVES, Octaves
from recrawl.estimation.shown.evidence import ROW, Evidence, evidence_of, no_evidence
from recrawl.estimation.shown.rates import (
    LOWEST,
    OCTAVE,
    RATES,
    RatePrior,
    ShownRates,
    expected_freshness,
    extended,
)
from recrawl.kernels.jit import Floats
from recrawl.simulation.world import World

WORLD = RatePrior.world()


def evidence(first: int, logs: Floats) -> Evidence:
    """Return evidence by the logarithms of likelihoods, one row per page."""
    likelihood = np.exp(logs - logs.max(1, keepdims=True)).astype(np.float32)
    return evidence_of(Octaves(first, likelihood))


def quiet(days: float, first: int = -9) -> Evidence:
    """Return the evidence of days without a change."""
    rate: Floats = 2.0 ** (first + np.arange(OCTAVES, dtype=np.float64))
    return evidence(first, -days * rate[None, :])


def test_a_page_seen_once_changes_as_pages_of_the_web_do() -> None:
    """Not 42 times a day: half of them stay the same for weeks."""
    once = ShownRates(no_evidence(1), WORLD)
    assert 30 < 1 / once.typical[0] < 90
    assert once.fresh(np.array([21.0]))[0] > 0.5
    assert once.quantile(0.025)[0] < 1 / 3_000 < 1.0 < once.quantile(0.975)[0]


def test_the_less_a_page_changed_the_fresher_its_copy() -> None:
    typical = [float(ShownRates(quiet(days), WORLD).typical[0]) for days in (0.0, 1.0, 30.0, 365.0)]
    assert typical == sorted(typical, reverse=True)
    assert typical[-1] < 0.2 * typical[0]


@given(first=st.integers(LOWEST + 1, 5), days=st.floats(1e-3, 1e3))
def test_what_is_shown_does_not_depend_on_the_grid_of_the_evidence(first: int, days: float) -> None:
    """A crawl moves its grid with its budget."""
    # Below the lowest rate nothing is told apart.
    assume(days * 2.0**first < 0.05)
    exact = np.exp(-days * 2.0**OCTAVE)
    found = extended(quiet(days, first))[0]
    # Evidence says nothing about what is far less likely than half precision can tell.
    told = exact > 1e-3
    assert found[told] == pytest.approx(exact[told] / exact.max() * found.max(), abs=0.05)
    at = np.array([days])
    one, other = (ShownRates(quiet(days, grid), WORLD).fresh(at)[0] for grid in (first, first - 1))
    assert one == pytest.approx(other, abs=0.05)


def test_a_fleet_teaches_about_its_pages_that_were_seen_once() -> None:
    busy = evidence(-9, np.tile(np.arange(OCTAVES) * 3.0, (50, 1)))
    still = np.repeat(quiet(30.0), 50)
    new = no_evidence(1)
    rates = [ShownRates(new, RatePrior.learned(fleet)).typical[0] for fleet in (busy, new, still)]
    assert rates[0] > 10 * rates[1] > 30 * rates[2]
    assert RatePrior.learned(new).weight.tolist() == WORLD.weight.tolist()


def test_a_prior_survives_its_text_and_a_damaged_one_is_the_worlds() -> None:
    learned = RatePrior.learned(np.repeat(quiet(30.0), 9))
    assert RatePrior.from_text(learned.text()).weight.tolist() == learned.weight.tolist()
    assert learned.weight.sum() == pytest.approx(1.0)
    for damaged in (None, "", "[1, 2]", "{", f"[{', '.join(['NaN'] * RATES)}]", "3"):
        assert RatePrior.from_text(damaged).weight.tolist() == WORLD.weight.tolist()


def test_evidence_of_a_damaged_store_is_no_reason_to_fail() -> None:
    rows = np.zeros(2, ROW)
    rows["likelihood"] = 1.0
    rows["first"] = [-30_000, 30_000]
    assert ShownRates(rows, WORLD).fresh(np.ones(2)) == pytest.approx(
        ShownRates(no_evidence(2), WORLD).fresh(np.ones(2))
    )


def test_pages_without_a_copy_are_stale_and_without_any_nothing_is_known() -> None:
    rates = ShownRates(no_evidence(2), WORLD)
    fresh = rates.fresh(np.array([0.0, np.inf]))
    assert fresh.tolist() == pytest.approx([1.0, 0.0])
    assert expected_freshness(fresh, np.array([1.0, 3.0])) == pytest.approx(0.25)
    assert expected_freshness(np.zeros(2), np.ones(2)) is None
    assert expected_freshness(fresh, np.zeros(2)) is None
    assert expected_freshness(np.empty(0), np.empty(0)) is None


@pytest.mark.parametrize(
    ("change_rate", "off"),
    [
        # Nearly all pages stay the same for longer than the crawl has been running.
        (np.random.default_rng(1).gamma(1.0, 0.02, 400), (0.07, 0.02)),
        # The web as it is known.
        (2.0 ** np.random.default_rng(1).choice(OCTAVE, 400, p=WORLD.weight), (0.04, 0.04)),
        # Pages that change every day: until visits tell, that is not known.
        (np.random.default_rng(1).gamma(1.0, 1.0, 400), (0.25, 0.04)),
    ],
    ids=["quiet", "web", "busy"],
)
def test_the_freshness_that_is_shown_is_the_true_one(
    change_rate: Floats, off: tuple[float, float]
) -> None:
    """At the end of the first day, with one visit per page, and on average after ten days."""
    world = World.poisson(change_rate, days=30.0, seed=2)
    shown, true = _crawled(world, days=20)
    assert abs(shown[0] - true[0]) < off[0]
    assert abs(np.mean(shown[10:]) - np.mean(true[10:])) < off[1]


def _crawled(world: World, days: int) -> tuple[list[float], list[float]]:
    """Return the freshness that is shown, and the true one, at the end of each day."""
    frontier = Frontier(budget=world.pages)
    pages = np.arange(world.pages)
    frontier.add(pages, now=0.0)
    last, shown, true = np.full(world.pages, -1.0), list[float](), list[float]()
    for step in range(1, 100 * days + 1):
        now = step / 100
        taken = frontier.take(now, world.pages)
        frontier.report(
            taken, now, changed=_changes(world, now)[taken] > _changes_at(world, last)[taken]
        )
        last[taken] = now
        if step % 100 == 0:
            rows = evidence_of(frontier.octaves(pages))
            rates = ShownRates(rows, RatePrior.learned(rows))
            elapsed = np.where(last < 0.0, np.inf, now - last)
            shown.append(expected_freshness(rates.fresh(elapsed), world.importance) or 0.0)
            is_fresh = (_changes(world, now) == _changes_at(world, last)) & (last >= 0.0)
            true.append(float(is_fresh.mean()))
    return shown, true


def _changes(world: World, at: float) -> Floats:
    return _changes_at(world, np.full(world.pages, at))


def _changes_at(world: World, at: Floats) -> Floats:
    """Return how often each page has changed until a time of its own."""
    page = np.repeat(np.arange(world.pages), np.diff(world.starts))
    return np.bincount(page, world.change <= at[page], world.pages).astype(np.float64)

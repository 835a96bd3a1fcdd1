"""Worlds change as their models say, and traces as they were recorded."""

import os
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import integrate, stats
from simulation.plain import world_of

from recrawl.errors import ArgumentError, InputError
from recrawl.kernels.jit import Floats
from recrawl.simulation.policies import policy_named
from recrawl.simulation.replay import replay
from recrawl.simulation.world import World

DAYS = 200.0


def counts(world: World) -> Floats:
    return np.diff(world.starts).astype(np.float64)


def drift_variance(rate: float, half_life: float) -> float:
    """Of a page's number of changes: Δ·days + Δ²·∫∫ (e^ρ − 1), ρ = 2^(−|s − t| / half-life)."""
    shared = integrate.quad(
        lambda gap: 2 * (DAYS - gap) * np.expm1(2.0 ** (-gap / half_life)), 0.0, DAYS
    )
    return float(rate * DAYS + rate * rate * shared[0])


@pytest.mark.parametrize(
    ("draw", "variance"),
    [
        (World.poisson, lambda rate: rate * DAYS),
        (World.bursty, lambda rate: 9.0 * rate * DAYS),
        (World.drifting, lambda rate: drift_variance(rate, 90.0)),
    ],
)
@pytest.mark.parametrize("rate", [0.05, 2.0])
def test_counts_have_the_models_mean_and_variance(
    draw: Callable[..., World], variance: Callable[[float], float], rate: float
) -> None:
    """Bursts of a geometric number, 5 on average, have a variance of 2·5 − 1 times the mean."""
    pages = 6_000
    changes = counts(draw(np.full(pages, rate), days=DAYS, seed=3))
    expected = variance(rate)
    assert abs(changes.mean() - rate * DAYS) < 4 * np.sqrt(expected / pages)
    # A burst is cut off at the window's ends, and a rate is held for 9 days: a few percent.
    assert changes.var() == pytest.approx(expected, rel=0.12)


def test_changes_of_a_poisson_world_are_spread_evenly() -> None:
    world = World.poisson(np.full(50, 5.0), days=DAYS, seed=1)
    assert stats.kstest(world.change / DAYS, "uniform").pvalue > 0.001
    gaps = np.diff(world.change)[np.diff(world.change) > 0]
    assert stats.kstest(gaps * 5.0, "expon").pvalue > 0.001


def test_bursts_begin_and_end_alike_all_over_the_window() -> None:
    """Those that began before it reach into it."""
    world = World.bursty(np.full(20_000, 0.02), days=50.0, seed=1)
    tenths = np.bincount((world.change / 5.0).astype(np.int64).clip(0, 9))
    assert tenths == pytest.approx(np.full(10, 2_000), abs=4 * np.sqrt(9 * 2_000))


def test_bursts_of_one_change_are_the_poisson_world() -> None:
    changes = counts(World.bursty(np.full(4_000, 0.2), days=DAYS, burst=1.0))
    assert changes.var() == pytest.approx(changes.mean(), rel=0.1)


def test_changes_in_a_burst_are_a_twentieth_of_a_gap_apart() -> None:
    world = World.bursty(np.full(300, 1.0), days=DAYS, burst=50.0, seed=2)
    gaps = np.diff(world.change)
    assert np.median(gaps[gaps > 0]) == pytest.approx(0.05 * np.log(2), rel=0.1)


@pytest.mark.parametrize("draw", [World.poisson, World.bursty, World.drifting])
def test_worlds_are_what_was_asked_for(draw: Callable[..., World]) -> None:
    rate = [0.0, 3.0, 1.0]
    columns: dict[str, Any] = {"importance": [1, 2, 3], "host": [0, 1, 0], "section": [0, 0, 1]}
    one, again, other = (draw(rate, days=9.0, seed=seed, **columns) for seed in (1, 1, 2))
    assert one.change_rate.tolist() == rate
    assert one.importance.tolist() == [1, 2, 3]
    assert (one.host.tolist(), one.section.tolist()) == ([0, 1, 0], [0, 0, 1])
    assert one.starts[1] == 0
    assert one.change.tolist() == again.change.tolist() != other.change.tolist()
    plain = draw(rate, days=9.0)
    assert (plain.host.tolist(), plain.section.tolist()) == ([0, 0, 0], [0, 1, 2])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"change_rate": [1.0, -1.0]}, "change_rate: page 1 has -1.0"),
        ({"change_rate": [np.nan]}, "change_rate: page 0 has nan"),
        ({"change_rate": 1.0}, "change_rate: has shape"),
        ({"change_rate": []}, "change_rate: has shape"),
        ({"change_rate": ["often"]}, "change_rate: 'often' is not a rate"),
        ({"days": 0.0}, "days: 0.0 is not a positive"),
        ({"days": np.inf}, "days: inf is not a positive"),
        ({"importance": [1.0]}, r"importance|change_rate: has shape"),
        ({"importance": [0.0, 0.0]}, "importance: expected numbers from 0 up, one of them above"),
        ({"importance": [1.0, np.nan]}, "importance: expected numbers from 0 up"),
        ({"host": [0, -1]}, "host: expected whole numbers"),
        ({"host": [0.5, 1.0]}, "host: expected whole numbers"),
        ({"section": [0, 1, 2]}, "section: has shape"),
    ],
)
def test_what_cannot_be_used_is_named(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        World.poisson(**{"change_rate": [1.0, 2.0], "days": 3.0, **arguments})


def test_bursts_and_half_lives_are_checked() -> None:
    with pytest.raises(ArgumentError, match=r"burst: 0\.5 is not"):
        World.bursty([1.0], days=1.0, burst=0.5)
    with pytest.raises(ArgumentError, match=r"half_life: 0\.0 is not"):
        World.drifting([1.0], days=1.0, half_life=0.0)


@pytest.mark.parametrize(
    ("starts", "change", "message"),
    [
        ([0, 2, 3], [2.0, 1.0, 1.0], "change: each page's times must be in order"),
        ([0, 1, 2], [2.0, 4.5], "change: times must be above 0 and at most"),
        ([0, 1, 2], [0.0, 1.0], "change: times must be above 0"),
        ([0, 1, 3], [1.0, 2.0], "starts: ends at 3"),
        ([0, 2, 1], [1.0], "starts: expected 3 numbers in order"),
        ([0, 1], [1.0], "starts: expected 3 numbers"),
    ],
)
def test_changes_are_checked(starts: list[int], change: list[float], message: str) -> None:
    ones, zeros = np.ones(2), np.zeros(2, np.int64)
    with pytest.raises(ArgumentError, match=message):
        World(4.0, np.array(starts), np.array(change), ones, ones, zeros, zeros)


def test_the_next_page_may_change_earlier() -> None:
    world = world_of([[2.0, 3.0], [], [1.0], []], 4.0)
    assert world.change_rate.tolist() == [0.5, 0.0, 0.25, 0.0]


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    """Days 0 to 10 of January 2026; one page is born late, one dies early."""
    day = [datetime(2026, 1, 1 + number, tzinfo=UTC).timestamp() for number in range(12)]
    pages = [
        (7, "https://a.org/x", 2.0, day[0], ""),
        (3, "https://b.org/x", 1.0, day[0], day[11]),
        (4, "https://a.org/late", 1.0, day[3], ""),
        (5, "https://a.org/dead", 1.0, day[0], day[9]),
    ]
    changes = [(7, day[2]), (7, day[4]), (7, day[10]), (3, day[3]), (4, day[4]), (5, day[5])]
    changes += [(3, day[1]), (7, day[11])]
    rows = [",".join(map(str, row)) for row in pages]
    (tmp_path / "pages.csv").write_text("\n".join(["page,name,weight,born,died", *rows]) + "\n")
    lines = [",".join(map(str, row)) for row in changes]
    (tmp_path / "changes.csv").write_text("\n".join(["page,time", *lines]) + "\n")
    return tmp_path


def test_a_window_keeps_the_pages_that_lived_through_it(trace: Path) -> None:
    world = World.from_trace(trace, start="2026-01-03", end=datetime(2026, 1, 11, tzinfo=UTC))
    assert world.days == 8.0
    assert np.split(world.change, world.starts[1:-1])[0].tolist() == [2.0, 8.0]
    assert np.split(world.change, world.starts[1:-1])[1].tolist() == [1.0]
    assert world.importance.tolist() == [2.0, 1.0]
    assert world.change_rate.tolist() == [0.25, 0.125]
    assert world.host.tolist() == [0, 1]


def test_without_a_window_it_starts_after_a_quarter_of_the_changes(trace: Path) -> None:
    """Of eight changes the third is on the 4th; the last is on the 12th, when page 3 died."""
    world = World.from_trace(trace)
    assert (world.pages, world.days) == (2, 8.0)
    assert world.change.tolist() == [1.0, 7.0, 8.0, 1.0]


@pytest.mark.parametrize(
    ("window", "message"),
    [
        ({"start": "2026-01-05", "end": "2026-01-05"}, "end: 2026-01-05T00:00:00.00:00 is not aft"),
        ({"start": "2025-01-01", "end": "2026-01-05"}, "start: no page existed from 2025-01-01"),
        ({"start": "soon"}, "start: 'soon' is not a time"),
        ({"end": datetime(2026, 1, 5)}, "end: .* has no time zone"),  # noqa: DTZ001
    ],
)
def test_windows_that_cannot_be_are_refused(
    trace: Path, window: dict[str, Any], message: str
) -> None:
    with pytest.raises(ArgumentError, match=message):
        World.from_trace(trace, **window)


def test_a_trace_without_changes_needs_a_window(trace: Path) -> None:
    (trace / "changes.csv").write_text("page,time\n")
    with pytest.raises(ArgumentError, match="start: there are no changes to choose a window from"):
        World.from_trace(trace, start="2026-01-02")
    assert World.from_trace(trace, start="2026-01-02", end="2026-01-04").change.size == 0


def test_a_missing_trace_is_told(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="there is no such folder"):
        World.from_trace(tmp_path / "none")


BESIDE = Path(__file__).parents[2].parent / "shared" / "traces"
REAL = Path(os.environ.get("RECRAWL_TRACES", BESIDE))


@pytest.mark.skipif(not (REAL / "mdn").is_dir(), reason="no real traces: RECRAWL_TRACES")
@pytest.mark.parametrize(
    ("name", "start", "end", "pages", "every", "uniform", "known"),
    [
        ("mdn", "2021-10-01", "2026-08-20", 7_346, 30.0, 0.161, 0.0467),
        ("ota-france", "2023-01-01", "2026-08-01", 216, 7.0, 0.037, 0.0260),
        ("ota-pga", "2023-01-01", "2026-08-01", 79, 7.0, 0.043, 0.0396),
    ],
)
def test_real_traces_give_the_numbers_known_of_them(
    name: str, start: str, end: str, pages: int, every: float, uniform: float, known: float
) -> None:
    world = World.from_trace(REAL / name, start=start, end=end)
    assert world.pages == pages
    for policy, staleness in (("uniform", uniform), ("index-known", known)):
        score = replay(world, policy_named(policy), pages / every)
        assert score.staleness == pytest.approx(staleness, abs=0.001)


def test_addresses_without_a_path_are_of_one_section_per_host(tmp_path: Path) -> None:
    pages = "0,https://a.example,0,\n1,https://b.example,0,\n2,https://a.example,0,\n"
    (tmp_path / "pages.csv").write_text(f"page,name,born,died\n{pages}")
    (tmp_path / "changes.csv").write_text("page,time\n0,86400\n1,172800\n2,864000\n")
    world = World.from_trace(tmp_path)
    assert world.section.tolist() == world.host.tolist() == [0, 1, 0]
    assert replay(world, policy_named("index"), budget=2.0).visits > 0

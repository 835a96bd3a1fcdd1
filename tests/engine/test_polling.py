"""When the loop checks again: soon while there is work, later and later while there is none."""

import math

import pytest

from recrawl.clock import Clock
from recrawl.engine.polling import (
    MAX_IDLE_NAP,
    MAX_NAP,
    MAX_REST,
    MIN_NAP,
    SLOWING,
    Polling,
)
from recrawl.records import SECONDS_A_DAY

PLENTY = 1e6 * SECONDS_A_DAY


class Time:
    """Real seconds, set by hand."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def test_a_nap_lasts_until_the_budget_pays_for_a_visit_within_limits() -> None:
    polling = Polling(Clock())
    naps = [polling.nap(SECONDS_A_DAY / paid, math.inf) for paid in (0.1, 1e-6, 60.0)]
    assert naps == [pytest.approx(0.1), MIN_NAP, MAX_NAP]


def test_a_nap_ends_when_a_host_with_a_queued_page_opens() -> None:
    time = Time()
    polling = Polling(Clock(steady=time))
    assert polling.nap(SECONDS_A_DAY, time.now + 0.25) == pytest.approx(0.25)
    assert polling.nap(SECONDS_A_DAY, time.now - 1.0) == MIN_NAP


def test_naps_grow_while_nothing_happens_and_are_short_again_after_that() -> None:
    polling = Polling(Clock())
    naps = []
    for _ in range(10):
        naps.append(polling.nap(PLENTY, math.inf))
        polling.end_nap(is_woken=False)
    assert naps[:2] == pytest.approx([MIN_NAP, SLOWING * MIN_NAP])
    assert naps[-1] == MAX_IDLE_NAP
    polling.end_nap(is_woken=True)
    assert polling.nap(PLENTY, math.inf) == MIN_NAP


def test_a_frontier_without_pages_is_left_alone_for_longer_and_longer() -> None:
    time = Time()
    polling = Polling(Clock(steady=time))
    is_resting, rests = [polling.is_resting], list[float]()
    for _ in range(10):
        polling.note_taken(0)
        is_resting.append(polling.is_resting)
        rests.append(polling.nap(SECONDS_A_DAY, math.inf))
        time.now += 1.01 * rests[-1]
        is_resting.append(polling.is_resting)
    assert is_resting == [False, *[True, False] * 10]
    assert rests == sorted(rests)
    assert rests[-1] == pytest.approx(MAX_IDLE_NAP)
    polling.note_taken(3)
    polling.note_taken(0)
    assert polling.nap(SECONDS_A_DAY, math.inf) == pytest.approx(SLOWING * MIN_NAP)


@pytest.mark.parametrize(("cost", "rest"), [
    (0.0, MAX_IDLE_NAP),
    (0.001, 0.05),
    (10.0, MAX_REST),
])  # fmt: skip
def test_a_frontier_that_takes_long_to_ask_is_asked_less_often(cost: float, rest: float) -> None:
    time = Time()
    polling = Polling(Clock(steady=time))
    naps, began = list[tuple[float, float]](), time.now
    while time.now < began + 2.0:
        polling.note_taken(0, cost)
        naps.append((time.now - began, polling.nap(SECONDS_A_DAY, math.inf)))
        time.now += 1.01 * naps[-1][1]
        assert not polling.is_resting
    # Not at once: a host may be about to open.
    assert max(nap for at, nap in naps if at < 1.0) == pytest.approx(MAX_IDLE_NAP)
    assert naps[-1][1] == pytest.approx(rest)
    polling.note_taken(1, cost)
    assert not polling.is_resting
    polling.note_taken(0, cost)
    assert polling.nap(SECONDS_A_DAY, math.inf) == pytest.approx(SLOWING * MIN_NAP)


def test_a_fast_clock_is_not_slowed() -> None:
    polling = Polling(Clock(speed=86_400.0))
    for _ in range(10):
        polling.end_nap(is_woken=False)
        polling.note_taken(0, 10.0)
    assert polling.nap(PLENTY, math.inf) == MIN_NAP

"""The clock of a crawl: real time, or faster."""

import math
from datetime import UTC, datetime

import pytest
from virtual_time import now, run

from recrawl.clock import SHORTEST, Clock
from recrawl.errors import ArgumentError

DAY = 86_400.0


def test_real_time_is_shown_as_it_is() -> None:
    times = iter([1_700_000_000_000_001, 1_700_000_000_000_003])
    clock = Clock(wall=lambda: next(times))
    assert [clock.now(), clock.now()] == [1_700_000_000_000_001, 1_700_000_000_000_003]
    assert clock.real(3.0) == clock.passing(3.0) == 3.0


@pytest.mark.parametrize("start", ["2026-01-31", datetime(2026, 1, 31, tzinfo=UTC),
                                   datetime(2026, 1, 31)])  # fmt: skip  # noqa: DTZ001 - UTC then
def test_a_fast_clock_starts_where_it_is_told(start: datetime | str) -> None:
    times = iter([5_000_000, 5_000_000, 7_500_000])
    clock = Clock(DAY, start=start, wall=lambda: next(times), steady=lambda: 2.0)
    begin = round(datetime(2026, 1, 31, tzinfo=UTC).timestamp() * 1e6)
    assert clock.now() == begin
    assert clock.now() == begin + 2.5 * DAY * 1e6
    assert clock.seconds() == 2.0 * DAY


def test_a_fast_clock_starts_now_by_default() -> None:
    times = iter([5_000_000, 6_000_000])
    assert Clock(10.0, wall=lambda: next(times)).now() == 15_000_000


def test_a_clock_that_starts_elsewhere_may_run_at_the_usual_speed() -> None:
    times = iter([5_000_000, 6_000_000])
    assert Clock(start="1970-01-02", wall=lambda: next(times)).now() == DAY * 1e6 + 1_000_000


def test_sleeping_goes_by_the_clock_and_waiting_is_never_too_short() -> None:
    clock = Clock(DAY)

    async def main() -> float:
        await clock.sleep(7 * DAY)
        return now()

    assert run(main()) == pytest.approx(7.0)
    assert clock.wait(1.0) == SHORTEST * DAY
    assert clock.wait(DAY) == DAY
    assert Clock().wait(1.0) == 1.0


@pytest.mark.parametrize("speed", [0.0, -1.0, math.inf, math.nan])
def test_a_clock_that_does_not_run_is_refused(speed: float) -> None:
    with pytest.raises(ArgumentError, match="speed"):
        Clock(speed)


def test_a_start_that_is_no_time_is_refused() -> None:
    with pytest.raises(ArgumentError, match="not a time"):
        Clock(start="soon")

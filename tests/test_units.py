"""Rates, durations and times as people type and read them."""

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recrawl.errors import ArgumentError
from recrawl.units import (
    format_duration,
    format_rate,
    parse_duration,
    parse_rate,
    parse_size,
    parse_time,
    quoted,
)


def minutes_east(minutes: int) -> timezone:
    return timezone(timedelta(minutes=minutes))


@pytest.mark.parametrize(
    ("text", "rate"),
    [
        ("500/h", 12_000.0),
        ("2/s", 172_800.0),
        ("1000/day", 1000.0),
        ("10k/day", 10_000.0),
        ("1.5M/day", 1_500_000.0),
        ("1.5m/d", 1_500_000.0),
        ("30/min", 43_200.0),
        ("30/m", 43_200.0),
        ("7/week", 1.0),
        ("14/weeks", 2.0),
        ("10/month", 120 / 365.25),
        ("365.25/year", 1.0),
        (" 500 / hour ", 12_000.0),
        ("2 k/day", 2000.0),
        ("1e3/day", 1000.0),
        (".5/day", 0.5),
        ("0/day", 0.0),
        ("1G/day", 1e9),
    ],
)
def test_rates_are_read_as_visits_per_day(text: str, rate: float) -> None:
    assert parse_rate(text) == pytest.approx(rate, rel=1e-12)


@pytest.mark.parametrize("text", ["500", "-3", "1.5e3"])
def test_a_rate_without_a_unit_asks_for_one(text: str) -> None:
    with pytest.raises(ArgumentError, match="has no unit; write for example 500/h") as caught:
        parse_rate(text)
    assert text in str(caught.value)


@pytest.mark.parametrize(
    "text", ["", "fast", "5/fortnight", "/h", "-5/h", "5/h/h", "nan/day", "inf/day", "5//h", "5x/h"]
)
def test_what_is_not_a_rate_is_rejected(text: str) -> None:
    with pytest.raises(ArgumentError, match="is not a rate; write for example 500/h"):
        parse_rate(text)


def test_a_long_number_is_refused_as_quickly_as_a_short_one() -> None:
    # Each of these took minutes while a number could be matched in many ways.
    for parse in (parse_rate, parse_duration, parse_size):
        with pytest.raises(ArgumentError):
            parse(100_000 * "1" + "?")
    assert (parse_rate("1.5/day"), parse_rate("1./day"), parse_rate(".5/day")) == (1.5, 1.0, 0.5)


def test_a_rate_too_large_for_a_float_is_rejected() -> None:
    with pytest.raises(ArgumentError, match="is too large; write for example 500/h"):
        parse_rate("1e308/s")


@given(st.floats(min_value=0, max_value=1e12))
def test_a_number_per_day_is_read_exactly(rate: float) -> None:
    assert parse_rate(f"{rate!r}/day") == rate


@pytest.mark.parametrize(
    ("text", "days"),
    [
        ("30d", 30.0),
        ("6h", 0.25),
        ("90m", 0.0625),
        ("90min", 0.0625),
        ("43200s", 0.5),
        ("2w", 14.0),
        ("50ms", 50 / 86_400_000),
        ("1s500ms", 1.5 / 86_400),
        ("12 months", 365.25),
        ("2y", 730.5),
        ("1h30m", 0.0625),
        ("1 day 12 hours", 1.5),
        ("1.5 d", 1.5),
        ("0s", 0.0),
    ],
)
def test_durations_are_read_as_days(text: str, days: float) -> None:
    assert parse_duration(text) == pytest.approx(days, rel=1e-12)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("30", "has no unit"),
        ("", "is not a duration"),
        ("-3d", "is not a duration"),
        ("3 fortnights", "is not a duration"),
        ("1d and 2h", "is not a duration"),
        ("soon", "is not a duration"),
        ("1e308w", "is too long"),
    ],
)
def test_what_is_not_a_duration_is_rejected(text: str, why: str) -> None:
    with pytest.raises(ArgumentError, match=f"{why}; write for example 30d, 6h or 1h30m"):
        parse_duration(text)


@pytest.mark.parametrize(
    ("text", "at"),
    [
        ("2026-01-01", datetime(2026, 1, 1, tzinfo=UTC)),
        ("2026-01-01 12:30", datetime(2026, 1, 1, 12, 30, tzinfo=UTC)),
        ("2026-01-01T12:30:45Z", datetime(2026, 1, 1, 12, 30, 45, tzinfo=UTC)),
        ("2026-01-01T12:30:00-05:00", datetime(2026, 1, 1, 17, 30, tzinfo=UTC)),
        ("1767225600", datetime(2026, 1, 1, tzinfo=UTC)),
        (" 1767225600.5 ", datetime(2026, 1, 1, 0, 0, 0, 500_000, tzinfo=UTC)),
        ("-86400", datetime(1969, 12, 31, tzinfo=UTC)),
    ],
)
def test_times_are_read_as_aware_utc(text: str, at: datetime) -> None:
    parsed = parse_time(text)
    assert parsed == at
    assert parsed.utcoffset() == timedelta(0)


@given(st.datetimes(timezones=st.integers(-1439, 1439).map(minutes_east)))
def test_a_time_written_in_any_zone_is_read_back(at: datetime) -> None:
    try:
        expected = at.astimezone(UTC)
    except OverflowError:
        with pytest.raises(ArgumentError, match="outside the years 1 to 9999"):
            parse_time(at.isoformat())
    else:
        assert parse_time(at.isoformat()) == expected


@pytest.mark.parametrize("text", ["", "yesterday", "2026-13-01", "2026-02-30", "12:30", "nan"])
def test_what_is_not_a_time_is_rejected(text: str) -> None:
    with pytest.raises(ArgumentError, match="is not a time; write 2026-01-31"):
        parse_time(text)


@pytest.mark.parametrize("text", ["1e13", "-1e13", "1e300", "0001-01-01T00:00:00+14:00"])
def test_times_outside_the_calendar_are_rejected(text: str) -> None:
    with pytest.raises(ArgumentError, match="is outside the years 1 to 9999"):
        parse_time(text)


@pytest.mark.parametrize(
    ("rate", "text"),
    [
        (3.2, "3.2 per day"),
        (1.0, "1 per day"),
        (0.99, "0.99 per day"),
        (0.5, "every 2 days"),
        (1 / 12, "every 12 days"),
        (1 / 200, "every 200 days"),
        (1 / 1461, "every 4 years"),
        (240.0, "10 per hour"),
        (14_400.0, "10 per minute"),
        (864_000.0, "10 per second"),
        (1e12, "11,574,074 per second"),
        (0.0, "never"),
        (float("nan"), "unknown"),
        (float("inf"), "no limit"),
    ],
)
def test_rates_read_as_people_say_them(rate: float, text: str) -> None:
    assert format_rate(rate) == text


@pytest.mark.parametrize(
    ("days", "text"),
    [
        (1.0, "1 day"),
        (1.5, "1.5 days"),
        (365.0, "365 days"),
        (3652.5, "10 years"),
        (0.5, "12 h"),
        (5 / 1440, "5 min"),
        (30 / 86_400, "30 s"),
        (0.0, "0 s"),
    ],
)
def test_durations_read_as_people_say_them(days: float, text: str) -> None:
    assert format_duration(days) == text


@given(st.floats(min_value=1e-6, max_value=1e9))
def test_a_formatted_rate_is_within_two_digits_of_the_rate(rate: float) -> None:
    words = format_rate(rate).replace(",", "").split()
    if words[0] == "every":
        written = 1 / (float(words[1]) * {"day": 1, "days": 1, "years": 365.25}[words[2]])
    else:
        per_day = {"day": 1, "hour": 24, "minute": 1440, "second": 86_400}
        written = float(words[0]) * per_day[words[2]]
    assert written == pytest.approx(rate, rel=0.06)


def test_quoted_text_is_short_and_on_one_line() -> None:
    assert quoted("a\nb") == r"'a\nb'"
    assert len(quoted("x" * 1000)) <= 42

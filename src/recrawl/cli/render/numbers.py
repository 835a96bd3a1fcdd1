"""Numbers for people."""

#: From here on, numbers are shown without a fraction.
WHOLE = 99.5


def count(number: int, thing: str) -> str:
    """Write a number of things.

    >>> count(1, "page"), count(2_000, "page")
    ('1 page', '2,000 pages')
    """
    return f"{number:,} {thing}" if number == 1 else f"{number:,} {thing}s"


def number(value: float) -> str:
    """Write a number with three digits, or as a whole number with thousands separators.

    >>> number(0.12345), number(4.0), number(12345.6)
    ('0.123', '4', '12,346')
    """
    return f"{value:.3g}" if value < WHOLE else f"{value:,.0f}"


def per_day(visits: float) -> str:
    """Write a rate of visits, always per day so that rates can be compared.

    >>> per_day(1.0), per_day(2_400.0)
    ('1 visit per day', '2,400 visits per day')
    """
    written = number(visits)
    return f"{written} visit per day" if written == "1" else f"{written} visits per day"


def small_percent(share: float) -> str:
    """Write a share in percent that may be small, but is not nothing.

    >>> small_percent(0.0), small_percent(0.0001), small_percent(0.25)
    ('0.0 %', 'under 0.1 %', '25.0 %')
    """
    return "under 0.1 %" if 0.0 < share < 0.001 else percent(share)  # noqa: PLR2004


def percent(share: float) -> str:
    """Write a share in percent, with enough digits to distinguish it from 100 %.

    >>> percent(0.95), percent(0.99996), percent(1.0)
    ('95.0 %', '99.996 %', '100.0 %')
    """
    digits = 1
    while share < 1 and digits < 12 and round(100 * share, digits) >= 100:  # noqa: PLR2004
        digits += 1
    return f"{100 * share:.{digits}f} %"

"""Boilerplate of the demo web that changes from day to day, without any page changing.

A day of the demo web lasts a few seconds. Fetching a page twice in a row cannot distinguish such
noise from a change: it differs only between visits.
"""

import math
from datetime import UTC, datetime, timedelta

from recrawl.demo.sites import Site, Slow
from recrawl.demo.text import KeyedRandom

#: Seconds of a day of the demo web, and its days in a week.
DAY, WEEK = 5.0, 7
#: Days of each week on which a site shows its banner.
BANNER_DAYS = range(3, 5)
#: The date of day 0.
_FIRST_DATE = datetime(2026, 3, 2, tzinfo=UTC)


def day_of(seconds: float) -> int:
    """Return the day of the demo web, some seconds after its pages began to change.

    >>> day_of(-math.inf), day_of(0.0), day_of(12.0)
    (0, 0, 2)
    """
    return 0 if seconds < 0.0 else math.floor(seconds / DAY)


def last_slow_change(site: Site, day: int) -> int | None:
    """Return the day on which a site's slow noise last changed; None if never."""
    days = range(day, max(day - WEEK, 0), -1)
    return next((each for each in days if _shown(site, each) != _shown(site, each - 1)), None)


def _shown(site: Site, day: int) -> tuple[object, ...]:
    """Return what determines a site's slow noise on a day."""
    return tuple(
        {
            Slow.DATE: day,
            Slow.BOX: day // WEEK,
            Slow.BANNER: day // WEEK if day % WEEK in BANNER_DAYS else None,
        }[kind]
        for kind in site.slow
    )


def date(site: Site, day: int) -> str:
    """Return the line with today's date, if the site has one."""
    if Slow.DATE not in site.slow:
        return ""
    today = _FIRST_DATE + timedelta(days=day)
    return f'<p class="today">{today:%A}, {today.day} {today:%B %Y}</p>\n'


def banner(site: Site, day: int) -> str:
    """Return the banner, on days when the site shows one."""
    if Slow.BANNER not in site.slow or day % WEEK not in BANNER_DAYS:
        return ""
    text = site.banners[day // WEEK % len(site.banners)]
    return f'<div class="notice"><p>{text}</p></div>\n'


def box(site: Site, titles: list[tuple[str, str]], page: int, day: int, seed: int) -> str:
    """Return the box of this week's links, if the site has one.

    Args:
        site: The site.
        titles: The paths and titles of the other pages of the site, as HTML.
        page: The number of the page: each has its own links.
        day: The day.
        seed: The seed of the web.
    """
    if Slow.BOX not in site.slow or not titles:
        return ""
    rng = KeyedRandom(seed, page, "box", day // WEEK)
    left, items = list(titles), []
    for _ in range(min(5, len(left))):
        path, title = left.pop(rng.integer(len(left)))
        items.append(f'<li><a href="{path}">{title}</a></li>')
    return f'<div class="weekly"><h2>{site.box_title}</h2><ol>{"".join(items)}</ol></div>\n'

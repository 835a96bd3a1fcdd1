"""Templates, and the only place where untrusted text is escaped.

Everything that a template shows is escaped twice over: characters that steer terminals or turn
the direction of writing are spelled out, and what means something in HTML is quoted. No template
switches that off; the policy that goes with every page forbids scripts and styles that are not
files of ours.
"""

import hashlib
import math
from datetime import UTC, datetime
from functools import cache
from http import HTTPStatus
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

from fastapi import Request
from fastapi.responses import HTMLResponse, Response
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from recrawl.escaping import printable
from recrawl.inspect.explain import how_often, percent_sign
from recrawl.records import MICROSECONDS_A_DAY, SECONDS_A_DAY
from recrawl.service.auth.tokens import Access, User
from recrawl.service.dashboard.forms import form_token
from recrawl.units import format_duration, write_rate

HERE = Path(__file__).parent
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
)
#: Without a referrer among our own pages, browsers would not say that forms come from them.
HEADERS = {"Content-Security-Policy": POLICY, "Referrer-Policy": "same-origin"}
#: Pages by path, as the navigation has them.
NAVIGATION = (
    ("/", "Overview"),
    ("/pages", "Pages"),
    ("/changes", "Changes"),
    ("/hosts", "Hosts"),
    ("/budget", "Budget"),
    ("/settings", "Settings"),
    ("/docs", "API"),
)
#: Shown in place of a missing value.
NONE = "–"
KILO = 1_000
#: Seconds that count as no time at all.
JUST_NOW = 1.0


def render(
    request: Request,
    template: str,
    code: int = HTTPStatus.OK,
    **values: Any,  # noqa: ANN401 - whatever the template shows
) -> Response:
    """Return a page."""
    user: User | None = getattr(request.state, "user", None)
    text = (
        environment()
        .get_template(template)
        .render(
            path=request.url.path,
            user=user,
            may_crawl=user is not None and user.access >= Access.CRAWL,
            is_admin=user is not None and user.access >= Access.ADMIN,
            form_token=form_token(request),
            navigation=NAVIGATION,
            **values,
        )
    )
    return HTMLResponse(text, code, headers=HEADERS)


@cache
def environment() -> Environment:
    """Return the environment of all templates."""
    made = Environment(
        loader=FileSystemLoader(HERE / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_spelled_out,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters.update(
        age=age,
        bytes=size,
        count=count,
        due=due,
        percent=percent,
        period=period,
        rate=rate,
        requests=requests,
        when=when,
    )
    made.globals.update(asset=asset, page_link=page_link, query=query, percent_sign=percent_sign)
    return made


def _spelled_out(value: Any) -> Any:  # noqa: ANN401 - whatever a template shows
    """Spell out control characters in text; what is HTML already is ours."""
    if isinstance(value, str) and not isinstance(value, Markup):
        return printable(value, lines=True)
    return value


@cache
def asset(name: str) -> str:
    """Return the path of a static file, which is another one when its content changes."""
    digest = hashlib.blake2b((HERE / "static" / name).read_bytes(), digest_size=6).hexdigest()
    return f"/static/{name}?{digest}"


def page_link(url: str, **more: Any) -> str:  # noqa: ANN401 - as `query`
    """Return the path of the page about a page.

    >>> page_link("https://example.org/?a=1&b")
    '/page?url=https%3A%2F%2Fexample.org%2F%3Fa%3D1%26b'
    """
    return f"/page?url={quote(url, safe='')}{'&' if more else ''}{urlencode(more)}"


def query(values: dict[str, Any], **changes: Any) -> str:  # noqa: ANN401 - anything in a URL
    """Return a query with some values changed; those that are empty are left out.

    >>> query({"text": "a b", "order": "url", "offset": 50}, order="rate", offset="")
    '?text=a+b&order=rate'
    """
    merged = {name: value for name, value in (values | changes).items() if value not in ("", None)}
    return f"?{urlencode(merged)}"


def percent(share: float | None, digits: int = 1) -> str:
    """Return a share in percent.

    >>> percent(0.8734), percent(None)
    ('87.3 %', '–')
    """
    return NONE if share is None or math.isnan(share) else f"{100 * share:.{digits}f} %"


def count(number: float | None) -> str:
    """Return a number with its thousands separated.

    >>> count(1234567)
    '1,234,567'
    """
    return NONE if number is None else f"{number:,.0f}"


def size(number: float) -> str:
    """Return a number of bytes.

    >>> size(0), size(12_345), size(3_000_000)
    ('0 bytes', '12 kB', '3.0 MB')
    """
    for power, unit in ((3, "GB"), (2, "MB")):
        if number >= KILO**power:
            return f"{number / KILO**power:.1f} {unit}"
    return f"{number / KILO:.0f} kB" if number >= KILO else f"{number:.0f} bytes"


def rate(per_day: float | None) -> str:
    """Return how often something happens, given per day.

    >>> rate(0.2), rate(None)
    ('every 5 days', '–')
    """
    return NONE if per_day is None else how_often(per_day)


def requests(per_day: float) -> str:
    """Return how many requests a budget allows, given per day, as people type it.

    >>> requests(2000.0), requests(0.5)
    ('2000/day', '0.5/day')
    """
    return write_rate(per_day)


def period(seconds: float | None) -> str:
    """Return how long something takes.

    >>> period(90.0), period(0.25), period(0.0)
    ('1.5 min', '250 ms', '0 s')
    """
    if seconds is None or math.isinf(seconds):
        return NONE
    if 0.0 < seconds < 1.0:
        return f"{KILO * seconds:.0f} ms" if seconds >= 1.0 / KILO else "under 1 ms"
    return format_duration(seconds / SECONDS_A_DAY)


def when(microseconds: int | None) -> str:
    """Return a time in UTC.

    >>> when(0)
    '1970-01-01 00:00:00'
    """
    if microseconds is None:
        return NONE
    return f"{datetime.fromtimestamp(microseconds // 1_000_000, UTC):%Y-%m-%d %H:%M:%S}"


def age(microseconds: int | None, now: int) -> str:
    """Return how far a time is from the present.

    >>> age(0, 90_000_000), age(7_200_000_000, 0), age(None, 0), age(5, 6)
    ('1.5 min ago', 'in 2 h', 'never', 'just now')
    """
    if microseconds is None:
        return "never"
    days = (now - microseconds) / MICROSECONDS_A_DAY
    if abs(days) * SECONDS_A_DAY < JUST_NOW:
        return "just now" if days >= 0.0 else "now"
    return f"{format_duration(days)} ago" if days > 0.0 else f"in {format_duration(-days)}"


def due(microseconds: int, now: int) -> str:
    """Return how far off a visit is.

    >>> due(7_200_000_000, 0), due(0, 500_000), due(0, 90_000_000)
    ('in 2 h', 'now', 'due for 1.5 min')
    """
    seconds = (now - microseconds) / 1e6
    if seconds < -JUST_NOW:
        return age(microseconds, now)
    return "now" if seconds < JUST_NOW else f"due for {period(seconds)}"

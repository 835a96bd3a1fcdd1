"""What the fuzzer feeds: each target makes its input from a seeded generator, and uses it.

A target returns numbers that must not be NaN. It may raise no exception but recrawl's own.
"""

import asyncio
import random
import tempfile
from collections.abc import Awaitable, Callable, Iterable
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from benchmarks import fuzz_inputs as inputs
from recrawl import (
    LLN,
    MLE,
    SA,
    SAM,
    BiasReduced,
    Frontier,
    GammaFilter,
    LastModified,
    MomentMatching,
    Naive,
    Observations,
    Prior,
    allocate,
    budget_for,
    estimate,
    fit_host_priors,
    fit_prior,
    freshness_curve,
    load_state,
    proportional,
    save_state,
    uniform,
)
from recrawl.content.html import in_utf8
from recrawl.content.links import links
from recrawl.content.reader import Mode, Reader
from recrawl.content.sitemaps import read_date, read_sitemap
from recrawl.crawler.seeds import read_seeds
from recrawl.crawler.setting_sources import load_settings
from recrawl.errors import RecrawlError
from recrawl.estimation.observations import observe
from recrawl.formats.crawl_log import read_log
from recrawl.formats.importance import read_importance
from recrawl.formats.traces import read_trace
from recrawl.hosts import host_of
from recrawl.http.headers import decoded, location, retry_after, sendable
from recrawl.http.robots import Robots
from recrawl.records import Response
from recrawl.units import (
    format_duration,
    format_rate,
    parse_duration,
    parse_http_date,
    parse_rate,
    parse_time,
)
from recrawl.urls import canonical, origin_of, redirected

Numbers = Iterable[Any]
Target = Callable[[random.Random], Numbers]

_LOG = b"""page,time,changed,outcome,crawl_rate,last_modified,importance
http://e.org/a,2026-01-01,1,changed,0.5,2025-12-31T10:00:00Z,1
http://e.org/a,2026-01-02T12:30:00Z,0,unchanged,,,2.5
"b ""quoted"" ",1767225600,,first,,1767225600.25,
b,2026-01-03 01:02:03+02:00,,failed,1e3,,0
"""
_IMPORTANCE = b"page,importance\na,1.5\nb,0\n7,2e3\n"
_PAGES = b"page,name,weight,born,died\n1,a,1,2026-01-01,\n2,b,0.5,100,2026-02-01\n"
_CHANGES = b"page,time\n1,2026-01-05\n2,200\n1,2026-01-05\n"
_SEEDS = [b"http://e.org/a\n# no\nhttps://e.org/b # x\n", b"url,importance\nhttp://e.org/,2\n"]
_SETTINGS = [b'budget = "500/h"\nhost_delay = "2s"\nuser_agent = "me/1.0"\nconnections = 8\n']
_TYPES = ["text/html", "text/html; charset=utf-8", "text/html;charset=shift_jis", "text/plain", ""]
_TYPES += ["application/json", "application/xml; charset=utf-16", "text/html; charset=idna"]
_MODES: list[Mode] = ["bytes", "text", "main", "selector"]
_HTML = [
    (
        b"<!doctype html><html><head><meta charset=utf-8><title>A</title><base href=/x/></head>"
        b"<body><nav><a href=/a>A</a></nav><main><h1>Title</h1><p>Text <b>bold</b> 12:30 "
        b"<a rel=nofollow href='b?utm_source=x&id=9f8e7d6c'>link</a></p>"
        b"<table><tr><td>1<td>2</table></main>"
        b"<script>var t=1;</script><footer>&copy; 2026</footer></body></html>"
    ),
    b"<p>a<p>b<div id=x class='y z'><ul><li>1<li>2</ul></div><svg><a href=q>s</a></svg>",
    b'{"a": [1, 2, {"b": "text"}], "time": "2026-01-01T00:00:00Z"}',
]
_MAPS = [
    (
        b'<?xml version="1.0" encoding="UTF-8"?><urlset xmlns="http://www.sitemaps.org/schemas/sitemap/'
        b'0.9"><url><loc>http://e.org/a</loc><lastmod>2026-01-01</lastmod></url></urlset>'
    ),
    b"<sitemapindex><sitemap><loc>http://e.org/s.xml.gz</loc></sitemap></sitemapindex>",
    (
        b"<rss><channel><item><link>http://e.org/b</link><pubDate>Thu, 01 Jan 2026 11:00:00 GMT"
        b"</pubDate></item></channel></rss>"
    ),
    b"http://e.org/a\nhttp://e.org/b\n",
]
_ROBOTS = [
    (
        b"User-agent: *\nDisallow: /a*b$\nAllow: /a\nCrawl-delay: 2.5\nRequest-rate: 1/5\n"
        b"Sitemap: http://e.org/s.xml\n\nUser-agent: recrawl\nDisallow:\n"
    ),
]
_URLS = ["http://example.org:80/a/../b?y=2&x=1#c", "https://bücher.example/%7Ea;p?q=%zz", "//e/x"]
_URLS += ["http://0x7f.1/", "http://[::1]:8080/", "HTTP://user:pw@e.org/", "../c?d#e", "mailto:a@b"]
_DATES = ["Thu, 01 Jan 2026 11:00:00 GMT", "2026-01-01T12:00:00+01:00", "120", "Thu, 1-Jan-26 1:1"]
_UNITS = ["500/h", "1.5M/day", "1h30m", "30d", "2026-01-31T12:30:00Z", "1767225600", "50ms", ".5w"]


def _file(name: str, data: bytes) -> Path:
    path = _folder() / name
    path.write_bytes(data)
    return path


@cache
def _folder() -> Path:
    return Path(tempfile.mkdtemp(prefix="recrawl-fuzz-"))


@cache
def _tables() -> dict[str, list[bytes]]:
    """Return small Parquet files of each kind."""
    log = {"page": ["a", "b", "ü"], "time": [1, 2, 3], "changed": [1, 0, None]}
    log |= {"importance": [1.0, 2.0, 0.5], "crawl_rate": [1.0, None, 2.0]}
    weights = {"page": ["a", "b", "ü"], "importance": [1.0, 2.0, 3.0]}
    options: list[dict[str, Any]] = [{}, {"compression": "none", "use_dictionary": False}]
    return {
        "log": [inputs.in_parquet(log, **kind) for kind in options],
        "importance": [inputs.in_parquet(weights, **kind) for kind in options],
    }


def csv_log(rng: random.Random) -> Numbers:
    """A crawl log in CSV, and the estimates from it."""
    log = read_log(_file("log.csv", inputs.mutated(rng, [_LOG])), ignore_unknown=True)
    seen = observe(log)
    return _numbers(rng, _method(rng), seen)


def parquet_log(rng: random.Random) -> Numbers:
    """A crawl log in Parquet: damaged bytes, or columns of unexpected types."""
    if rng.random() < 0.5:
        data = inputs.mutated(rng, _tables()["log"])
    else:
        columns: dict[str, Any] = {"page": ["a", "b", "c"], "time": [1, 2, 3], "changed": [1, 0, 1]}
        names = ["page", "time", "changed", "outcome", "crawl_rate", "last_modified", "importance"]
        columns |= {rng.choice(names): inputs.odd_array(rng) for _ in range(rng.choice((1, 1, 2)))}
        data = inputs.in_parquet(columns)
    log = read_log(_file("log.parquet", data))
    return _numbers(rng, _method(rng), observe(log))


def importance(rng: random.Random) -> Numbers:
    """A file of importances."""
    seeds = [_IMPORTANCE, *_tables()["importance"]]
    data = inputs.mutated(rng, seeds)
    if rng.random() < 0.3:
        data = inputs.in_parquet({"page": ["a", "b", "7"], "importance": inputs.odd_array(rng)})
    read_importance(_file("importance", data), pa.array(["a", "b", "7", "ü"]))
    return ()


def trace(rng: random.Random) -> Numbers:
    """A trace of two tables."""
    folder = _folder() / "trace"
    folder.mkdir(exist_ok=True)
    (folder / "pages.csv").write_bytes(inputs.mutated(rng, [_PAGES]))
    (folder / "changes.csv").write_bytes(inputs.mutated(rng, [_CHANGES]))
    return (read_trace(folder).importance,)


def seeds(rng: random.Random) -> Numbers:
    """A list of URLs to crawl."""
    pages = read_seeds(_file(rng.choice(("seeds.txt", "seeds.csv")), inputs.mutated(rng, _SEEDS)))
    return [page.importance for page in pages if page.importance is not None]


def settings(rng: random.Random) -> Numbers:
    """A file of settings."""
    load_settings(file=_file("recrawl.toml", inputs.mutated(rng, _SETTINGS)), environ={})
    return ()


def state(rng: random.Random) -> Numbers:
    """A saved state."""
    path = _folder() / "state.npz"
    save_state(path, LLN(), LLN().start(2))
    path.write_bytes(inputs.mutated(rng, [path.read_bytes()]))
    load_state(path, LLN())
    return ()


def html(rng: random.Random) -> Numbers:
    """A page, its fingerprint and its noise."""
    mode = rng.choice(_MODES)
    reader = Reader(mode, "main, #x" if mode == "selector" else None)
    kind = rng.choice(_TYPES) or None
    one, other = (reader.read(inputs.mutated(rng, _HTML), kind) for _ in range(2))
    one.fingerprint(one.noise(other))
    return ()


def page_links(rng: random.Random) -> Numbers:
    """The links of a page."""
    url = rng.choice(("http://e.org/a/", "https://e.org/b?c=1"))
    for link in links(inputs.mutated(rng, _HTML), rng.choice(_TYPES), url):
        origin_of(link)
    return ()


def sitemap(rng: random.Random) -> Numbers:
    """A sitemap or feed."""
    for address, _ in read_sitemap(inputs.mutated(rng, _MAPS)).entries:
        origin_of(address)
    return ()


@cache
def _loop() -> asyncio.AbstractEventLoop:
    return asyncio.new_event_loop()


def robots(rng: random.Random) -> Numbers:
    """A robots.txt, and whether it allows a page."""
    body = inputs.mutated(rng, _ROBOTS)

    async def fetch(url: str, _: int) -> Response:
        return Response(url, 200, 0, body=body)

    async def ask() -> float:
        known = Robots(fetch, "recrawl/1.0")
        rules = await known.rules("http://e.org/a")
        rules.allows("http://e.org/" + rng.choice(("a", "aXb", "?q=%C3%BC", "robots.txt")))
        await known.close()
        return rules.delay

    return [_run(ask())]


def _run(work: Awaitable[float]) -> float:
    return _loop().run_until_complete(asyncio.ensure_future(work, loop=_loop()))


def charset(rng: random.Random) -> Numbers:
    """The encoding of a page."""
    kind = inputs.text(rng, _TYPES) if rng.random() < 0.5 else rng.choice(_TYPES)
    in_utf8(inputs.mutated(rng, _HTML), kind).decode()
    return ()


def headers(rng: random.Random) -> Numbers:
    """Headers as a server sends them."""
    raw = inputs.mutated(rng, [*(date.encode() for date in _DATES), b'W/"etag"', b"/caf\xe9"])
    ((_, value),) = decoded(((b"x", raw),))
    sendable(value)
    with suppress(RecrawlError):
        redirected("http://e.org/a", location(value))
    return [retry_after(value, 1e9) or 0.0]


def dates(rng: random.Random) -> Numbers:
    """Dates as servers and sitemaps write them."""
    text = inputs.text(rng, _DATES)
    return [parse_http_date(text) or 0, read_date(text) or 0]


def urls(rng: random.Random) -> Numbers:
    """URLs, canonical and redirected."""
    url = inputs.text(rng, _URLS)
    host_of(url)
    with suppress(RecrawlError):
        redirected("http://e.org/a/b", url)
    found = canonical(url)
    origin_of(found)
    return [] if canonical(found).startswith(origin_of(found)) else [np.nan]


def units(rng: random.Random) -> Numbers:
    """Rates, durations and times as people type them."""
    text, found = inputs.text(rng, _UNITS), []
    for parse in (parse_rate, parse_duration):
        with suppress(RecrawlError):
            found.append(parse(text))
    with suppress(RecrawlError):
        parse_time(text)
    number = rng.choice(inputs.EXTREMES[:-6])
    with suppress(OverflowError):
        float(number)
        format_rate(float(number))
        format_duration(abs(float(number)))
    return found


def _method(rng: random.Random) -> Any:  # noqa: ANN401
    prior = rng.choice((None, Prior(max(inputs.positive(rng), 1e-12), inputs.positive(rng))))
    half_life = rng.choice((None, inputs.positive(rng)))
    makers: list[Callable[[], Any]] = [Naive, BiasReduced, MLE, MomentMatching, SAM, SA, LLN]
    makers += [lambda: SA(averaged=True), lambda: LLN("log"), lambda: LLN(rng.choice((1, 1e-9)))]
    makers += [lambda: GammaFilter(prior, half_life), lambda: LastModified(prior, half_life)]
    return rng.choice(makers)()


def _numbers(rng: random.Random, method: Any, seen: Observations) -> Numbers:  # noqa: ANN401
    state = method.update(method.start(seen.pages), seen)
    level = rng.choice((0.5, 0.95, 0.999999))
    low, high = method.interval(state, level)
    rate = method.rate(state)
    unordered = np.where((low <= high) & (rate >= 0) & np.isfinite(rate), 0.0, np.nan)
    return [rate, low, high, unordered]


def estimators(rng: random.Random) -> Numbers:
    """Every estimator, with columns of every kind."""
    rows = rng.choice((0, 1, 2, 5, 30))
    page: Any = [rng.randrange(3) for _ in range(rows)]
    if rng.random() < 0.2:
        page = [rng.choice((None, "a", "b", 1, 2.5, np.nan)) for _ in range(rows)]
    found = estimate(
        page,
        inputs.column(rng, rows),
        inputs.flags(rng, rows),
        crawl_rate=None if rng.random() < 0.6 else inputs.column(rng, rows),
        age=None if rng.random() < 0.6 else inputs.column(rng, rows),
        method=_method(rng),
    )
    low, high = found.interval(0.9)
    return [found.rate, low, high, np.where(np.isfinite(found.rate), 0.0, np.nan)]


def priors(rng: random.Random) -> Numbers:
    """Priors learned from a fleet."""
    rows = rng.choice((1, 3, 12))
    page = [rng.randrange(4) for _ in range(rows)]
    seen = Observations.of(inputs.column(rng, rows), inputs.flags(rng, rows), page=page, pages=4)
    fleet, hosts = fit_prior(seen), fit_host_priors(seen, np.array([0, 1, 0, rng.randrange(-1, 2)]))
    return [fleet.rate, hosts.rate]


def allocators(rng: random.Random) -> Numbers:
    """How a budget is shared."""
    pages = rng.choice((0, 1, 3, 20))
    rates = inputs.column(rng, pages)
    budget = inputs.value(rng) if rng.random() < 0.2 else inputs.positive(rng)
    limits: dict[str, Any] = {}
    for name in ("importance", "cost", "min_rate", "max_rate"):
        if rng.random() < 0.2:
            limits[name] = inputs.column(rng, pages)
    if rng.random() < 0.3:
        limits |= {"host": [rng.randrange(-1, 4) if rng.random() < 0.1 else 0] * pages}
        limits |= {"host_budget": inputs.column(rng, 4)}
    limits |= {"visits": rng.choice(("poisson", "periodic"))}
    kind = rng.randrange(8)
    if kind == 0:
        return [uniform(rates, budget).freshness, proportional(rates, budget).freshness]
    if kind == 1:
        return [freshness_curve(rates, [budget, budget], **limits)]
    if kind == 2:
        return [budget_for(rng.random(), rates, **limits)]
    found = allocate(rates, budget, **limits)
    return [found.crawl_rate, found.price, found.freshness, found.budget_used]


def _some(rng: random.Random) -> Any:  # noqa: ANN401
    """Return page numbers, most of them good."""
    if rng.random() < 0.05:
        return rng.choice((inputs.value(rng), ["a", None], [-1], [2**31], [[0]]))
    return rng.sample(range(12), rng.randrange(6))


def _any(rng: random.Random, usual: float) -> Any:  # noqa: ANN401
    return inputs.value(rng) if rng.random() < 0.05 else usual


def frontier(rng: random.Random) -> Numbers:
    """A frontier that is used in any order, with any arguments."""
    used = Frontier(
        _any(rng, inputs.positive(rng)),
        half_life=_any(rng, inputs.positive(rng)),
        host_delay=_any(rng, rng.choice((0.0, 1e-3))),
        host_budget=_any(rng, inputs.positive(rng)) if rng.random() < 0.3 else None,
        neighbours=rng.random() < 0.7,
        catch_up=_any(rng, 0.25),
    )
    now, found = 0.0, []
    for _ in range(rng.randrange(2, 14)):
        now += rng.choice((0.0, 1e-9, 0.3, 5.0, 1e6))
        with suppress(RecrawlError):
            found.append(_use(rng, used, _any(rng, now)))
    found.append(used.expected_freshness(now + 1.0))
    return [*found, used.price]


def _use(rng: random.Random, used: Frontier, now: Any) -> Any:  # noqa: ANN401
    page, number = _some(rng), _any(rng, rng.random() * 2.0)
    host = [rng.randrange(3) for _ in range(len(page) if isinstance(page, list) else 1)]
    uses: list[Callable[[], Any]] = [
        lambda: used.add(page, now=now, importance=number, host=host),
        lambda: used.add(page, now=now, last_visit=_any(rng, -1.0), belief=Prior(1.0, number)),
        lambda: used.take(now, _any(rng, 5)),
        lambda: used.take(now, 50),
        lambda: used.report(page, now, changed=rng.random() < 0.5, age=_any(rng, 0.5)),
        lambda: used.report(page, now, changed=True, failed=rng.random() < 0.5),
        lambda: used.signal(page, now, number),
        lambda: used.defer(_any(rng, 0), now),
        lambda: used.limit_host(_any(rng, 0), delay=number, budget=_any(rng, 9.0)),
        lambda: used.remove(page),
        lambda: used.set_importance(page, number),
        lambda: used.spend(_any(rng, 2)),
        lambda: used.settle(now),
        lambda: used.due(page),
        lambda: used.belief(page).rate,
    ]
    return rng.choice(uses)() if rng.random() < 0.7 else uses[0]()


#: Every target with its share of the inputs: a file takes as long as twenty documents.
TARGETS: dict[str, tuple[Target, int]] = {
    "CSV logs": (csv_log, 3),
    "Parquet logs": (parquet_log, 2),
    "importance files": (importance, 2),
    "traces": (trace, 1),
    "seed files": (seeds, 5),
    "settings": (settings, 5),
    "saved states": (state, 1),
    "HTML": (html, 12),
    "links": (page_links, 8),
    "sitemaps": (sitemap, 12),
    "robots.txt": (robots, 8),
    "charsets": (charset, 6),
    "headers": (headers, 8),
    "dates": (dates, 8),
    "URLs": (urls, 12),
    "units": (units, 8),
    "estimators": (estimators, 6),
    "priors": (priors, 1),
    "allocators": (allocators, 5),
    "frontier": (frontier, 6),
}

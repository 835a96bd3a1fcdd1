"""What the fuzzer feeds: each target makes its input from a seeded generator, and uses it.

A target returns numbers that must not be NaN. It may raise no exception but recrawl's own.
"""

import random
import tempfile
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from benchmarks import fuzz_inputs as inputs
from benchmarks import fuzz_web as web
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
from recrawl.config.sources import load_settings
from recrawl.engine.discovery.seeds import read_seeds
from recrawl.errors import RecrawlError
from recrawl.estimation.observations import observe
from recrawl.formats.crawl_log import read_log
from recrawl.formats.importance import read_importance
from recrawl.formats.traces import read_trace
from recrawl.http.cookies import cookie_header, read_cookies
from recrawl.units import (
    format_duration,
    format_rate,
    parse_duration,
    parse_rate,
    parse_time,
)

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
_SETTINGS = [
    b'budget = "500/h"\nhost_delay = "2s"\nuser_agent = "me/1.0"\nconnections = 8\n',
    (
        b'[host."example.org"]\ndelay = "50ms"\nbudget = "10/month"\nheaders = { X = "1" }\n'
        b'[host."*.example.net"]\nproxy = "http://e.org:3128"\nmin_change = "2%"\n'
        b'[url."https://e.org/a/*"]\nselector = "p, h1"\nmax_interval = "1h"\nimportance = 9\n'
    ),
]
_COOKIES = [b".e.org\tTRUE\t/\tFALSE\t0\ta\tb\n# no\n#HttpOnly_e.org\tFALSE\t/x\tTRUE\t9\tc\td\n"]
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


def cookies(rng: random.Random) -> Numbers:
    """A file of cookies, and what is sent of it."""
    file = inputs.text(rng, [cookie.decode() for cookie in _COOKIES])
    read = read_cookies(file.splitlines(), "cookies.txt")
    cookie_header(read, "http://e.org/x", 1.0)
    return ()


def state(rng: random.Random) -> Numbers:
    """A saved state."""
    path = _folder() / "state.npz"
    save_state(path, LLN(), LLN().start(2))
    path.write_bytes(inputs.mutated(rng, [path.read_bytes()]))
    load_state(path, LLN())
    return ()


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
    "cookies": (cookies, 3),
    "responses": (web.responses, 10),
    "HTML": (web.html, 12),
    "Markdown": (web.markdown, 4),
    "links": (web.page_links, 8),
    "sitemaps": (web.sitemap, 12),
    "hubs of feeds": (web.hubs, 4),
    "submissions": (web.submissions, 3),
    "robots.txt": (web.robots, 8),
    "charsets": (web.charset, 6),
    "headers": (web.headers, 8),
    "dates": (web.dates, 8),
    "URLs": (web.urls, 12),
    "units": (units, 8),
    "estimators": (estimators, 6),
    "priors": (priors, 1),
    "allocators": (allocators, 5),
    "frontier": (frontier, 6),
}

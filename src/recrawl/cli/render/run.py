"""A run shown live on a terminal or as log lines, and its summary."""

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from typing import Any

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.text import Text

from recrawl.cli.logs import remark
from recrawl.cli.output import Lasting, say, say_json
from recrawl.cli.render.numbers import count, percent
from recrawl.cli.render.terminal import Table
from recrawl.cli.render.units import iso, second, size, until
from recrawl.engine.stats import Stats
from recrawl.escaping import printable
from recrawl.records import MICROSECONDS_A_DAY, Outcome, Visit
from recrawl.units import format_duration, format_worth, write_rate

#: Microseconds between two log lines.
LOG_EVERY = 10_000_000
#: The share of a budget that counts as all of it.
SPENT = 0.9
#: The share of pages that are always about to be visited.
FEW_DUE = 0.1
#: Maximum number of hosts in backoff, and of failing sitemaps, that are shown.
MAX_CLOSED = MAX_FAILING = 5
#: Shown instead of a freshness when there is nothing that could be fresh.
NO_COPIES = "no copies yet"

Watch = Callable[[Stats], object]
#: What is shown, by name.
Numbers = list[tuple[str, str]]


@contextmanager
def screen_watch(console: Console, path: str) -> Iterator[Watch]:
    """Show a run live on a terminal until it ends."""
    waiting = Text("Loading.")
    lasting = Lasting()
    live = Live(waiting, console=console, auto_refresh=False, transient=True)
    with lasting.guard():
        live.start(refresh=True)

    def update(stats: Stats) -> None:
        live.update(dashboard(stats, path, console.width), refresh=True)

    try:
        yield lambda stats: lasting.write(update, stats)
    finally:
        # The terminal may be gone by now.
        with lasting.guard():
            live.stop()


def log_watch(path: str, lasting: Lasting, *, as_json: bool) -> Watch:
    """Say that the run is loading; return a function that writes a log line every ten seconds."""
    remark(f"loading {path}", logging.INFO)
    last = 0

    def watch(stats: Stats) -> None:
        nonlocal last
        if stats.now - max(last, stats.began) < LOG_EVERY:
            return
        last = stats.now
        if as_json:
            lasting.write(lambda: say_json(as_object(stats), indent=None))
        else:
            lasting.write(say, log_line(stats))

    return watch


def print_end(stats: Stats, min_interval: float | None, *, as_json: bool) -> None:
    """Print the summary of a run.

    Args:
        stats: What it did.
        min_interval: Minimum days between two visits to a page; None if they differ by site.
        as_json: Whether to print an object.
    """
    if as_json:
        say_json({**as_object(stats), "end": True}, indent=None)
        return
    ran = format_duration((stats.now - stats.began) / MICROSECONDS_A_DAY)
    say(f"Ran for {ran}: {counts(stats)}")
    say(spending(stats))
    say(f"Expected freshness at the end: {fresh(stats)}")
    for line in (*trouble(stats), *failing_sitemaps(stats), *unspent(stats, min_interval)):
        say(line)
    say("`recrawl status` shows what is next, and `recrawl show URL` why.")


def counts(stats: Stats) -> str:
    """Return the number of visits by outcome.

    >>> from collections import Counter
    >>> stats = Stats(0, 1.0, outcomes=Counter({Outcome.UNCHANGED: 2}), not_modified=1)
    >>> counts(stats)
    '2 visits: 0 first, 0 changed, 2 unchanged (1 not modified), 0 failed, 0 gone'
    """
    found = stats.outcomes
    return (
        f"{count(stats.visits, 'visit')}: {found[Outcome.FIRST]:,} first, "
        f"{found[Outcome.CHANGED]:,} changed, {found[Outcome.UNCHANGED]:,} unchanged "
        f"({stats.not_modified:,} not modified), {found[Outcome.FAILED]:,} failed, "
        f"{found[Outcome.GONE]:,} gone"
    )


def spending(stats: Stats) -> str:
    """Return the number of requests, and the share of the budget they used.

    >>> day = 86_400_000_000
    >>> spending(Stats(0, 4.0, now=day, requests=1)).partition(";")[0]
    '1 request for pages, 25.0 % of the budget (4/day)'
    >>> spending(Stats(0, 4.0, now=day // 8, requests=1)).partition(";")[0]
    '1 request for pages (budget: 4/day)'
    >>> spending(Stats(0, 4.0, now=day, requests=9, filled=8)).partition(";")[0]
    '9 requests for pages, 8 of them outside the budget, 25.0 % of the budget (4/day)'
    """
    used, budget = stats.budget_used, write_rate(stats.budget)
    share = (
        f" (budget: {budget})" if used is None else f", {percent(used)} of the budget ({budget})"
    )
    filled = f", {stats.filled:,} of them outside the budget" if stats.filled else ""
    return (
        f"{count(stats.requests, 'request')} for pages{filled}{share}; "
        f"{stats.robots:,} for robots.txt, {stats.files:,} for sitemaps; "
        f"{size(stats.transferred)} received"
    )


def unspent(stats: Stats, min_interval: float | None) -> list[str]:
    """Return a line that says why budget is left, if it is and if that is known.

    Where pages are due all the same, their hosts hold them up:

    >>> from dataclasses import replace
    >>> held = Stats(0, 2_880.0, now=5 * 10**8, pages=20, waiting=9, held=8)
    >>> unspent(held, 1 / 144)
    ['Budget is left: 9 of 20 pages are due, and wait for the delays of their hosts']
    >>> unspent(replace(held, held=0), 1 / 144)
    ['Budget is left: 9 of 20 pages are due, and wait for hosts that respond slowly']

    Otherwise the budget may exceed what ``min_interval`` allows:

    >>> unspent(Stats(0, 2_880.0, now=5 * 10**8, pages=2), 1 / 144)
    ['Budget is left: 2 pages, each visited at most every 10 min (setting min_interval)']
    >>> unspent(Stats(0, 2_880.0, now=5 * 10**8, pages=2), None)
    []

    Where pages were not visited half as often as that, it is left for another reason:

    >>> unspent(Stats(0, 2_880.0, now=5 * 10**9, pages=2), 1 / 144)
    []
    """
    is_spent = stats.budget_used is None or stats.budget_used >= SPENT
    if is_spent or not stats.pages:
        return []
    if stats.waiting > FEW_DUE * stats.pages:
        due = f"{stats.waiting:,} of {count(stats.pages, 'page')} are due, and wait for"
        is_held = 2 * stats.held > stats.waiting
        what = "the delays of their hosts" if is_held else "hosts that respond slowly"
        return [f"Budget is left: {due} {what}"]
    if min_interval is None or min_interval * stats.budget <= stats.pages:
        return []
    rounds = (stats.now - stats.began) / MICROSECONDS_A_DAY // min_interval
    if 2 * stats.visits < stats.pages * rounds:
        return []
    every = f"visited at most every {format_duration(min_interval)} (setting min_interval)"
    return [f"Budget is left: {count(stats.pages, 'page')}, each {every}"]


def failing_sitemaps(stats: Stats) -> list[str]:
    """Return a line per sitemap that cannot be read, or not completely.

    >>> failing_sitemaps(Stats(0, 1.0, failing_sitemaps={"http://e.org/s": "no connection"}))
    ['Problem with the sitemap http://e.org/s: no connection']
    """
    failing = list(stats.failing_sitemaps.items())
    lines = [
        printable(f"Problem with the sitemap {url}: {why}") for url, why in failing[:MAX_FAILING]
    ]
    more = len(failing) - MAX_FAILING
    return [*lines, f"and {count(more, 'more sitemap')} with problems"] if more > 0 else lines


def fresh(stats: Stats) -> str:
    """Return how fresh the copies are expected to be.

    >>> fresh(Stats(0, 1.0)), fresh(Stats(0, 1.0, expected_freshness=0.5))
    ('no copies yet', '50.0 %')
    """
    value = stats.expected_freshness
    return NO_COPIES if value is None else percent(value)


def trouble(stats: Stats) -> list[str]:
    """Return which pages have problems, and which hosts and folders have an outage.

    >>> from recrawl.store.rows import Trouble
    >>> trouble(Stats(0, 1.0, trouble=Trouble(1, 20), outages={"https://a.example/x/": 3}))
    ['problems: 1 page not found, 20 gone', 'outage: https://a.example/x/ (3 pages not found)']
    """
    lines = not_well(stats)
    shown = list(stats.outages.items())[:MAX_CLOSED]
    lines += [f"outage: {printable(name)} ({count(n, 'page')} not found)" for name, n in shown]
    if len(stats.outages) > MAX_CLOSED:
        lines.append(f"and {count(len(stats.outages) - MAX_CLOSED, 'more outage')}")
    return lines


def not_well(stats: Stats) -> list[str]:
    """Return a line about pages with problems, none if there are none."""
    found = stats.trouble
    kinds = [(found.failing, "failing"), (found.missing, "not found"), (found.gone, "gone")]
    kinds.append((found.refused, "refused"))
    counted = [(pages, kind) for pages, kind in kinds if pages]
    if not counted:
        return []
    (first, kind), *rest = counted
    parts = [f"{count(first, 'page')} {kind}", *(f"{pages:,} {one}" for pages, one in rest)]
    return [f"problems: {', '.join(parts)}"]


def log_line(stats: Stats) -> str:
    """Return how a run is doing in one line, with what a reader of many such lines looks for.

    >>> from collections import Counter
    >>> found = Counter({Outcome.CHANGED: 5, Outcome.UNCHANGED: 20, Outcome.FAILED: 1})
    >>> log_line(Stats(0, 30.0, now=86_400_000_000, outcomes=found, requests=27))
    '1970-01-02 00:00:00 26 visits (5 changed, 1 failed), 90.0 % of the budget; no copies yet'
    """
    kinds = (Outcome.FIRST, Outcome.CHANGED, Outcome.FAILED, Outcome.GONE)
    found = [f"{stats.outcomes[one]:,} {one.name.lower()}" for one in kinds if stats.outcomes[one]]
    visits = count(stats.visits, "visit") + (f" ({', '.join(found)})" if found else "")
    used, has_copies = stats.budget_used, stats.expected_freshness is not None
    spent = "" if used is None else f", {percent(used)} of the budget"
    parts = [f"{visits}{spent}", fresh(stats) + " expected fresh" * has_copies, *not_well(stats)]
    if stats.outages:
        parts.append(count(len(stats.outages), "outage"))
    if stats.closed:
        parts.append(f"{count(len(stats.closed), 'host')} in backoff")
    if stats.failing_sitemaps:
        parts.append(f"{count(len(stats.failing_sitemaps), 'sitemap')} with problems")
    if stats.newest is not None and stats.newest.outcome is Outcome.FAILED:
        parts.append(f"newest: {newest(stats.newest)}")
    return f"{second(stats.now)} {'; '.join(parts)}"


def newest(visit: Visit) -> str:
    """Return one line about a visit."""
    response = visit.response
    why = f": {response.error}" if response.error else ""
    took = took_seconds(response.seconds)
    return printable(f"{visit.page.url} {visit.outcome.name.lower()}{why} ({took})")


def took_seconds(seconds: float) -> str:
    """Write a duration.

    >>> took_seconds(0.0123), took_seconds(2.5)
    ('12 ms', '2.5 s')
    """
    return f"{1000 * seconds:.0f} ms" if seconds < 1.0 else f"{seconds:.1f} s"


def as_object(stats: Stats) -> dict[str, Any]:
    """Return the state of a run as an object for JSON."""
    return {
        "time": iso(stats.now),
        "began": iso(stats.began),
        "pages": stats.pages,
        "visits": stats.visits,
        **{outcome.name.lower(): stats.outcomes[outcome] for outcome in Outcome},
        "not_modified": stats.not_modified,
        "requests": stats.requests,
        "outside_budget": stats.filled,
        "robots": stats.robots,
        "sitemaps": stats.files,
        "bytes": stats.transferred,
        "in_flight": stats.in_flight,
        "next_visit": iso(max(stats.next_visit, stats.now)),
        "budget": stats.budget,
        "budget_used": stats.budget_used,
        "expected_freshness": stats.expected_freshness,
        "refused": stats.refused,
        "not_well": asdict(stats.trouble),
        "away": stats.outages,
        "price": stats.price,
        "closed": {host: iso(at) for host, at in stats.closed.items()},
        "failing_sitemaps": stats.failing_sitemaps,
    }


def dashboard(stats: Stats, path: str, width: int = 80) -> RenderableType:
    """Return the live stats of a run, for a terminal that is so wide."""
    ran = format_duration((stats.now - stats.began) / MICROSECONDS_A_DAY)
    title = f"{printable(path)}: {count(stats.pages, 'page')}, running for {ran}; Ctrl-C to stop"
    parts: list[RenderableType] = [Text(title, style="bold"), Text(), _numbers(stats, width)]
    if stats.hosts:
        parts += [Text(), _slowest(stats)]
    if stats.closed:
        parts += [Text(), _closed(stats)]
    lines = [*trouble(stats), *failing_sitemaps(stats)]
    parts += [Text(line, no_wrap=True, overflow="ellipsis") for line in lines]
    if stats.newest is not None:
        line = Text(f"newest: {newest(stats.newest)}", no_wrap=True, overflow="ellipsis")
        parts += [Text(), line]
    return Group(*parts)


def _numbers(stats: Stats, width: int) -> RenderableType:
    found = stats.outcomes
    left = [("fetched", f"{stats.visits:,}"), ("first", f"{found[Outcome.FIRST]:,}")]
    left += [("changed", f"{found[Outcome.CHANGED]:,}")]
    left += [("unchanged", f"{found[Outcome.UNCHANGED]:,}")]
    left += [("not modified", f"{stats.not_modified:,}"), ("in flight", f"{stats.in_flight:,}")]
    middle = [("failed", f"{found[Outcome.FAILED]:,}"), ("gone", f"{found[Outcome.GONE]:,}")]
    middle += [
        ("received", size(stats.transferred)),
        ("price of a visit", format_worth(stats.price)),
    ]
    middle += [("expected fresh", fresh(stats))]
    middle += [("next due", until(stats.next_visit, stats.now))]
    right = [("requests", f"{stats.requests:,}"), ("robots.txt", f"{stats.robots:,}")]
    right += [("sitemaps", f"{stats.files:,}"), ("budget", write_rate(stats.budget))]
    used = "–" if stats.budget_used is None else percent(stats.budget_used)
    right += [("budget used", used), ("pages", f"{stats.pages:,}")]
    return Group(*map(_side_by_side, _rows_of([left, middle, right], width)))


def _rows_of(lists: list[Numbers], width: int) -> list[list[Numbers]]:
    """Return which lists of names and values fit next to each other, row by row."""
    rows: list[list[Numbers]] = []
    left = 0
    for one in lists:
        # There are three spaces between names and values, and between lists.
        needed = sum(max(map(len, column)) for column in zip(*one, strict=True)) + 6
        if not rows or needed > left:
            rows.append([])
            left = width + 3
        rows[-1].append(one)
        left -= needed
    return rows


def _side_by_side(lists: list[Numbers]) -> RenderableType:
    """Return lists of names and values next to each other."""
    table = Table.grid(padding=(0, 3))
    for _ in lists:
        table.add_column(no_wrap=True)
        table.add_column(justify="right", no_wrap=True)
    for row in zip(*lists, strict=True):
        table.add_row(*(cell for pair in row for cell in pair))
    return table


def _slowest(stats: Stats) -> Table:
    table = Table(box=None, pad_edge=False)
    table.add_column("slowest hosts", overflow="ellipsis", no_wrap=True)
    table.add_column("responses", justify="right")
    table.add_column("took", justify="right")
    for host, times in stats.slowest():
        took = took_seconds(times.mean)
        table.add_row(Text(printable(host)), f"{times.responses:,}", took)
    return table


def _closed(stats: Stats) -> Table:
    table = Table(box=None, pad_edge=False)
    table.add_column("backing off", overflow="ellipsis", no_wrap=True)
    table.add_column("next request", justify="right")
    for host, at in list(stats.closed.items())[:MAX_CLOSED]:
        table.add_row(Text(printable(host)), until(at, stats.now))
    if len(stats.closed) > MAX_CLOSED:
        table.add_row(f"and {count(len(stats.closed) - MAX_CLOSED, 'more host')}", "")
    return table

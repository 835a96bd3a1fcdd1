"""A run as people follow it: live on a terminal, as lines elsewhere, and what it came to."""

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import typer
from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.table import Table
from rich.text import Text

from recrawl.cli.render.terminal import count, number, percent, printable
from recrawl.cli.render.units import iso, second, size, until
from recrawl.crawler.stats import Stats
from recrawl.records import MICROSECONDS_A_DAY, Outcome, Visit
from recrawl.units import format_duration, format_rate

#: Microseconds between two lines of a log.
LOG_EVERY = 10_000_000
#: Closed hosts that are named.
CLOSED = 5

Watch = Callable[[Stats], object]


@contextmanager
def screen_watch(console: Console, place: str) -> Iterator[Watch]:
    """Show a run live on a terminal until it ends."""
    waiting = Text("Loading. The first time, kernels are compiled: some seconds, once.")
    with Live(waiting, console=console, auto_refresh=False, transient=True) as live:
        live.refresh()
        yield lambda view: live.update(picture(view, place), refresh=True)


def log_watch(*, as_json: bool) -> Watch:
    """Give what writes a line now and then."""
    last = 0

    def watch(view: Stats) -> None:
        nonlocal last
        if view.now - max(last, view.began) < LOG_EVERY:
            return
        last = view.now
        typer.echo(json.dumps(as_object(view)) if as_json else log_line(view))
        # Whoever follows a log wants to see it now, through a pipe as well.
        sys.stdout.flush()

    return watch


def print_end(view: Stats, *, as_json: bool) -> None:
    """Say what a run came to."""
    if as_json:
        typer.echo(json.dumps({**as_object(view), "end": True}))
        return
    ran = format_duration((view.now - view.began) / MICROSECONDS_A_DAY)
    typer.echo(f"Ran for {ran}: {counts(view)}")
    typer.echo(spending(view))
    typer.echo(f"Expected freshness at the end: {percent(view.expected_freshness)}")
    typer.echo("`recrawl status` says what is next, `recrawl show URL` why.")


def counts(view: Stats) -> str:
    """Say what visits found.

    >>> from collections import Counter
    >>> view = Stats(0, 1.0, outcomes=Counter({Outcome.UNCHANGED: 2}), not_modified=1)
    >>> counts(view)
    '2 visits: 0 first, 0 changed, 2 unchanged (1 not modified), 0 failed, 0 gone'
    """
    found = view.outcomes
    return (
        f"{count(view.visits, 'visit')}: {found[Outcome.FIRST]:,} first, "
        f"{found[Outcome.CHANGED]:,} changed, {found[Outcome.UNCHANGED]:,} unchanged "
        f"({view.not_modified:,} not modified), {found[Outcome.FAILED]:,} failed, "
        f"{found[Outcome.GONE]:,} gone"
    )


def spending(view: Stats) -> str:
    """Say what was spent."""
    return (
        f"{count(view.requests, 'request')} for pages, {percent(view.budget_used)} of the budget "
        f"({format_rate(view.budget)}); {view.robots:,} for robots.txt, "
        f"{view.files:,} for sitemaps; {size(view.transferred)} received"
    )


def log_line(view: Stats) -> str:
    """Say how a run goes, in a line."""
    parts = [counts(view), spending(view), f"{percent(view.expected_freshness)} expected fresh"]
    if view.closed:
        parts.append(f"{count(len(view.closed), 'host')} left alone for now")
    if view.newest is not None and view.newest.outcome is Outcome.FAILED:
        parts.append(f"newest: {newest(view.newest)}")
    return f"{second(view.now)} {'; '.join(parts)}"


def newest(visit: Visit) -> str:
    """Say what a visit found."""
    response = visit.response
    why = f": {response.error}" if response.error else ""
    took = took_seconds(response.seconds)
    return printable(f"{visit.page.url} {visit.outcome.name.lower()}{why} ({took})")


def took_seconds(seconds: float) -> str:
    """Say how long a response took.

    >>> took_seconds(0.0123), took_seconds(2.5)
    ('12 ms', '2.5 s')
    """
    return f"{1000 * seconds:.0f} ms" if seconds < 1.0 else f"{seconds:.1f} s"


def as_object(view: Stats) -> dict[str, Any]:
    """Give how a run goes, for a line of JSON."""
    return {
        "time": iso(view.now),
        "began": iso(view.began),
        "pages": view.pages,
        "visits": view.visits,
        **{outcome.name.lower(): view.outcomes[outcome] for outcome in Outcome},
        "not_modified": view.not_modified,
        "requests": view.requests,
        "robots": view.robots,
        "sitemaps": view.files,
        "bytes": view.transferred,
        "under_way": view.under_way,
        "next_visit": iso(max(view.next_visit, view.now)),
        "budget": view.budget,
        "budget_used": view.budget_used,
        "expected_freshness": view.expected_freshness,
        "price": view.price,
        "closed": {host: iso(at) for host, at in view.closed.items()},
    }


def picture(view: Stats, place: str) -> RenderableType:
    """Draw a run."""
    ran = format_duration((view.now - view.began) / MICROSECONDS_A_DAY)
    title = f"{printable(place)}: {count(view.pages, 'page')}, running for {ran}; Ctrl-C ends it"
    parts: list[RenderableType] = [Text(title, style="bold"), Text(), _numbers(view)]
    if view.hosts:
        parts += [Text(), _slowest(view)]
    if view.closed:
        parts += [Text(), _closed(view)]
    if view.newest is not None:
        line = Text(f"newest: {newest(view.newest)}", no_wrap=True, overflow="ellipsis")
        parts += [Text(), line]
    return Group(*parts)


def _numbers(view: Stats) -> Table:
    found = view.outcomes
    table = Table.grid(padding=(0, 3))
    for _ in range(3):
        table.add_column(no_wrap=True)
        table.add_column(justify="right", no_wrap=True)
    left = [("fetched", view.visits), ("first", found[Outcome.FIRST])]
    left += [("changed", found[Outcome.CHANGED]), ("unchanged", found[Outcome.UNCHANGED])]
    left += [("not modified", view.not_modified), ("under way", view.under_way)]
    middle = [("failed", f"{found[Outcome.FAILED]:,}"), ("gone", f"{found[Outcome.GONE]:,}")]
    middle += [("received", size(view.transferred)), ("price of a visit", number(view.price))]
    middle += [("expected fresh", percent(view.expected_freshness))]
    middle += [("next due", until(view.next_visit, view.now))]
    right = [("requests", f"{view.requests:,}"), ("robots.txt", f"{view.robots:,}")]
    right += [("sitemaps", f"{view.files:,}"), ("budget", format_rate(view.budget))]
    right += [("budget used", percent(view.budget_used)), ("pages", f"{view.pages:,}")]
    for one, two, three in zip(left, middle, right, strict=True):
        table.add_row(one[0], f"{one[1]:,}", *two, *three)
    return table


def _slowest(view: Stats) -> Table:
    table = Table(box=None, pad_edge=False)
    table.add_column("slowest hosts", overflow="ellipsis", no_wrap=True)
    table.add_column("responses", justify="right")
    table.add_column("took", justify="right")
    for host, times in view.slowest():
        took = took_seconds(times.mean)
        table.add_row(Text(printable(host)), f"{times.responses:,}", took)
    return table


def _closed(view: Stats) -> Table:
    table = Table(box=None, pad_edge=False)
    table.add_column("left alone for now", overflow="ellipsis", no_wrap=True)
    table.add_column("asked again", justify="right")
    for host, at in list(view.closed.items())[:CLOSED]:
        table.add_row(Text(printable(host)), until(at, view.now))
    if len(view.closed) > CLOSED:
        table.add_row(f"and {count(len(view.closed) - CLOSED, 'more host')}", "")
    return table

"""How things stand, as people read it and as JSON."""

import json
from typing import Any

import typer
from rich.table import Table
from rich.text import Text

from recrawl.cli.render.terminal import add_page, count, page_table, percent, printable, show
from recrawl.cli.render.units import finite, iso, print_facts, size, until
from recrawl.crawler.explain import how_often, percent_sign
from recrawl.crawler.status import Due, Status
from recrawl.records import Outcome
from recrawl.store.rows import Spending

UNKNOWN = "–"


def print_standing(standing: Status, place: str) -> None:
    """Print how things stand."""
    print_facts(overview(standing, place))
    typer.echo()
    show(spending_table(standing))
    if standing.due:
        typer.echo()
        show(due_table(standing))
    if standing.hosts:
        typer.echo()
        show(host_table(standing))
    if standing.other_hosts:
        typer.echo(f"and {count(standing.other_hosts, 'more host')}")


def overview(standing: Status, place: str) -> list[tuple[str, str]]:
    """Give the pages, the copies, and whether a run goes on."""
    totals, fresh = standing.totals, standing.expected_freshness
    running = "none" if standing.runner is None else f"process {standing.runner}"
    return [
        ("store", f"{place}, {size(standing.size)}"),
        ("run", running),
        ("pages", f"{totals.pages:,}: {_states(standing)}"),
        ("copies", f"{totals.with_copy:,}, {size(totals.content_bytes)} of content"),
        ("expected fresh", UNKNOWN if fresh is None else percent(fresh)),
        ("price of a visit", _price(standing)),
    ]


def _states(standing: Status) -> str:
    totals = standing.totals
    parts = [f"{totals.alive:,} alive"]
    parts += [f"{totals.missing:,} not found at the last visit"] if totals.missing else []
    parts += [f"{totals.gone:,} gone"] if totals.gone else []
    without = totals.pages - totals.with_copy
    parts += [f"{without:,} without a copy"] if without else []
    return ", ".join(parts)


def _price(standing: Status) -> str:
    if standing.price is None:
        return "not known yet"
    when = "" if standing.price.is_now else ", in the last run"
    return f"{standing.price.value:.2g} (importance × days){when}"


def spending_table(standing: Status) -> Table:
    """Give visits by outcome, and requests, of a day and of all time."""
    table = Table()
    table.add_column("")
    for heading in ("last 24 h", "in all"):
        table.add_column(heading, justify="right", no_wrap=True)
    day, ever = standing.last_day, standing.ever
    for outcome in Outcome:
        name = f"visits, {outcome.name.lower()}"
        table.add_row(name, f"{day.outcomes[outcome]:,}", f"{ever.outcomes[outcome]:,}")
    used = day.requests / standing.budget
    table.add_row("requests for pages", f"{day.requests:,}", f"{ever.requests:,}")
    table.add_row("share of the budget", percent(used), "")
    table.add_row("requests for robots.txt", f"{day.robots:,}", f"{ever.robots:,}")
    table.add_row("requests for sitemaps", f"{day.sitemaps:,}", f"{ever.sitemaps:,}")
    return table


def due_table(standing: Status) -> Table:
    """Give the pages that are visited next, and why."""
    table = page_table("next visit", "why")
    for due in standing.due:
        at = "now" if due.at is None else until(due.at, standing.now)
        add_page(table, due.url, [at, _why(due)])
    return table


def _why(due: Due) -> str:
    if due.at is None:
        return "no copy yet"
    return f"changes {how_often(due.change_rate)}; stale: {percent_sign(due.stale)}"


def host_table(standing: Status) -> Table:
    """Give the hosts with most pages."""
    table = Table()
    table.add_column("host", overflow="fold")
    for heading in ("pages", "without a copy", "failing", "expected fresh"):
        table.add_column(heading, justify="right", no_wrap=True)
    for host in standing.hosts:
        fresh = finite(host.expected_freshness)
        table.add_row(
            Text(printable(host.name)),
            f"{host.pages:,}",
            f"{host.without_copy:,}",
            f"{host.failing:,}",
            UNKNOWN if fresh is None else percent(fresh),
        )
    return table


def as_json(standing: Status) -> str:
    """Write how things stand as one object."""
    totals = standing.totals
    told = {
        "time": iso(standing.now),
        "run": standing.runner,
        "bytes": standing.size,
        "pages": {
            "all": totals.pages,
            "alive": totals.alive,
            "missing": totals.missing,
            "gone": totals.gone,
            "with_copy": totals.with_copy,
        },
        "content_bytes": totals.content_bytes,
        "budget": standing.budget,
        "last_day": _spent(standing.last_day),
        "in_all": _spent(standing.ever),
        "expected_freshness": standing.expected_freshness,
        "price": None if standing.price is None else standing.price.value,
        "due": [
            {
                "page": due.url,
                "time": iso(due.at),
                "change_rate": finite(due.change_rate),
                "stale": due.stale,
                "value": finite(due.value),
            }
            for due in standing.due
        ],
        "hosts": [
            {
                "host": host.name,
                "pages": host.pages,
                "without_copy": host.without_copy,
                "failing": host.failing,
                "expected_freshness": finite(host.expected_freshness),
            }
            for host in standing.hosts
        ],
        "other_hosts": standing.other_hosts,
    }
    return json.dumps(told, ensure_ascii=False, indent=2)


def _spent(spending: Spending) -> dict[str, Any]:
    outcomes = {outcome.name.lower(): spending.outcomes[outcome] for outcome in Outcome}
    requests = {"requests": spending.requests, "robots": spending.robots}
    return {**outcomes, **requests, "sitemaps": spending.sitemaps}

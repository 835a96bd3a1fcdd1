"""The status of a store as tables and as JSON."""

from typing import Any

from rich.text import Text

from recrawl.cli.output import json_text, say
from recrawl.cli.render.numbers import count, percent, small_percent
from recrawl.cli.render.run import NO_COPIES
from recrawl.cli.render.terminal import Table, add_page, page_table, show
from recrawl.cli.render.units import finite, iso, print_facts, second, size, until
from recrawl.escaping import printable
from recrawl.inspect.explain import how_often, percent_sign
from recrawl.inspect.status import SHOWN, Due, Status
from recrawl.records import Outcome
from recrawl.store.kept.first_fill import FILL_LIMIT
from recrawl.store.rows import Spending
from recrawl.units import format_worth, write_rate

UNKNOWN = "–"
HOST_COLUMNS = (
    "pages",
    "without a copy",
    "not found",
    "failing",
    "gone",
    "refused",
    "expected fresh",
)


def print_status(status: Status, path: str) -> None:
    """Print the status of a store."""
    print_facts(overview(status, path))
    say()
    show(spending_table(status))
    if status.due:
        say()
        show(due_table(status))
    elif status.sampled is not None:
        say()
        say("`recrawl pages --due 1h --sort next-visit` lists the next pages.")
    if status.hosts:
        say()
        show(host_table(status))
    if status.other_hosts:
        say(f"and {count(status.other_hosts, 'more host')}")
    if status.sitemaps:
        say("")
        show(sitemap_table(status))
    if len(status.sitemaps) > SHOWN:
        say(f"and {count(len(status.sitemaps) - SHOWN, 'more sitemap')}")


def overview(status: Status, path: str) -> list[tuple[str, str]]:
    """Return the totals and whether there is a run."""
    totals, fresh = status.totals, status.expected_freshness
    running = "none" if status.runner is None else f"process {status.runner}"
    return [
        ("store", f"{path}, {size(status.size)}"),
        ("run", running),
        ("pages", f"{totals.pages:,}: {_states(status)}"),
        ("copies", f"{totals.with_copy:,}, {size(totals.content_bytes)} of content"),
        ("expected fresh", NO_COPIES if fresh is None else _freshness(fresh, status.sampled)),
        ("price of a visit", _price(status)),
        ("budget", _budget(status)),
        *(
            ("refused" if not row else "", f"{pages:,}: {printable(reason)}")
            for row, (reason, pages) in enumerate(status.reasons)
        ),
    ]


def _budget(status: Status) -> str:
    """Return the budget of the settings, and that of the present or the last run if it differs."""
    ran_with = status.run_budget
    if ran_with is None or ran_with == status.budget:
        return write_rate(status.budget)
    which = "last run" if status.runner is None else "present run"
    return f"{write_rate(status.budget)}; {write_rate(ran_with)} in the {which}"


def _freshness(fresh: float, sampled: int | None) -> str:
    estimated = "" if sampled is None else f", estimated from {sampled:,} pages"
    return f"{percent(fresh)}{estimated}"


def _states(status: Status) -> str:
    totals = status.totals
    parts = [f"{totals.alive:,} alive"]
    parts += [f"{totals.missing:,} not found at the last visit"] if totals.missing else []
    parts += [f"{totals.gone:,} gone"] if totals.gone else []
    parts += [f"{totals.refused:,} refused"] if totals.refused else []
    failing = status.trouble.failing
    parts += [f"{failing:,} failing"] if failing else []
    parts += [f"{totals.unvisited:,} without a copy"] if totals.unvisited else []
    return ", ".join(parts)


def _price(status: Status) -> str:
    if status.price is None:
        return "not known yet"
    when = "" if status.price.is_now else ", in the last run"
    return f"{format_worth(status.price.value)}{when}"


def spending_table(status: Status) -> Table:
    """Return visits by outcome and requests, of the last day and of all time."""
    table = Table()
    table.add_column("")
    for heading in ("last 24 h", "all time"):
        table.add_column(heading, justify="right", no_wrap=True)
    day, ever, limit = status.last_day, status.ever, FILL_LIMIT * status.budget
    for outcome in Outcome:
        name = f"visits, {outcome.name.lower()}"
        table.add_row(name, f"{day.outcomes[outcome]:,}", f"{ever.outcomes[outcome]:,}")
    used = max(day.requests - status.filled, 0) / status.budget_now
    table.add_row("requests for pages", f"{day.requests:,}", f"{ever.requests:,}")
    if status.filled:
        table.add_row(f"outside the budget, at most {limit:,.0f}", f"{status.filled:,}", "")
    table.add_row("share of a day's budget", small_percent(used), "")
    table.add_row("requests for robots.txt", f"{day.robots:,}", f"{ever.robots:,}")
    table.add_row("requests for sitemaps", f"{day.sitemaps:,}", f"{ever.sitemaps:,}")
    return table


def due_table(status: Status) -> Table:
    """Return the pages that are due next, and why."""
    table = page_table("next visit", "why")
    for due in status.due:
        at = "now" if due.at is None else until(due.at, status.now)
        add_page(table, due.url, [at, _why(due)])
    return table


def _why(due: Due) -> str:
    if due.at is None:
        return "no copy yet"
    return f"changes {how_often(due.change_rate)}; stale: {percent_sign(due.stale)}"


def host_table(status: Status) -> Table:
    """Return the hosts with the most pages."""
    table = Table()
    table.add_column("host", overflow="fold")
    for heading in HOST_COLUMNS:
        table.add_column(heading, justify="right", no_wrap=True)
    for host in status.hosts:
        fresh = finite(host.expected_freshness)
        table.add_row(
            Text(printable(host.name)),
            f"{host.pages:,}",
            f"{host.without_copy:,}",
            f"{host.missing:,}",
            f"{host.failing:,}",
            f"{host.gone:,}",
            f"{host.refused:,}",
            UNKNOWN if fresh is None else percent(fresh),
        )
    return table


def sitemap_table(status: Status) -> Table:
    """Return sitemaps and feeds: what they listed, when they were read, and what is wrong."""
    table = Table()
    table.add_column("sitemap or feed", overflow="fold")
    table.add_column("entries", justify="right", no_wrap=True)
    for heading in ("last read", "next"):
        table.add_column(heading, no_wrap=True)
    table.add_column("last error", overflow="fold")
    for one in status.sitemaps[:SHOWN]:
        table.add_row(
            Text(printable(one.url)),
            UNKNOWN if one.read_at is None else f"{one.pages:,}",
            "never" if one.read_at is None else second(one.read_at),
            "now" if one.next_at is None else until(one.next_at, status.now),
            Text(printable(one.error or "")),
        )
    return table


def as_json(status: Status) -> str:
    """Return the status as a JSON object."""
    totals = status.totals
    found = {
        "time": iso(status.now),
        "run": status.runner,
        "bytes": status.size,
        "pages": {
            "all": totals.pages,
            "alive": totals.alive,
            "missing": totals.missing,
            "gone": totals.gone,
            "refused": totals.refused,
            "failing": status.trouble.failing,
            "with_copy": totals.with_copy,
            "without_copy": totals.unvisited,
        },
        "content_bytes": totals.content_bytes,
        "budget": status.budget,
        "run_budget": status.run_budget,
        "last_day": _spent(status.last_day) | {"outside_budget": status.filled},
        "all_time": _spent(status.ever),
        "expected_freshness": status.expected_freshness,
        "sampled": status.sampled,
        "refused": [{"reason": reason, "pages": pages} for reason, pages in status.reasons],
        "price": None if status.price is None else status.price.value,
        "due": [
            {
                "page": due.url,
                "time": iso(due.at),
                "change_rate": finite(due.change_rate),
                "stale": due.stale,
                "value": finite(due.value),
            }
            for due in status.due
        ],
        "hosts": [
            {
                "host": host.name,
                "pages": host.pages,
                "without_copy": host.without_copy,
                "missing": host.missing,
                "failing": host.failing,
                "gone": host.gone,
                "refused": host.refused,
                "expected_freshness": finite(host.expected_freshness),
            }
            for host in status.hosts
        ],
        "other_hosts": status.other_hosts,
        "sitemaps": [
            {
                "url": one.url,
                "kind": one.kind,
                "entries": None if one.read_at is None else one.pages,
                "skipped": one.skipped,
                "last_read": iso(one.read_at),
                "last_try": iso(one.tried_at),
                "next_read": iso(one.next_at),
                "failures": one.failures,
                "error": one.error,
            }
            for one in status.sitemaps
        ],
    }
    return json_text(found)


def _spent(spending: Spending) -> dict[str, Any]:
    outcomes = {outcome.name.lower(): spending.outcomes[outcome] for outcome in Outcome}
    requests = {"requests": spending.requests, "robots": spending.robots}
    return {**outcomes, **requests, "sitemaps": spending.sitemaps}

"""A plan as people read it."""

import numpy as np
import pyarrow as pa
import typer
from rich.table import Table

from recrawl.cli.render.terminal import (
    SHOWN,
    add_page,
    count,
    log_summary,
    number,
    page_table,
    per_day,
    percent,
    show,
)
from recrawl.formats.plan import next_visits
from recrawl.kernels.jit import Ints
from recrawl.planning.history import last_visits
from recrawl.planning.plan import Plan
from recrawl.units import format_duration, format_rate

#: How much of a time is shown: up to the minute.
TO_THE_MINUTE = len("2026-01-31 12:30")


def print_pages(plan: Plan) -> None:
    """Print the pages that are to be visited most often."""
    pages = most_visited(plan)
    if not pages.size:
        return
    last = last_visits(plan.fleet.visits)[pages]
    due = next_visits(last, plan.crawl_rate[pages]).cast(pa.string()).to_pylist()
    table = page_table("changes", "importance", "visit every", "next visit (UTC)")
    for page, at in zip(pages.tolist(), due, strict=True):
        cells = [
            format_rate(float(plan.fleet.change_rate[page])),
            number(float(plan.fleet.importance[page])),
            format_duration(1.0 / float(plan.crawl_rate[page])),
            "never" if at is None else at[:TO_THE_MINUTE],
        ]
        add_page(table, plan.fleet.visits.names[page], cells)
    show(table)
    if len(plan.fleet.visits.names) > table.row_count:
        typer.echo(f"These {table.row_count} get most visits; -o FILE gives all of them.")
    typer.echo()


def most_visited(plan: Plan) -> Ints:
    """Give the pages that get most visits, among those that get any."""
    order = np.argsort(-plan.crawl_rate, kind="stable")[:SHOWN]
    return order[plan.crawl_rate[order] > 0.0]


def print_summary(plan: Plan, *, err: bool) -> None:
    """Print what the plan brings, what it leaves out, and what it rests on."""
    table = Table()
    table.add_column("")
    for heading in ("visits a day", "expected freshness"):
        table.add_column(heading, justify="right", no_wrap=True)
    used, fresh = plan.allocation.budget_used, plan.allocation.freshness
    for name, visits, share in (
        ("as in the log", plan.now.visits, plan.now.freshness),
        ("all pages alike", plan.alike.visits, plan.alike.freshness),
        ("this plan", used, fresh),
    ):
        table.add_row(name, number(visits), percent(share))
    show(table, err=err)
    for line in (*remarks(plan), log_summary(plan.fleet.visits, unknown=plan.fleet.unknown)):
        typer.echo(line, err=err)


def remarks(plan: Plan) -> list[str]:
    """Say which pages get no visits and why, and which hosts hold the plan back."""
    return [line for line in (_left_out(plan), _held_back(plan)) if line]


def _left_out(plan: Plan) -> str:
    none = plan.crawl_rate == 0.0
    if not none.any():
        return ""
    unimportant = none & (plan.fleet.importance == 0.0)
    still = none & ~unimportant & (plan.fleet.change_rate == 0.0)
    too_fast = none & ~unimportant & ~still
    reasons = [
        f"{int(pages.sum()):,} {why}"
        for pages, why in (
            (too_fast, "of too little importance for how fast they change"),
            (still, "never seen to change"),
            (unimportant, "of importance 0"),
        )
        if pages.any()
    ]
    return f"{count(int(none.sum()), 'page')} not worth a visit: {', '.join(reasons)}"


def _held_back(plan: Plan) -> str:
    if not plan.held_back.any() or plan.host is None or plan.host_budget is None:
        return ""
    pages, hosts = int(plan.held_back[plan.host].sum()), int(plan.held_back.sum())
    return (
        f"{count(pages, 'page')} on {count(hosts, 'host')} held back by the host's budget of "
        f"{per_day(plan.host_budget)}"
    )

"""A plan for people."""

import numpy as np
import pyarrow as pa

from recrawl.cli.output import say
from recrawl.cli.render.numbers import count, number, per_day, percent
from recrawl.cli.render.terminal import (
    SHOWN,
    Table,
    add_page,
    log_summary,
    page_table,
    say_notes,
    show,
)
from recrawl.kernels.jit import Ints
from recrawl.planning.plan import Plan
from recrawl.units import format_duration, format_rate

#: How much of a time is shown, in characters.
TO_THE_MINUTE = len("2026-01-31 12:30")


def print_pages(plan: Plan) -> None:
    """Print the pages to visit most often."""
    pages = most_visited(plan)
    if not pages.size:
        return
    due = plan.next_visit.take(pages).cast(pa.string()).to_pylist()
    table = page_table("changes", "importance", "visit every", "next visit (UTC)")
    for page, at in zip(pages.tolist(), due, strict=True):
        cells = [
            format_rate(float(plan.change_rate[page])),
            number(float(plan.importance[page])),
            format_duration(1.0 / float(plan.crawl_rate[page])),
            "never" if at is None else at[:TO_THE_MINUTE],
        ]
        add_page(table, plan.page[page], cells)
    show(table)
    if len(plan.page) > table.row_count:
        say(f"These {table.row_count} get the most visits; -o FILE lists all pages.")
    say()


def most_visited(plan: Plan) -> Ints:
    """Return the pages that get the most visits, among those that get any."""
    order = np.argsort(-plan.crawl_rate, kind="stable")[:SHOWN]
    return order[plan.crawl_rate[order] > 0.0]


def print_summary(plan: Plan, *, err: bool) -> None:
    """Print what the plan achieves, what it leaves out, and what it is based on."""
    table = Table()
    table.add_column("")
    for heading in ("visits per day", "expected freshness"):
        table.add_column(heading, justify="right", no_wrap=True)
    for name, visits, share in (
        ("as in the log", *plan.as_logged),
        ("all pages alike", *plan.uniform),
        ("this plan", plan.allocation.budget_used, plan.freshness),
    ):
        table.add_row(name, number(visits), percent(share))
    show(table, err=err)
    say_notes(plan.beliefs.facts)
    for line in (*remarks(plan), log_summary(plan.beliefs.facts, unknown=plan.beliefs.unknown)):
        say(line, err=err)


def print_spark(pages: int, totals: dict[str, float]) -> None:
    """Print what a plan written by Spark achieves."""
    table = Table()
    table.add_column("")
    for heading in ("visits per day", "expected freshness"):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_row("all pages alike", number(totals["budget"]), percent(totals["alike"]))
    table.add_row("this plan", number(totals["visits"]), percent(totals["freshness"]))
    show(table, err=True)
    say(count(pages, "page"), err=True)


def remarks(plan: Plan) -> list[str]:
    """Return sentences about pages that get no visits, and hosts that limit the plan."""
    return [line for line in (_left_out(plan), _limited(plan)) if line]


def _left_out(plan: Plan) -> str:
    none = plan.crawl_rate == 0.0
    if not none.any():
        return ""
    unimportant = none & (plan.importance == 0.0)
    still = none & ~unimportant & (plan.change_rate == 0.0)
    too_fast = none & ~unimportant & ~still
    reasons = [
        f"{int(pages.sum()):,} {why}"
        for pages, why in (
            (too_fast, "not important enough for how fast they change"),
            (still, "never seen to change"),
            (unimportant, "with importance 0"),
        )
        if pages.any()
    ]
    return f"{count(int(none.sum()), 'page')} not worth a visit: {', '.join(reasons)}"


def _limited(plan: Plan) -> str:
    full = plan.saturated_hosts
    if not full.any() or plan.host is None or plan.host_budget is None:
        return ""
    return (
        f"{count(int(full[plan.host].sum()), 'page')} on {count(int(full.sum()), 'host')} "
        f"limited by the host budget of "
        f"{per_day(plan.host_budget)}"
    )

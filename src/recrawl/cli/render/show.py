"""A page and its visits as tables and as JSON."""

from collections.abc import Sequence
from typing import Any

from rich.text import Text

from recrawl.cli.output import json_text, say
from recrawl.cli.render.numbers import count, number
from recrawl.cli.render.terminal import Table, show
from recrawl.cli.render.units import finite, iso, minute, print_facts, second, size, until
from recrawl.escaping import printable
from recrawl.inspect.explain import Explanation, how_often, percent_sign
from recrawl.records import Change, ChangeKind, Outcome, Page, State
from recrawl.store.rows import LoggedVisit
from recrawl.units import format_duration

STATES = {
    State.ALIVE: "alive",
    State.MISSING: "not found at the last visit",
    State.GONE: "gone",
    State.REFUSED: "refused",
}
#: The remark on a copy with next to no text.
NO_TEXT = "no text without JavaScript?"
SIGNALS = {"etag": "same ETag", "lastmod": "same Last-Modified", "digest": "compared"}


def print_page(
    explanation: Explanation,
    visits: Sequence[LoggedVisit],
    shown: Sequence[LoggedVisit],
    *,
    no_text: bool = False,
) -> None:
    """Print a page, when and why it is visited next, and its visits."""
    say(printable(explanation.page.url))
    print_facts(overview(explanation, visits, no_text=no_text))
    say()
    say(explanation.why())
    if not shown:
        return
    say()
    show(visits_table(shown))
    if len(shown) < len(visits):
        say(f"These are the last {len(shown)} of {len(visits):,}; --all shows them all.")


def _changes(explanation: Explanation) -> list[tuple[str, str]]:
    """Return the estimated change rate of a page and how certain it is."""
    if explanation.change_rate is None or explanation.low is None or explanation.high is None:
        return []
    rate = how_often(explanation.change_rate)
    if explanation.is_guess:
        return [("changes", f"{rate}, a guess: no two visits have been compared yet")]
    if explanation.is_vague:
        return [("changes", f"{rate}, a guess: there is too little evidence yet")]
    low, high = how_often(explanation.low), how_often(explanation.high)
    return [("changes", f"{rate} (95 % sure: {low} – {high})")]


def overview(
    explanation: Explanation, visits: Sequence[LoggedVisit], *, no_text: bool = False
) -> list[tuple[str, str]]:
    """Return what is known and estimated about a page."""
    page = explanation.page
    rows = [("state", _state(page, explanation.error)), ("importance", number(page.importance))]
    if no_text:
        rows.append(("copy", NO_TEXT))
    if visits:
        rows.append(("first visit", f"{minute(visits[-1].at)} UTC"))
        rows.append(("visits", _visits(page, visits)))
        rows += _differences(visits)
    else:
        rows.append(("visits", "none yet"))
    rows += _changes(explanation)
    if explanation.crawl_rate:
        rows.append(("planned", f"a visit every {format_duration(1.0 / explanation.crawl_rate)}"))
    if explanation.due is not None:
        rows.append(
            (
                "next visit",
                f"{minute(explanation.due)} UTC, {until(explanation.due, explanation.now)}",
            )
        )
    return rows


def _visits(page: Page, visits: Sequence[LoggedVisit]) -> str:
    failed = failed_visits(visits)
    if failed and not page.visits:
        return "1, which failed" if failed == 1 else f"{failed:,}, all of which failed"
    found = f"{page.visits:,}, {count(page.changes, 'change')} found"
    return f"{found}; {failed:,} more failed" if failed else found


def failed_visits(visits: Sequence[LoggedVisit]) -> int:
    """Return how many visits did not find the page."""
    return sum(visit.outcome in {Outcome.FAILED, Outcome.GONE} for visit in visits)


def _differences(visits: Sequence[LoggedVisit]) -> list[tuple[str, str]]:
    """Return how large the last change was, and how many visits found only furniture changed."""
    rows = []
    changed = [visit for visit in visits if visit.outcome is Outcome.CHANGED and visit.change]
    if changed and changed[0].change:
        rows.append(("last change", f"{minute(changed[0].at)} UTC, {_extent(changed[0].change)}"))
    if furniture := furniture_visits(visits):
        rows.append(
            ("furniture", f"{count(furniture, 'visit')} found only the site's furniture changed")
        )
    return rows


def furniture_visits(visits: Sequence[LoggedVisit]) -> int:
    """Return how many visits found only the site's boilerplate changed."""
    changes = [visit.change for visit in visits if visit.outcome is Outcome.UNCHANGED]
    return sum(change is not None and change.kind is ChangeKind.FURNITURE for change in changes)


def _extent(change: Change) -> str:
    """Return how large a change is.

    >>> _extent(Change(ChangeKind.TEXT, 0.12)), _extent(Change(ChangeKind.LINKS))
    ('12 % of its text', 'links only')
    """
    if change.kind is ChangeKind.TEXT:
        return f"{percent_sign(change.share)} of its text" if change.share > 0.0 else "its text"
    return f"{change.kind.name.lower()} only"


def _state(page: Page, error: str | None) -> str:
    if page.state is State.REFUSED:
        return f"refused: {printable(page.reason or 'nobody said why')}"
    if page.state is State.ALIVE and page.failures and error:
        return f"failing: {printable(error)}"
    return STATES[page.state]


def visits_table(visits: Sequence[LoggedVisit]) -> Table:
    """Return visits as a table, newest first."""
    table = Table()
    table.add_column("visit (UTC)", no_wrap=True)
    table.add_column("outcome", no_wrap=True)
    for heading in ("status", "received", "took"):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("remarks", overflow="fold")
    for visit in visits:
        table.add_row(
            second(visit.at),
            visit.outcome.name.lower(),
            str(visit.status or "–"),
            size(visit.bytes),
            f"{visit.ms:,} ms",
            Text(printable(_remark(visit))),
        )
    return table


def _remark(visit: LoggedVisit) -> str:
    parts = [visit.error] if visit.error else []
    parts += [SIGNALS[visit.signal]] if visit.signal else []
    parts += [_extent(visit.change)] if visit.change else []
    parts += [f"redirected to {visit.redirect}"] if visit.redirect else []
    parts += ["truncated"] if visit.truncated else []
    return "; ".join(parts)


def as_json(
    explanation: Explanation,
    visits: Sequence[LoggedVisit],
    shown: Sequence[LoggedVisit],
    *,
    no_text: bool = False,
) -> str:
    """Return a page as a JSON object."""
    page = explanation.page
    found: dict[str, Any] = {
        "page": page.url,
        "state": page.state.name.lower(),
        "reason": page.reason,
        "missing_since": iso(page.missing_since),
        "importance": page.importance,
        "depth": page.depth,
        "first_visit": iso(visits[-1].at) if visits else None,
        "last_visit": iso(page.last_visit),
        "visits": page.visits,
        "failed_visits": failed_visits(visits),
        "changes": page.changes,
        "furniture_visits": furniture_visits(visits),
        "failures": page.failures,
        "no_text": no_text,
        "change_rate": explanation.change_rate,
        "is_guess": explanation.is_guess,
        "low": explanation.low,
        "high": explanation.high,
        "stale": explanation.stale,
        "value": explanation.value,
        "price": None if explanation.price is None else explanation.price.value,
        "crawl_rate": finite(explanation.crawl_rate),
        "next_visit": iso(explanation.due),
        "why": explanation.why(),
        "history": [_visit(visit) for visit in shown],
    }
    return json_text(found)


def _visit(visit: LoggedVisit) -> dict[str, Any]:
    return {
        "time": iso(visit.at),
        "outcome": visit.outcome.name.lower(),
        "status": visit.status,
        "signal": visit.signal,
        "last_modified": iso(visit.last_modified),
        "bytes": visit.bytes,
        "ms": visit.ms,
        "requests": visit.requests,
        "truncated": visit.truncated,
        "mime": visit.mime,
        "redirect": visit.redirect,
        "error": visit.error,
        "change_share": visit.change.share if visit.change else None,
        "change_kind": visit.change.kind.name.lower() if visit.change else None,
    }

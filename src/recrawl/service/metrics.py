"""Metrics as Prometheus reads them: names and units by its conventions, no URLs as labels."""

import math
import resource
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from importlib.metadata import version
from typing import final

from recrawl.engine.leases import Answer
from recrawl.engine.stats import TIMES
from recrawl.records import SECONDS_A_DAY, Outcome
from recrawl.service.push.incoming import Incoming
from recrawl.service.push.websub import BECAME as MESSAGES_BECAME
from recrawl.service.service import Service
from recrawl.store.webhooks import Webhook

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"


@final
class Exposition:
    r"""Text in the format that Prometheus reads.

    >>> text = Exposition()
    >>> text.add("recrawl_visits_total", "counter", "Visits.", 3, outcome="first")
    >>> print(text, end="")
    # HELP recrawl_visits_total Visits.
    # TYPE recrawl_visits_total counter
    recrawl_visits_total{outcome="first"} 3
    """

    def __init__(self) -> None:
        self._lines: list[str] = []
        self._named: set[str] = set()

    def add(self, name: str, kind: str, meaning: str, value: float | None, **labels: str) -> None:
        """Add a sample; one whose value is not known is left out."""
        self._describe(name, kind, meaning)
        if value is not None:
            self._lines.append(f"{name}{_labels(labels)} {_number(value)}")

    def add_histogram(
        self,
        name: str,
        meaning: str,
        counts: Mapping[float, int],
        bounds: tuple[float, ...],
        total: float,
    ) -> None:
        """Add a histogram of counts by upper bound."""
        self._describe(name, "histogram", meaning)
        below = 0
        for bound in bounds:
            below += counts.get(bound, 0)
            self._lines.append(f'{name}_bucket{{le="{_number(bound)}"}} {below}')
        self._lines += [f"{name}_sum {_number(total)}", f"{name}_count {below}"]

    def _describe(self, name: str, kind: str, meaning: str) -> None:
        if name not in self._named:
            self._named.add(name)
            self._lines += [f"# HELP {name} {meaning}", f"# TYPE {name} {kind}"]

    def __str__(self) -> str:
        """Return the text."""
        return "".join(f"{line}\n" for line in self._lines)


def _labels(labels: Mapping[str, str]) -> str:
    if not labels:
        return ""
    escaped = {
        name: value.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")
        for name, value in labels.items()
    }
    return "{" + ",".join(f'{name}="{value}"' for name, value in escaped.items()) + "}"


def _number(value: float) -> str:
    if math.isinf(value):
        return "+Inf" if value > 0 else "-Inf"
    return f"{value:.10g}"


def metrics_of(service: Service, webhooks: Sequence[Webhook]) -> str:
    """Return the metrics of a service and its webhooks."""
    text = Exposition()
    for name, kind, meaning, value in (*_gauges(service), *_counters(service)):
        text.add(name, kind, meaning, value)
    stats = service.stats
    for outcome in Outcome:
        text.add(
            "recrawl_visits_total",
            "counter",
            "Visits since the process started, by outcome.",
            stats.outcomes[outcome],
            outcome=outcome.name.lower(),
        )
    for target, count in (
        ("page", stats.requests),
        ("robots", stats.robots),
        ("sitemap", stats.files),
    ):
        text.add("recrawl_requests_total", "counter", "Requests.", count, target=target)
    for state in ("missing", "gone", "refused", "failing"):
        text.add(
            "recrawl_troubled_pages",
            "gauge",
            "Pages with problems, by state.",
            getattr(stats.trouble, state),
            state=state,
        )
    for answer in Answer:
        text.add(
            "recrawl_reports_total",
            "counter",
            "Reports from other crawlers, by result.",
            stats.reports[answer],
            answer=answer.value,
        )
    for state, waiting in (
        ("waiting", sum(hook.waiting for hook in webhooks)),
        ("failed", sum(hook.failed for hook in webhooks)),
    ):
        text.add(
            "recrawl_webhook_messages",
            "gauge",
            "Messages that receivers have not accepted.",
            waiting,
            state=state,
        )
    _add_incoming(text, service.incoming)
    text.add_histogram(
        "recrawl_fetch_duration_seconds",
        "How long it took to fetch a page.",
        stats.times,
        TIMES,
        stats.seconds,
    )
    text.add("recrawl_build_info", "gauge", "The version.", 1, version=version("recrawl"))
    return str(text)


def _add_incoming(text: Exposition, incoming: Incoming) -> None:
    """Add the notifications from sites."""
    pushes = incoming.pushes
    for became, pages in (("signalled", pushes.signalled), ("added", pushes.added)):
        text.add(
            "recrawl_pushed_pages_total",
            "counter",
            "Pages that sites announced as new or changed, by result.",
            pages,
            became=became,
        )
    answers = Counter[int]() if incoming.indexnow is None else incoming.indexnow.answers
    for status in (200, 202, 400, 403, 422, 429):
        text.add(
            "recrawl_indexnow_requests_total",
            "counter",
            "IndexNow submissions, by response status.",
            answers[status],
            status=str(status),
        )
    messages = Counter[str]() if incoming.websub is None else incoming.websub.messages
    for became in MESSAGES_BECAME:
        text.add(
            "recrawl_websub_messages_total",
            "counter",
            "Messages from WebSub hubs, by result.",
            messages[became],
            became=became,
        )


_Row = tuple[str, str, str, float | None]


def _gauges(service: Service) -> Iterator[_Row]:
    up, stats = service.keeping_up(), service.stats
    found, expected = service.frontier.frontier.calibration()
    price = service.price
    leases = service.leases
    rows: list[tuple[str, str, float | None]] = [
        ("recrawl_pages", "Pages that are kept fresh.", len(service.frontier)),
        (
            "recrawl_expected_freshness_ratio",
            "The share of importance whose copies are expected to be fresh.",
            up.expected_freshness,
        ),
        (
            "recrawl_healthy",
            "0 if visits fail or fall behind, which is worth an alert; 1 otherwise.",
            service.health().state != "bad",
        ),
        ("recrawl_due_pages", "Pages with a copy whose visit is due.", up.due),
        ("recrawl_pages_without_copy", "Pages without a copy.", up.without_copy),
        (
            "recrawl_lateness_mean_seconds",
            "How long due pages have been due, on average.",
            up.lateness,
        ),
        (
            "recrawl_lateness_max_seconds",
            "How long the longest overdue page has been due.",
            up.latest,
        ),
        (
            "recrawl_visit_price_days",
            "What a visit must be worth, in importance times days.",
            None if price is None else price.value,
        ),
        (
            "recrawl_budget_requests_per_second",
            "The budget.",
            stats.budget / SECONDS_A_DAY,
        ),
        (
            "recrawl_budget_used_ratio",
            "Requests since the process started, as a share of what the budget allows.",
            stats.budget_used,
        ),
        (
            "recrawl_calibration_ratio",
            "Changes that recent visits found, divided by those expected.",
            found / expected if expected > 0.0 else None,
        ),
        ("recrawl_visits_in_flight", "Visits in flight.", stats.in_flight),
        ("recrawl_closed_hosts", "Hosts in backoff.", len(stats.closed)),
        ("recrawl_leases", "Active leases.", len(leases)),
        (
            "recrawl_leased_pages",
            "Leased pages.",
            sum(len(lease.pages) for lease in leases),
        ),
        ("process_resident_memory_bytes", "Memory of the process.", _memory()),
    ]
    for name, meaning, value in rows:
        yield name, "gauge", meaning, value


def _counters(service: Service) -> Iterator[_Row]:
    stats = service.stats
    used = resource.getrusage(resource.RUSAGE_SELF)
    rows = [
        ("recrawl_received_bytes_total", "Bytes of bodies received.", stats.transferred),
        (
            "recrawl_leases_ended_total",
            "Leases whose deadline passed before all their pages were reported.",
            stats.ended_leases,
        ),
        (
            "process_cpu_seconds_total",
            "CPU time of the process.",
            used.ru_utime + used.ru_stime,
        ),
    ]
    for name, meaning, value in rows:
        yield name, "counter", meaning, value


def _memory() -> int | None:
    """Return the bytes of memory that the process has now, where that can be read."""
    if sys.platform != "linux":
        return None
    try:
        with open("/proc/self/statm", encoding="ascii") as file:  # noqa: PTH123
            return int(file.read().split()[1]) * resource.getpagesize()
    except (OSError, ValueError, IndexError):
        return None

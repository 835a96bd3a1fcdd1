"""An example of everything that the API takes or returns; together they tell of one page.

`tests/service/test_openapi.py` holds them against the models, so that no field is left out.
"""

import json
from typing import Any, Final

from pydantic import BaseModel

from recrawl.config.settings import FIELDS
from recrawl.service.models import budget as budget_models
from recrawl.service.models import changes as change_models
from recrawl.service.models import leases as lease_models
from recrawl.service.models import pages as page_models
from recrawl.service.models import status as status_models
from recrawl.service.problems import Problem

URL, HOST = "https://example.org/news", "example.org"
MORNING, NOON, EVENING = "2026-01-31T06:00:00Z", "2026-01-31T12:00:00Z", "2026-01-31T18:00:00Z"
LEASE, ETAG = "65c1f3a2b7d40-9f86d081884c7d65", '"a1"'
#: Of IndexNow, and where WebSub hubs reach us.
KEY, CALLBACK = "5a1e7f0d3c9b4826", "Zm9yIGV4YW1wbGU"
CHALLENGE = "d9f1c0a4"
FEED = "https://example.org/feed.xml"
DIGEST, DIGEST_BEFORE = "0f1e2d3c4b5a69788796a5b4c3d2e1f0", "9f86d081884c7d659a2feaa0c55ad015"
OUTCOMES = {"first": 0, "changed": 310, "unchanged": 1590, "failed": 4, "gone": 1}
SUBMISSION = {
    "host": HOST,
    "key": KEY,
    "keyLocation": f"https://example.org/{KEY}.txt",
    "urlList": [URL],
}
METRICS = """\
# HELP recrawl_due_pages Pages with a copy whose visit is due.
# TYPE recrawl_due_pages gauge
recrawl_due_pages 4
"""

_VISIT = {
    "at": NOON,
    "outcome": "changed",
    "status": 200,
    "signal": "digest",
    "last_modified": None,
    "bytes": 48210,
    "ms": 180,
    "requests": 1,
    "mime": "text/html",
    "redirect": None,
    "error": None,
    "share": 0.12,
}
_PAGE = {
    "url": URL,
    "host": HOST,
    "state": "alive",
    "importance": 1.0,
    "change_rate": 2.5,
    "is_guess": False,
    "visits": 40,
    "changes": 17,
    "last_visit": NOON,
    "next_visit": EVENING,
    "failures": 0,
    "status": 200,
    "error": None,
    "no_text": False,
}
_DETAILS = {
    "url": URL,
    "host": HOST,
    "state": "alive",
    "importance": 1.0,
    "change_rate": 2.5,
    "change_rate_low": 1.6,
    "change_rate_high": 3.7,
    "stale": 0.27,
    "value": 0.03,
    "price": 0.05,
    "next_visit": EVENING,
    "why": "The copy is 3 h old. The page changes 2.5 times per day (95 % sure: between 1.6 times "
    "per day and 3.7 times per day), so the probability that the copy is stale is 27 %. A visit is "
    "worth 0.03 now (importance × days), and the price of a visit is 0.05; it will be worth that "
    "in 3 h.",
    "last_visit": NOON,
    "last_changed": NOON,
    "digest": DIGEST,
    "no_text": False,
    "etag": ETAG,
    "last_modified": None,
    "visits": [_VISIT],
}
_CHANGE = {
    "cursor": "1042",
    "url": URL,
    "kind": "changed",
    "at": NOON,
    "previous": MORNING,
    "digest_before": DIGEST_BEFORE,
    "digest": DIGEST,
    "share": 0.12,
    "reason": None,
}
_LEASED = {
    "page": 17,
    "url": URL,
    "host": HOST,
    "delay": 1.0,
    "importance": 1.0,
    "etag": ETAG,
    "last_modified": None,
}
_REPORTS = [
    {
        "page": 17,
        "status": 200,
        "etag": '"a2"',
        "content_type": "text/html",
        "body": "PHA+SGVsbG8=",
        "seconds": 0.2,
    },
    {"page": 18, "status": 304},
    {"page": 19, "status": 200, "digest": "9f86d081884c7d65", "crawl_delay": 5},
    {"page": 20, "status": 503, "retry_after": 120},
    {"page": 21, "status": 0, "error": "timed out"},
    {"page": 22, "status": 0, "disallowed": True},
]
_HOST = {
    "host": HOST,
    "pages": 200,
    "missing": 1,
    "gone": 2,
    "refused": 3,
    "failing": 0,
    "delay": 1.0,
    "closed_until": None,
}
_SITEMAP = {
    "url": FEED,
    "kind": "feed",
    "entries": 20,
    "last_read": NOON,
    "next_read": EVENING,
    "failures": 0,
    "error": None,
    "hub": {
        "url": "https://hub.example.org/",
        "until": "2026-02-07T12:00:00Z",
        "last_message": NOON,
        "error": None,
    },
}
_STATUS = {
    "now": NOON,
    "began": MORNING,
    "crawls": True,
    "budget": 2000.0,
    "budget_used": 0.97,
    "outside_budget": 200,
    "pages": 200,
    "health": "good",
    "health_reason": "Visits happen when they are worth their price.",
    "kept_fresh": 195,
    "price": 0.05,
    "expected_freshness": 0.93,
    "due": 4,
    "without_copy": 0,
    "lateness": 12.5,
    "latest": 40.0,
    "missing": 1,
    "gone": 2,
    "refused": 3,
    "failing": 0,
    "visits": {"first": 0, "changed": 80, "unchanged": 400, "failed": 1, "gone": 0},
    "visits_last_day": OUTCOMES,
    "requests_last_day": 1920,
    "in_flight": 2,
}
_SETTING = {
    "name": "host_delay",
    "value": 1.0,
    "unit": "seconds",
    "kind": "a duration",
    "meaning": FIELDS["host_delay"].metadata["meaning"],
}
EVENTS = f"""\
id: 1042
event: change
data: {json.dumps(_CHANGE)}
"""
MESSAGE = f"""\
<feed xmlns="http://www.w3.org/2005/Atom">
  <link rel="self" href="{FEED}"/>
  <entry><link href="{URL}"/><updated>{NOON}</updated></entry>
</feed>
"""

EXAMPLES: Final[dict[type[BaseModel], dict[str, Any]]] = {
    page_models.PagesOut: {"found": 1, "offset": 0, "pages": [_PAGE]},
    page_models.NewPagesIn: {"pages": [{"url": URL, "importance": 2.0}]},
    page_models.AddedOut: {
        "new": 0,
        "known": 1,
        "revived": 0,
        "importance": 1,
        "problems": [],
    },
    page_models.PagesIn: {"urls": [URL]},
    page_models.RemovedOut: {"removed": 1},
    page_models.PageDetailsOut: _DETAILS,
    page_models.PageIn: {"importance": 2.0},
    page_models.SignalsIn: {"signals": [{"url": URL, "probability": 0.9}]},
    page_models.SignalsOut: {"known": 1},
    change_models.ChangesOut: {"cursor": "1042", "changes": [_CHANGE]},
    lease_models.LeaseIn: {"limit": 100, "pages_per_host": 10, "seconds": 120.0},
    lease_models.LeaseOut: {
        "lease": LEASE,
        "deadline": "2026-01-31T12:02:00Z",
        "pages": [_LEASED],
    },
    lease_models.LeasesOut: {
        "out": 5,
        "leases": [
            {
                "lease": LEASE,
                "granted": NOON,
                "deadline": "2026-01-31T12:02:00Z",
                "out": 5,
                "done": 1,
            }
        ],
    },
    lease_models.ReleasedOut: {"released": 5},
    lease_models.ReportsIn: {"lease": LEASE, "reports": _REPORTS},
    lease_models.ReportsOut: {"answers": ["recorded"] * len(_REPORTS)},
    budget_models.PlanOut: {
        "now": {"budget": 2000.0, "freshness": 0.93},
        "plan": [{"budget": 1000.0, "freshness": 0.88}, {"budget": 4000.0, "freshness": 0.96}],
    },
    budget_models.BudgetIn: {"budget": 2000.0},
    budget_models.BudgetOut: {"budget": 2000.0},
    budget_models.SettingsOut: {"settings": [_SETTING]},
    status_models.StatusOut: _STATUS,
    status_models.HostsOut: {"found": 1, "hosts": [_HOST]},
    status_models.SitemapsOut: {"sitemaps": [_SITEMAP]},
    status_models.HealthOut: {"status": "ok"},
    Problem: {
        "title": "Not Found",
        "status": 404,
        "detail": f"{URL}: this page is not in the store; add it first",
        "errors": [],
    },
}

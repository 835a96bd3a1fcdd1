"""Go from your crawler's log to how often every page changes and how often to visit it."""

import csv
from datetime import UTC, datetime
from pathlib import Path

from recrawl import allocate, estimate, uniform

BUDGET = 4.0  # visits per day

# An observation is a visit after the first: what it found, and the time since the previous visit.
page, elapsed, changed = [], [], []
last_visit = dict[str, datetime]()
with (Path(__file__).parent / "visits.csv").open(newline="", encoding="utf-8") as log:
    for row in csv.DictReader(log):
        time = datetime.fromisoformat(row["time"]).replace(tzinfo=UTC)
        if row["page"] in last_visit:
            page.append(row["page"])
            elapsed.append((time - last_visit[row["page"]]).total_seconds() / 86_400)
            changed.append(row["changed"] == "1")
        last_visit[row["page"]] = time

beliefs = estimate(page, elapsed, changed)
plan = allocate(beliefs.rate, BUDGET, visits="periodic")
equal = uniform(beliefs.rate, BUDGET, visits="periodic")

print("page    changes per day   95 % interval   visits per day")
for name, rate, low, high, visits in zip(
    beliefs.page, beliefs.rate, beliefs.low, beliefs.high, plan.crawl_rate, strict=True
):
    print(f"{name:6}  {rate:15.2f}   {low:.2f} to {high:5.2f}   {visits:14.2f}")
print(f"expected freshness: {plan.freshness:.1%}, and {equal.freshness:.1%} with equal rates")

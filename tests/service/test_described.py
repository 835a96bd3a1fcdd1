"""What the documentation and the Grafana dashboard say of the service is true."""

import json
import re
from pathlib import Path

from service.served import served, settings_in
from virtual_time import run

from recrawl.service.dashboard.api import described

ROOT = Path(__file__).parents[2]
REFERENCE = (ROOT / "docs/reference/http-api.md").read_text(encoding="utf-8")
DASHBOARD = ROOT / "deploy/grafana/recrawl.json"
#: What a metric is called in a query, and what is added to the name of a histogram.
METRIC = re.compile(r"\b(?:recrawl|process)_[a-z_]+\b")
ENDINGS = re.compile(r"_(bucket|sum|count)$")


def metrics(folder: Path) -> str:
    async def main() -> str:
        async with served(settings_in(folder), ["https://a.example/"]) as on:
            return (await on.ask("GET", "/metrics")).body.decode()

    return run(main())


def names_in(text: str) -> set[str]:
    return set(re.findall(r"^# TYPE (\S+)", text, re.MULTILINE))


def test_every_path_is_in_the_reference_with_the_access_it_needs(tmp_path: Path) -> None:
    async def main() -> set[tuple[str, str]]:
        async with served(settings_in(tmp_path)) as on:
            found = described(on.app.openapi(), "")
            return {(f"{one.method} {one.path}", one.access) for one in found}

    rows = re.findall(r"^\| `([A-Z]+ /\S*)` \| (\w+) \|", REFERENCE, re.MULTILINE)
    assert set(rows) == run(main())


def test_every_metric_is_in_the_reference_and_named_by_convention(tmp_path: Path) -> None:
    text = metrics(tmp_path)
    names = names_in(text)
    assert set(METRIC.findall(REFERENCE)) == names
    counters = set(re.findall(r"^# TYPE (\S+) counter", text, re.MULTILINE))
    assert {name for name in names if name.endswith("_total")} == counters
    assert "a.example" not in text
    for line in text.splitlines():
        assert line.startswith("# ") or re.fullmatch(
            r'[a-z_]+(\{[a-z]+="[^"\\]*"\})? -?[0-9.e+-]+|.*\{le="\+Inf"\} [0-9]+', line
        ), line


def test_the_dashboard_asks_for_metrics_that_there_are(tmp_path: Path) -> None:
    names = names_in(metrics(tmp_path))
    panels = json.loads(DASHBOARD.read_text(encoding="utf-8"))["panels"]
    queries = [target["expr"] for panel in panels for target in panel.get("targets", ())]
    assert len(queries) >= 12
    for query in queries:
        asked = {ENDINGS.sub("", name) for name in METRIC.findall(query)}
        assert asked, query
        assert asked <= names, query
        assert query.count("(") == query.count(")")

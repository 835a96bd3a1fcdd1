"""A real Prometheus reads our metrics, and understands every query of the Grafana dashboard."""

import json
import shutil
import subprocess
import threading
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from acceptance import program
from ports import free_port

pytest.importorskip("fastapi", reason="the service needs recrawl[serve]")

from service.test_described import DASHBOARD, metrics

PROMETHEUS = shutil.which("prometheus")
CONFIG = """
global: {{scrape_interval: 1s}}
scrape_configs: [{{job_name: recrawl, static_configs: [{{targets: ["127.0.0.1:{port}"]}}]}}]
"""
#: What Grafana writes in place of its variables.
VARIABLES = {"$job": "recrawl", "$__rate_interval": "1m", "$__interval": "1m", "$__range": "1h"}


@pytest.fixture(scope="module")
def ask(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """Start a Prometheus that reads our metrics; return what asks it."""
    if PROMETHEUS is None:
        pytest.skip("there is no prometheus")
    folder = tmp_path_factory.mktemp("prometheus")
    text = metrics(folder).encode()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "text/plain; version=0.0.4")
            self.end_headers()
            self.wfile.write(text)

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    (folder / "prometheus.yml").write_text(CONFIG.format(port=server.server_port))
    port = free_port()
    with subprocess.Popen(
        [
            PROMETHEUS,
            f"--config.file={folder / 'prometheus.yml'}",
            f"--storage.tsdb.path={folder / 'data'}",
            f"--web.listen-address=127.0.0.1:{port}",
        ],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as process:

        def ask(query: str) -> Any:  # noqa: ANN401 - as JSON has it
            words = urllib.parse.urlencode({"query": query})
            address = f"http://127.0.0.1:{port}/api/v1/query?{words}"
            try:
                with urllib.request.urlopen(address, timeout=program.HANGS) as answer:
                    return json.load(answer)
            except urllib.error.HTTPError as error:
                return json.load(error)

        try:
            _wait_for(lambda: ask("up == 1")["data"]["result"])
            yield ask
        finally:
            process.kill()
            server.shutdown()
            server.server_close()


def _wait_for(condition: Any) -> None:  # noqa: ANN401 - a function that may fail at first
    end = time.monotonic() + program.HANGS
    while True:
        try:
            if condition():
                return
        except (OSError, ValueError):
            pass  # It does not listen yet, or says in plain text that it is not ready.
        assert time.monotonic() < end, "Prometheus has not read our metrics"
        time.sleep(0.1)


def _queries() -> list[str]:
    panels = json.loads(Path(DASHBOARD).read_text(encoding="utf-8"))["panels"]
    return [target["expr"] for panel in panels for target in panel.get("targets", ())]


@pytest.mark.parametrize("query", _queries())
def test_every_query_of_the_dashboard_is_understood(ask: Any, query: str) -> None:  # noqa: ANN401
    for variable, value in VARIABLES.items():
        query = query.replace(variable, value)
    assert ask(query)["status"] == "success"


def test_a_query_that_is_wrong_is_not(ask: Any) -> None:  # noqa: ANN401
    assert ask("rate(recrawl_visits_total[1m)")["status"] == "error"


def test_metrics_are_read_with_their_values(ask: Any) -> None:  # noqa: ANN401
    (found,) = ask("recrawl_pages")["data"]["result"]
    assert float(found["value"][1]) == 1.0

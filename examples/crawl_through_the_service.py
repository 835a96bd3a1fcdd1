"""A crawler that asks `recrawl serve` which pages to visit next and reports what it found.

To run on its own, the program starts a small site and the service; yours needs only the loop in
`crawl`. It needs the extra ``serve``: ``pip install '.[serve]'``.
"""

import base64
import json
import re
import subprocess
import sys
import tempfile
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.request import Request, urlopen

PAGES = {"/": "<h1>Front page</h1>", "/news": "<p>Nothing new.</p>", "/about": "<p>About us.</p>"}


class Service:
    """The service's API."""

    def __init__(self, url: str, token: str) -> None:
        self._url = f"{url}/api/v1"
        self._headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}

    def ask(self, method: str, path: str, body: object = None) -> Any:  # noqa: ANN401 - JSON
        """Make a request and return the decoded response."""
        sent = None if body is None else json.dumps(body).encode()
        with urlopen(Request(self._url + path, sent, self._headers, method=method)) as answer:
            return json.load(answer)


def fetch(page: dict[str, Any]) -> dict[str, Any]:
    """Fetch a page and return the report about it."""
    headers = {"User-Agent": "example-crawler (+https://example.org/bot)"}
    if page["etag"]:
        headers["If-None-Match"] = page["etag"]
    try:
        with urlopen(Request(page["url"], headers=headers), timeout=30) as answer:
            return {
                "page": page["page"],
                "status": answer.status,
                "etag": answer.headers["ETag"],
                "content_type": answer.headers["Content-Type"],
                "body": base64.b64encode(answer.read()).decode(),
            }
    except HTTPError as error:
        # This includes 304: the page has not changed.
        return {"page": page["page"], "status": error.code}
    except URLError as error:
        return {"page": page["page"], "status": 0, "error": str(error.reason)}


def crawl(service: Service, visits: int) -> None:
    """Lease pages, fetch them with their host's delay, and report what was found."""
    while visits > 0:
        lease = service.ask("POST", "/leases", {"limit": 10})
        reports = []
        for page in lease["pages"]:
            reports.append(fetch(page))
            time.sleep(page["delay"])
        if reports:
            found = {"lease": lease["lease"], "reports": reports}
            answers = service.ask("POST", "/reports", found)["answers"]
            for page, answer in zip(lease["pages"], answers, strict=True):
                print(f"{re.sub(r'.*:[0-9]+', '', page['url']):<8} {answer}")
        visits -= len(reports)
        time.sleep(0.05)


class Site(BaseHTTPRequestHandler):
    """A site with three pages."""

    def do_GET(self) -> None:
        """Send a page."""
        body = PAGES.get(self.path, "").encode()
        self.send_response(200 if body else 404)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Keep quiet."""


def main() -> None:
    """Start a site and the service, crawl, and print the changes that were found."""
    site = ThreadingHTTPServer(("127.0.0.1", 0), Site)
    threading.Thread(target=site.serve_forever, daemon=True).start()
    with tempfile.TemporaryDirectory() as folder:
        store = Path(folder) / "recrawl.db"
        program = [sys.executable, "-m", "recrawl", "serve", "--store", str(store)]
        options = ["--listen", "127.0.0.1:0", "--budget", "100/s"]
        with subprocess.Popen([*program, *options], stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            url = process.stdout.readline().split()[-1]
            token = process.stdout.readline().split()[-1]
            service = Service(url, token)
            address = f"http://127.0.0.1:{site.server_port}"
            pages = [{"url": address + path} for path in PAGES]
            print("new pages:", service.ask("POST", "/pages", {"pages": pages})["new"])
            crawl(service, len(PAGES))
            changes = service.ask("GET", "/changes?since=start")["changes"]
            print("changes:", sorted(change["kind"] for change in changes))
            process.terminate()
    site.shutdown()


if __name__ == "__main__":
    main()

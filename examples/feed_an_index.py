"""A full-text index that follows a crawl: only what changed is indexed again.

The site is a server on this machine. Replace it with the pages you want, and the index with yours:
all that matters is that the index and the cursor are updated together.
"""

import sqlite3
import tempfile
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from recrawl import Crawler

SOUPS = {
    "/leek": "<h1>Leek soup</h1><p>Two leeks, a potato and cream.",
    "/pea": "<h1>Pea soup</h1><p>A pound of peas, mint and an onion.",
    "/carrot": "<h1>Carrot soup</h1><p>Carrots, ginger and an orange.",
}


class Site(BaseHTTPRequestHandler):
    """Serves the soups."""

    def do_GET(self) -> None:
        """Send a page."""
        body = SOUPS.get(self.path, "").encode()
        self.send_response(200 if body else 404)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Keep quiet."""


def update(crawler: Crawler, index: sqlite3.Connection) -> None:
    """Bring the index up to date: continue after the cursor stored in it."""
    feed = crawler.store.feed
    row = index.execute("SELECT cursor FROM progress").fetchone()
    cursor = feed.start() if row is None else feed.cursor(row[0])
    while changes := feed.read(cursor, limit=100):
        # One transaction: whatever happens, index and cursor agree.
        with index:
            for change in changes:
                print(f"  {change.kind.name.lower():<8} {change.url.rpartition('/')[2]}")
                index.execute("DELETE FROM pages WHERE url = ?", [change.url])
                if change.after is not None:
                    text = crawler.text(change.url)
                    index.execute("INSERT INTO pages VALUES (?, ?)", [change.url, text])
            cursor = changes[-1].cursor
            index.execute("DELETE FROM progress")
            index.execute("INSERT INTO progress VALUES (?)", [str(cursor)])


def search(index: sqlite3.Connection, words: str) -> None:
    """Print the pages that contain all of the words."""
    rows = index.execute("SELECT url FROM pages WHERE pages MATCH ? ORDER BY url", [words])
    found = [url.rpartition("/")[2] for (url,) in rows]
    print(f"  {words}: {', '.join(found) or 'nothing'}")


def crawl(crawler: Crawler, changes: int) -> None:
    """Crawl until there have been this many changes."""

    def watch(_stats: object) -> None:
        if crawler.store.feed.end().serial >= changes:
            crawler.stop()

    crawler.run(watch=watch)


server = ThreadingHTTPServer(("127.0.0.1", 0), Site)
threading.Thread(target=server.serve_forever, daemon=True).start()
site = f"http://127.0.0.1:{server.server_port}"
folder = tempfile.TemporaryDirectory()
settings: dict[str, Any] = {
    "budget": "50/s",
    "host_delay": "0s",
    "allow_private": True,
    "min_interval": "0s",
    "gone_after": 1,
    "gone_after_time": "0s",
}
with folder, Crawler(Path(folder.name, "recrawl.db"), **settings) as crawler:
    index = sqlite3.connect(Path(folder.name, "index.db"))
    index.execute("CREATE VIRTUAL TABLE pages USING fts5 (url UNINDEXED, text)")
    index.execute("CREATE TABLE progress (cursor TEXT)")

    crawler.add(f"{site}{path}" for path in sorted(SOUPS))
    crawl(crawler, changes=3)
    print("first:")
    update(crawler, index)
    search(index, "onion")

    SOUPS["/leek"] = SOUPS["/leek"].replace("cream", "an onion")
    crawl(crawler, changes=4)
    del SOUPS["/carrot"]
    crawl(crawler, changes=5)
    crawler.store.remove([f"{site}/pea"])
    print("then only what changed:")
    update(crawler, index)
    search(index, "onion")
    search(index, "ginger")
    index.close()
server.shutdown()

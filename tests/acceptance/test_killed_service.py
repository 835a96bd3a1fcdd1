"""A service that is killed loses nothing that it has answered for, and no lease."""

import json
import secrets
import threading
import time
import urllib.error
import urllib.request
from http.client import HTTPException
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from acceptance import program
from ports import free_port

from recrawl.hosts import host_of
from recrawl.store.rows import NewPage
from recrawl.store.sqlite import SqliteStore

if TYPE_CHECKING:
    from subprocess import Popen

pytest.importorskip("fastapi", reason="the service needs recrawl[serve]")

KILLS, CRAWLERS, HOSTS, EACH = 3, 3, 40, 5
SETTINGS = {"budget": "1000/s", "host_delay": "0s", "lease_time": "1h"}


class Client:
    """A crawler that asks until it is answered, and remembers what it was told."""

    def __init__(self, port: int, token: str) -> None:
        self._url = f"http://127.0.0.1:{port}/api/v1"
        self._token = token
        self.leased: list[tuple[int, str]] = []
        self.answers: dict[tuple[str, int], str] = {}
        self.stopping = threading.Event()

    def ask(self, path: str, body: Any) -> Any:  # noqa: ANN401 - as JSON has it
        """Make a request, again and again until it is answered."""
        headers = {
            "Authorization": f"Bearer {self._token}",
            "Content-Type": "application/json",
            "Idempotency-Key": secrets.token_hex(8),
        }
        end = time.monotonic() + program.HANGS
        while True:
            asked = urllib.request.Request(  # noqa: S310 - our own
                self._url + path, json.dumps(body).encode(), headers
            )
            try:
                with urllib.request.urlopen(asked, timeout=program.HANGS) as answer:  # noqa: S310
                    return json.load(answer)
            # Killed between an answer's head and its end, the service leaves the latter unread.
            except (urllib.error.URLError, HTTPException, OSError, ValueError):
                if time.monotonic() > end:
                    raise
                time.sleep(0.05)

    def crawl(self) -> None:
        """Lease and report until stopped."""
        while not self.stopping.is_set():
            lease = self.ask("/leases", {"limit": 7})
            pages = [page["page"] for page in lease["pages"]]
            self.leased += [(page, lease["lease"]) for page in pages]
            if not pages:
                time.sleep(0.02)
                continue
            reports = [{"page": page, "status": 200, "changed": True} for page in pages]
            found = self.ask("/reports", {"lease": lease["lease"], "reports": reports})
            for page, answer in zip(pages, found["answers"], strict=True):
                self.answers[lease["lease"], page] = answer


def started(store: Path, port: int) -> "Popen[str]":
    arguments = ("serve", "--store", str(store), "--listen", f"127.0.0.1:{port}")
    return program.start(*arguments, settings=SETTINGS)


def test_nothing_that_was_answered_is_lost(tmp_path: Path) -> None:
    path, port = tmp_path / "recrawl.db", free_port()
    urls = [f"https://h{host}.example/{page}" for host in range(HOSTS) for page in range(EACH)]
    with SqliteStore.open(path, create=True) as store:
        store.add([NewPage(url, host_of(url)) for url in urls], time.time_ns() // 1_000)
    added = ("token", "add", "crawler", "--access", "crawl", "--store", str(path))
    status, token, errors = program.run(*added)
    assert status == 0, errors
    clients = [Client(port, token.strip()) for _ in range(CRAWLERS)]
    threads = [threading.Thread(target=client.crawl, daemon=True) for client in clients]
    process = started(path, port)
    for thread in threads:
        thread.start()
    for kill in range(KILLS):
        enough = 40 * (kill + 1)
        program.wait_until(lambda: sum(len(one.answers) for one in clients) > enough, process)  # noqa: B023
        assert process.poll() is None, process.communicate()
        process.kill()
        process.communicate()
        process = started(path, port)
    before = sum(len(one.answers) for one in clients)
    program.wait_until(lambda: sum(len(one.answers) for one in clients) > before + 40, process)
    for client in clients:
        client.stopping.set()
    for thread in threads:
        thread.join(program.HANGS)
    process.terminate()
    process.communicate(timeout=program.HANGS)
    answers = {key: found for one in clients for key, found in one.answers.items()}
    assert set(answers.values()) <= {"recorded", "duplicate"}
    leased = [pair for one in clients for pair in one.leased]
    with SqliteStore.open(path) as store:
        assert store.check() == []
        # Each report that was answered is one visit, whether the answer came at once or not.
        assert store.totals().visits == len(answers) == len(leased)
        for number in {page for page, _ in leased}:
            visits = store.history(number, 10_000)
            assert len(visits) == sum(page == number for page, _ in leased)

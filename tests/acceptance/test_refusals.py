"""A full disk, a locked store, a second run: one sentence, status 2, and nothing damaged."""

import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import pytest
from acceptance import program
from site_server import Site, page_about, serving

from recrawl.store.sqlite import SqliteStore

SETTINGS = {
    "allow_private": "true",
    "budget": "200/s",
    "host_delay": "0s",
    "host_connections": "8",
    "contact": "https://example.org/bot",
}
REFUSED = 2
#: The program with a limit on the size of files, as on a full disk.
_FULL = (
    "import resource, signal, sys;"
    "signal.signal(signal.SIGXFSZ, signal.SIG_IGN);"
    "resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv.pop(1)),) * 2);"
    "from recrawl.cli.app import main; main()"
)


def see_one_sentence(errors: str, *words: str) -> None:
    complained = program.complaints(errors)
    assert complained.count("\n") == 1
    assert complained.startswith("recrawl: ")
    for word in words:
        assert word in complained


def copies_in(store: Path) -> int:
    with SqliteStore.open(store) as opened:
        return opened.totals().with_copy


def long_pages() -> dict[str, str]:
    """Make pages that do not compress, as nothing in them is repeated."""
    texts = [" ".join(str(hash((n, word))) for word in range(2_000)) for n in range(100)]
    return {f"/{n}": page_about(text) for n, text in enumerate(texts)}


@pytest.mark.skipif(sys.platform == "win32", reason="files have limits on POSIX only")
def test_a_full_disk_ends_the_run_and_damages_nothing(tmp_path: Path) -> None:
    store = tmp_path / "recrawl.db"
    with serving(Site(long_pages())) as site:
        urls = [site.url + path for path in site.pages]
        program.add(store, urls[:5])
        program.run_until(
            lambda: copies_in(store) == 5,
            *("run", "--store", str(store)),
            settings=SETTINGS,
        )
        program.add(store, urls[5:])
        done = subprocess.run(
            [sys.executable, "-c", _FULL, "700000", "run", "--store", str(store), "--for", "10m"],
            env=program.environ(SETTINGS),
            capture_output=True,
            text=True,
            check=False,
            timeout=2 * program.HANGS,
        )
        assert done.returncode == REFUSED, done.stderr
        see_one_sentence(done.stderr, str(store), "full", "nothing saved is lost")
        program.check(store)
        with SqliteStore.open(store) as opened:
            assert 5 <= opened.totals().with_copy < len(site.pages)
            assert opened.spent(0).requests <= len(site.requests)
        # With space again, it continues where it stopped.
        program.run_until(
            lambda: copies_in(store) == len(site.pages),
            *("run", "--store", str(store)),
            settings=SETTINGS,
        )
    program.check(store)
    with SqliteStore.open(store) as opened:
        assert opened.totals().with_copy == len(site.pages)


def test_a_locked_store_is_waited_for_and_then_left(tmp_path: Path) -> None:
    store = tmp_path / "recrawl.db"
    with serving(Site({"/a": page_about("A page.")})) as site:
        program.add(store, [site.url + "/a"])
        holder = sqlite3.connect(store, isolation_level=None)
        holder.execute("BEGIN EXCLUSIVE")
        try:
            status, printed, complained = program.run(
                "add", "--store", str(store), site.url + "/b", settings=SETTINGS
            )
        finally:
            holder.execute("ROLLBACK")
            holder.close()
    assert (status, printed) == (REFUSED, "")
    see_one_sentence(complained, str(store), "another process is writing")
    program.check(store)


def test_a_run_outlasts_others_who_write_for_a_while(tmp_path: Path) -> None:
    store = tmp_path / "recrawl.db"
    with serving(Site({f"/{n}": page_about(f"Page {n}.") for n in range(9)})) as site:
        program.add(store, (site.url + path for path in site.pages))
        arguments = ("run", "--store", str(store))
        with program.start(*arguments, settings=SETTINGS) as process:
            _wait_for(site, 9)
            holder = sqlite3.connect(store, isolation_level=None, timeout=program.HANGS)
            holder.execute("BEGIN IMMEDIATE")
            time.sleep(1.5)
            holder.execute("COMMIT")
            holder.close()
            # What it could not write meanwhile it writes now, and goes on.
            _wait_for(site, len(site.requests) + 1)
            process.send_signal(signal.SIGINT)
            _, complained = process.communicate(timeout=program.HANGS)
    assert process.returncode == 0, complained
    with SqliteStore.open(store) as opened:
        assert opened.check() == []
        pages = [request for request in site.requests if request.path != "/robots.txt"]
        assert opened.spent(0).requests == len(pages)


def test_a_second_run_is_refused_and_the_first_goes_on(tmp_path: Path) -> None:
    store = tmp_path / "recrawl.db"
    with serving(Site({f"/{n}": page_about(f"Page {n}.") for n in range(9)})) as site:
        program.add(store, (site.url + path for path in site.pages))
        arguments = ("run", "--store", str(store), "--for", "10m")
        with program.start(*arguments, settings=SETTINGS) as process:
            _wait_for(site, 9)
            status, printed, complained = program.run(*arguments, settings=SETTINGS)
            assert (status, printed) == (REFUSED, "")
            see_one_sentence(complained, str(store), "another recrawl", str(process.pid))
            seen = len(site.requests)
            _wait_for(site, seen + 1)
            process.terminate()
            process.communicate(timeout=program.HANGS)
    assert process.returncode == 0
    program.check(store)


def _wait_for(site: Site, requests: int) -> None:
    deadline = time.monotonic() + program.HANGS
    while len(site.requests) < requests and time.monotonic() < deadline:
        time.sleep(0.02)
    assert len(site.requests) >= requests

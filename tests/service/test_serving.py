"""One process that serves: where it listens, and a crawl that answers while it runs."""

import asyncio
import json
import re
import signal
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from acceptance import program
from service.served import served, settings_in
from site_server import Site, page_about, serving
from virtual_time import run

from recrawl.errors import ArgumentError, RecrawlError, SettingsError
from recrawl.service.auth.tokens import Access, add_token
from recrawl.service.listening import Address, bound, names_of
from recrawl.service.serving import first_token
from recrawl.store.sqlite import SqliteStore


@pytest.mark.parametrize("text", ["8321", "localhost", ":8321", "a:b", "a:70000", "a:-1", ""])
def test_what_is_no_address_is_refused(text: str) -> None:
    with pytest.raises(ArgumentError, match="is not an address and a port"):
        Address.parse(text)


def test_which_addresses_only_this_machine_can_reach() -> None:
    loopback = ["127.0.0.1:1", "127.9.9.9:1", "[::1]:1", "localhost:1"]
    others = ["0.0.0.0:1", "[::]:1", "192.168.1.1:1", "crawl.example:1"]
    assert all(Address.parse(text).is_loopback for text in loopback)
    assert not any(Address.parse(text).is_loopback for text in others)
    assert "[::]" in names_of(Address.parse("[::]:1"), [])


def test_an_address_in_use_is_a_sentence() -> None:
    with bound(Address("127.0.0.1", 0)) as first:
        port = first.getsockname()[1]
        with (
            pytest.raises(RecrawlError, match="--listen sets another"),
            bound(Address("127.0.0.1", port)),
        ):
            pass


def test_others_can_reach_it_only_once_there_is_a_token(tmp_path: Path) -> None:
    settings = settings_in(tmp_path, listen="0.0.0.0:8321")
    with SqliteStore.open(settings.store, create=True) as store:
        with pytest.raises(SettingsError, match="there is no token"):
            first_token(settings, 0)
        assert store.service.tokens() == []
        add_token(store.service, "mine", Access.READ, 0)
        assert first_token(settings, 0) is None


def test_the_first_start_makes_a_token(tmp_path: Path) -> None:
    settings = settings_in(tmp_path)
    with SqliteStore.open(settings.store, create=True) as store:
        made = first_token(settings, 0)
        assert made is not None
        assert [token.access for token in store.service.tokens()] == ["admin"]
        assert first_token(settings, 0) is None


def test_a_crawl_answers_while_it_runs(tmp_path: Path) -> None:
    store = tmp_path / "recrawl.db"
    site = Site({f"/{n}": page_about(f"This is page {n}.") for n in range(5)})
    settings = {"allow_private": "true", "budget": "100/s", "host_delay": "0s"}
    settings |= {"listen": "127.0.0.1:0", "contact": "https://example.org/bot"}
    with serving(site):
        program.add(store, [f"{site.url}/{n}" for n in range(5)])
        command = ("run", "--serve", "--store", str(store), "--format", "json")
        with program.start(*command, settings=settings) as process:
            assert process.stdout is not None
            shown = "".join(process.stdout.readline() for _ in range(2))
            url, token = re.search(r"http://\S+", shown), re.search(r"rcrl_\S+", shown)
            assert url is not None, shown
            assert token is not None, shown

            def ask(path: str, body: object = None) -> Any:  # noqa: ANN401 - as JSON has it
                headers = {"Authorization": f"Bearer {token[0]}"}
                headers |= {"Content-Type": "application/json"}
                sent = None if body is None else json.dumps(body).encode()
                asked = urllib.request.Request(url[0] + path, sent, headers)  # noqa: S310
                with urllib.request.urlopen(asked, timeout=program.HANGS) as answer:  # noqa: S310
                    return json.load(answer)

            found: list[str] = []
            cursor = "0"
            while len(found) < 5:
                changes = ask(f"/api/v1/changes?since={cursor}&wait=30")
                cursor = changes["cursor"]
                found += [change["kind"] for change in changes["changes"]]
            assert found == ["new"] * 5
            assert ask("/api/v1/status")["crawls"] is True
            added = ask("/api/v1/pages", {"pages": [{"url": f"{site.url}/0?again"}]})
            assert added["new"] == 1
            # Others may lease what the crawl does not visit at the moment.
            assert "pages" in ask("/api/v1/leases", {})
            process.terminate()
            process.communicate(timeout=program.HANGS)
    assert process.returncode == 0
    program.check(store)


@contextmanager
def started(folder: Path, before: str = "") -> Iterator["subprocess.Popen[str]"]:
    """Start a service as a supervisor does, without a terminal; it ends with the test."""
    script = f"{before}from recrawl.cli.app import main; main()"
    with subprocess.Popen(
        [sys.executable, "-c", script, "serve"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=folder,
        env=program.environ({}),
        start_new_session=True,
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def test_a_hangup_reads_the_settings_again(tmp_path: Path) -> None:
    file = tmp_path / "recrawl.toml"
    file.write_text('listen = "127.0.0.1:0"\n')
    with started(tmp_path) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.readline().startswith("Listening at http://127.0.0.1:")
        assert "rcrl_" in process.stdout.readline()
        assert "/login?code=" in process.stdout.readline()
        file.write_text('listen = "127.0.0.1:99999"\n')
        process.send_signal(signal.SIGHUP)
        assert "the settings stay as they are: recrawl.toml, listen" in process.stderr.readline()
        file.write_text('listen = "localhost:0"\n')
        process.send_signal(signal.SIGHUP)
        assert process.stdout.readline().startswith("Listening at http://localhost:")
        process.send_signal(signal.SIGTERM)
        _, complaints = process.communicate(timeout=program.HANGS)
    assert (process.returncode, complaints) == (0, "")


def test_a_second_signal_ends_it_at_once(tmp_path: Path) -> None:
    (tmp_path / "recrawl.toml").write_text('listen = "127.0.0.1:0"\n')
    # It is told to stop, and does not.
    before = (
        "from recrawl.engine.engine import Engine\n"
        "told = []\n"
        "Engine.stopping = property(lambda self: bool(told))\n"
        "Engine.stop = lambda self: (told.append(1), print('stopping', flush=True))\n"
    )
    with started(tmp_path, before) as process:
        assert process.stdout is not None
        while "/login?code=" not in process.stdout.readline():
            assert process.poll() is None
        process.send_signal(signal.SIGINT)
        while process.stdout.readline() != "stopping\n":
            assert process.poll() is None
        process.send_signal(signal.SIGINT)
        _, complaints = process.communicate(timeout=program.HANGS)
    assert (process.returncode, complaints) == (130, "")


def test_requests_take_no_threads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A function that FastAPI calls in a thread costs more than most handlers do."""
    called = list[str]()

    async def in_a_thread(function: Any, *args: Any, **kwargs: Any) -> Any:  # noqa: ANN401
        called.append(str(function))
        return function(*args, **kwargs)

    for module in ("fastapi.dependencies.utils", "fastapi.routing", "starlette._exception_handler"):
        monkeypatch.setattr(f"{module}.run_in_threadpool", in_a_thread)

    async def main() -> None:
        async with served(settings_in(tmp_path, budget="100/s"), ["https://a.example/"]) as on:
            await asyncio.sleep(1.0)
            lease = await on.api("POST", "/leases", {})
            reports = [{"page": 0, "status": 200, "changed": True}]
            await on.api("POST", "/reports", {"lease": lease["lease"], "reports": reports})
            for path in ("/status", "/changes", "/pages", "/hosts", "/settings"):
                await on.api("GET", path)
            assert (await on.ask("GET", "/metrics")).status == 200
            assert (await on.ask("GET", "/api/v1/nothing")).status == 404
            assert (await on.ask("POST", "/api/v1/pages", {})).status == 422

    run(main())
    assert called == []

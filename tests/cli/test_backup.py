"""What ``recrawl backup`` writes, and what ``recrawl check`` finds."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from cli.crawling_site import move_to, run
from cli.refusing import left_alone, refused
from site_server import Site, serving
from store.made_up import HOUR, NOON, found, new_pages
from typer.testing import CliRunner

from recrawl.cli.app import app
from recrawl.store.sqlite import SqliteStore


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    move_to(tmp_path, monkeypatch)
    with SqliteStore.open("recrawl.db", create=True) as store:
        store.add(new_pages(3), at=NOON)
        store.record([found(page, b"one", NOON) for page in store.pages(range(3)).values()])


def test_a_backup_is_the_store_at_one_moment_of_a_run() -> None:
    with SqliteStore.open("recrawl.db") as store, store.lock():
        page = store.pages([0])[0]
        store.record([found(page, b"two", NOON + HOUR)])
        assert run("backup", "copy.db").stdout.startswith("copy.db: 3 pages, ")
        store.record([found(page, b"three", NOON + 2 * HOUR)])
        with SqliteStore.open("copy.db") as copy:
            assert [one.response.body for one in copy.copies()] == [b"two", b"one", b"one"]
            assert copy.check() == []
            assert copy.feed.end().serial == 4
    assert run("backup", "copy.db", "--force").exit_code == 0
    assert sorted(path.name for path in Path().glob(".recrawl*")) == []
    with SqliteStore.open("copy.db") as copy:
        assert next(copy.copies()).response.body == b"three"


def test_no_store_is_overwritten_that_is_in_use() -> None:
    assert "this is the store itself" in refused("backup", "recrawl.db")
    with SqliteStore.open("other.db", create=True) as other:
        other.add(new_pages(1), at=NOON)
        assert "this is a store in use" in refused("backup", "other.db")
    assert "there is no directory" in refused("backup", "no/copy.db")


def test_a_file_is_replaced_only_on_request(tmp_path: Path) -> None:
    Path("precious.txt").write_text("years of work")
    assert left_alone(tmp_path, "backup", "precious.txt") == (
        "precious.txt: this file exists; name another, or replace it (--force)"
    )
    run("backup", "precious.txt", "--force")
    with SqliteStore.open("precious.txt") as copy:
        assert copy.totals().pages == 3


def test_a_store_in_order_is_said_to_be() -> None:
    assert run("check").stdout.splitlines()[:2] == [
        "recrawl.db: no problems in the settings and the store: 3 pages, 3 visits, 1 body.",
        "No run is using it.",
    ]
    with SqliteStore.open("recrawl.db") as store, store.lock():
        assert "A run is using it." in run("check").stdout


def test_a_store_that_others_can_read_is_pointed_out() -> None:
    assert "Other users" not in run("check").stdout
    Path("recrawl.db").chmod(0o644)
    assert "Other users of this machine can read recrawl.db" in run("check").stdout


def test_damage_is_told_line_by_line() -> None:
    with closing(sqlite3.connect("recrawl.db")) as store, store:
        store.execute("UPDATE bodies SET deflated = x'00'")
    result = CliRunner().invoke(app, ["check"])
    assert result.exit_code == 1
    assert result.stdout == ""
    assert "does not match its digest" in result.stderr


def test_settings_that_cannot_be_used_are_refused() -> None:
    Path("recrawl.toml").write_text('[host."a.example"]\nignore = ["p["]\n')
    assert "p[" in refused("check")
    Path("recrawl.toml").write_text('on_change = "notify --key 4711\'"\n')
    reason = refused("check")
    assert "a quotation mark is missing in 'notify ••••'" in reason
    assert "4711" not in reason


def test_a_program_for_changes_that_is_not_there_is_a_problem() -> None:
    Path("recrawl.toml").write_text('on_change = "nosuchprogram --key 4711"\n')
    found = CliRunner().invoke(app, ["check"])
    assert found.exit_code == 1
    assert found.stderr == "recrawl: on_change: there is no program nosuchprogram\n"


def test_a_variable_that_is_misspelled_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RECRAWL_BUDGTE", "5/min")
    monkeypatch.setenv("RECRAWL_BUDGET", "5/min")
    told = run("check").stdout
    assert "The environment variable RECRAWL_BUDGTE is no setting, and is not used." in told
    assert "RECRAWL_BUDGET " not in told


def test_hosts_are_asked_on_request() -> None:
    with serving(Site({"/": "<p>Here.", "/robots.txt": "User-agent: *\nDisallow: /no"})) as site:
        run("add", f"{site.url}/", "--store", "other.db")
        asked = ["check", "--network", "--store", "other.db"]
        result = CliRunner().invoke(app, asked)
        assert result.exit_code == 1
        assert "127.0.0.1" in result.stderr
        assert site.requests == []
        Path("recrawl.toml").write_text("allow_private = true")
        assert "1 host asked; all of them responded." in run(*asked).stdout
        assert [request.path for request in site.requests] == ["/robots.txt"]
        site.pages["/robots.txt"] = "User-agent: *\nDisallow: /"
        assert "robots.txt does not allow" in CliRunner().invoke(app, asked).stderr
    result = CliRunner().invoke(app, asked)
    assert result.exit_code == 1
    assert "no connection" in result.stderr


def test_webhooks_that_are_not_well_are_named() -> None:
    run("add", "https://example.org/")
    run("webhook", "add", "https://example.org/hook")
    with SqliteStore.open("recrawl.db") as store:
        store.webhooks.disable(1, "the receiver answered 410 Gone")
    assert "Webhook 1 is disabled: the receiver answered 410 Gone.\n" in run("check").stdout

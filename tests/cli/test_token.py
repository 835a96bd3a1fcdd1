"""`recrawl token`: who may use the service."""

import json
import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

pytest.importorskip("fastapi", reason="the service needs recrawl[serve]")

from recrawl.cli.app import app
from recrawl.store.access import token_digest
from recrawl.store.sqlite import SqliteStore


def token(*arguments: str, store: Path) -> tuple[int, str]:
    done = CliRunner().invoke(app, ["token", *arguments, "--store", str(store)])
    return done.exit_code, done.output


def test_a_token_is_shown_once_and_only_its_digest_kept(tmp_path: Path) -> None:
    store = tmp_path / "recrawl.db"
    status, shown = token("add", "crawler-1", "--access", "crawl", store=store)
    assert status == 0
    assert re.fullmatch(r"rcrl_[\w-]{43}\n", shown)
    with SqliteStore.open(store) as opened:
        (kept,) = opened.service.tokens()
    assert (kept.name, kept.access, kept.digest) == (
        "crawler-1",
        "crawl",
        token_digest(shown.strip()),
    )
    assert shown.strip().encode() not in store.read_bytes()
    status, listed = token("list", "--format", "json", store=store)
    assert [one["name"] for one in json.loads(listed)] == ["crawler-1"]
    heading, listed = token("list", store=store)[1].splitlines()
    assert heading.split() == ["made", "(UTC)", "access", "name"]
    assert heading.index("access") == listed.index("crawl ")
    assert heading.index("name") == listed.index("crawler-1")


def test_a_revoked_token_is_gone(tmp_path: Path) -> None:
    store = tmp_path / "recrawl.db"
    token("add", "one", store=store)
    assert token("revoke", "one", store=store) == (0, "one is revoked.\n")
    assert "There are no tokens" in token("list", store=store)[1]
    status, said = token("revoke", "one", store=store)
    assert status == 2
    assert "there is no token 'one'" in said


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (("add", "x", "--access", "root"), "'root' is not an access level; choose one of read"),
        (("add", " "), "is not a name"),
        (("add", "a\x1b[31m"), "is not a name"),
        (("add", "taken"), "a token 'taken' already exists"),
    ],
)
def test_what_is_wrong_is_said_in_a_sentence(
    tmp_path: Path, arguments: tuple[str, ...], problem: str
) -> None:
    store = tmp_path / "recrawl.db"
    token("add", "taken", store=store)
    status, said = token(*arguments, store=store)
    assert status == 2
    assert problem in said
    assert "\x1b" not in said

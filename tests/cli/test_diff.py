"""What ``recrawl diff`` shows, and old copies and texts by ``recrawl get``."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from cli.crawling_site import move_to, run
from cli.on_a_terminal import in_a_terminal
from cli.refusing import refused
from store.made_up import HOUR, NOON, address, found, new_pages

from recrawl.records import DISALLOWED, Outcome, Response, State, Visit
from recrawl.store.sqlite import SqliteStore

URL = address(0)
FIRST = b"<h1>Soup</h1><ul><li>Leek<li>Pea</ul><p>Of <a href=/x>the</a> day\x1b[2J"
SECOND = FIRST.replace(b"Pea", b"Carrot")


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    move_to(tmp_path, monkeypatch)
    with SqliteStore.open("recrawl.db", create=True) as store:
        store.add(new_pages(2), at=NOON)
        for hours, body in enumerate([FIRST, SECOND, SECOND.replace(b"Carrot", b"Kale")]):
            store.record([found(store.pages([0])[0], body, NOON + hours * HOUR)])


def test_the_lines_that_differ_are_shown() -> None:
    lines = run("diff", URL).stdout.splitlines()
    assert lines[0] == f"--- {URL} 2026-01-01 13:00:00"
    assert lines[1] == f"+++ {URL} 2026-01-01 14:00:00"
    assert lines[3:7] == [" Soup", " Leek", "-Carrot", "+Kale"]
    older = run("diff", URL, "--from", "2", "--to", "1").stdout.splitlines()
    assert [line for line in older if line[0] in "-+"][2:] == ["-Pea", "+Carrot"]
    assert run("diff", URL, "--from", "0").stdout == (
        "The page's own text is the same in both copies; only what is around it may differ.\n"
    )


def test_a_terminal_has_colours_but_not_those_of_the_page() -> None:
    code, shown = in_a_terminal("diff", URL)
    assert code == 0
    assert "\x1b[31m-Carrot" in shown
    assert "\x1b[32m+Kale" in shown
    assert "\x1b[2J" not in shown


def test_there_are_as_many_versions_as_are_kept() -> None:
    assert refused("diff", URL, "--from", "3") == (
        f"--from: there is no version 3 of {URL}; there is 0 to 2"
    )
    assert "there is no copy yet" in refused("diff", address(1))


def test_a_page_that_has_not_changed_is_told_so() -> None:
    with SqliteStore.open("recrawl.db") as store:
        page = store.pages([1])[1]
        store.record([found(page, FIRST, NOON, Outcome.FIRST)])
    assert refused("diff", address(1)) == f"{address(1)}: the page has not changed yet"
    assert "--from: there is no version 2" in refused("diff", address(1), "--from", "2")
    with SqliteStore.open("recrawl.db") as store:
        page = replace(store.pages([1])[1], changes=1)
        store.record([found(page, FIRST, NOON + HOUR, Outcome.UNCHANGED)])
    assert "no older copy is kept; keep_versions" in refused("diff", address(1))


def test_a_picture_has_no_text() -> None:
    with SqliteStore.open("recrawl.db") as store:
        for number, body in enumerate((b"\x89PNG one", b"\x89PNG two")):
            visit = found(store.pages([1])[1], body, NOON + number * HOUR)
            answer = replace(visit.response, headers=(("Content-Type", "image/png; q=1"),))
            store.record([replace(visit, response=answer)])
    for command in ("get --text", "get --markdown", "get --main", "diff", "show --blocks"):
        name, *options = command.split()
        assert refused(name, address(1), *options) == f"{address(1)}: image/png has no text"
    assert run("get", address(1)).stdout_bytes == b"\x89PNG two"


@pytest.mark.parametrize(("life", "why"), [
    ({"state": State.REFUSED, "reason": DISALLOWED}, f": it is refused, {DISALLOWED}"),
    ({"state": State.MISSING, "failures": 1}, ": the page was not found"),
    ({"state": State.GONE, "failures": 3}, ": the page was not found"),
    ({"failures": 2}, f" yet: visits failed; `recrawl show {address(1)}` says why"),
    ({}, " yet; `recrawl run` makes one"),
])  # fmt: skip
def test_why_there_is_no_copy(life: dict[str, Any], why: str) -> None:
    with SqliteStore.open("recrawl.db") as store:
        page = replace(store.pages([1])[1], **life)
        store.record([Visit(page, Outcome.FAILED, Response(page.url, 0, NOON))])
    for command in (("get",), ("diff",), ("show", "--blocks")):
        assert refused(*command, address(1)) == f"{address(1)}: there is no copy{why}"


def test_older_copies_and_texts() -> None:
    assert run("get", URL, "--version", "2").stdout_bytes == FIRST
    assert run("get", URL, "--version", "1").stdout_bytes == SECOND
    assert run("get", URL, "--text", "--version", "2").stdout.splitlines()[:3] == [
        "Soup",
        "Leek",
        "Pea",
    ]
    markdown = "# Soup\n\n- Leek\n- Kale\n\nOf [the](https://host0.example/x) day"
    assert run("get", URL, "--markdown").stdout.startswith(markdown)
    assert run("get", URL, "--main").stdout.startswith("Soup\nLeek\nKale\nOf the day")
    assert "--headers: text has no headers" in refused("get", URL, "--headers", "--text")
    assert "choose either --text or --markdown" in refused("get", URL, "--text", "--markdown")
    assert "there is no version 9" in refused("get", URL, "--version", "9")


def test_compacting_says_how_much_space_it_gave_back() -> None:
    with SqliteStore.open("recrawl.db") as store:
        page = store.pages([1])[1]
        store.record([found(page, bytes(range(256)) * 8_000, NOON)])
        store.remove([page.url])
    assert "freed." in run("compact").stdout
    assert run("compact").stdout.endswith("there was no space to free.\n")
    with SqliteStore.open("recrawl.db") as store, store.lock():
        assert "another recrawl" in refused("compact")

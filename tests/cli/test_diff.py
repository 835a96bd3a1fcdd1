"""What ``recrawl diff`` shows, and old copies and texts by ``recrawl get``."""

from pathlib import Path

import pytest
from cli.crawling_site import move_to, run
from cli.on_a_terminal import in_a_terminal
from cli.refusing import refused
from store.made_up import HOUR, NOON, address, found, new_pages

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
        "The page's own text is the same in both; only what is around it may differ.\n"
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
    assert "--headers: a text has none" in refused("get", URL, "--headers", "--text")
    assert "there is no version 9" in refused("get", URL, "--version", "9")


def test_compacting_says_how_much_space_it_gave_back() -> None:
    with SqliteStore.open("recrawl.db") as store:
        page = store.pages([1])[1]
        store.record([found(page, bytes(range(256)) * 8_000, NOON)])
        store.remove([page.url])
    assert "given back." in run("compact").stdout
    assert run("compact").stdout.endswith("there was no space to give back.\n")
    with SqliteStore.open("recrawl.db") as store, store.lock():
        assert "another recrawl run" in refused("compact")

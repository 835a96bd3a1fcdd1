"""What ``recrawl add`` adds, and what it refuses."""

import time
from pathlib import Path

import pytest
from cli.crawling_site import move_to, run
from cli.refusing import left_alone, refused

from recrawl.records import State
from recrawl.store.sqlite import SqliteStore


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    move_to(tmp_path, monkeypatch)


def importance(url: str, store: str = "recrawl.db") -> float:
    with SqliteStore.open(store) as opened:
        page = opened.page(url)
    assert page is not None
    assert page.state is State.ALIVE
    return page.importance


def test_pages_are_added_to_a_new_store() -> None:
    printed = run("add", "HTTPS://A.example", "https://b.example/x#y").stdout
    assert printed == "recrawl.db: 2 new pages. `recrawl run` keeps them fresh.\n"
    printed = run("add", "https://c.example/").stdout
    assert printed == "recrawl.db: 1 new page. `recrawl run` keeps it fresh.\n"
    assert importance("https://a.example/") == importance("https://b.example/x") == 1.0


def test_known_pages_take_a_new_importance() -> None:
    run("add", "https://a.example/", "--importance", "3")
    assert importance("https://a.example/") == 3.0
    printed = run("add", "https://a.example/", "https://b.example/", "--importance", "2").stdout
    assert "1 new page, 1 page already known" in printed
    assert importance("https://a.example/") == 2.0
    run("add", "https://a.example/")
    assert importance("https://a.example/") == 2.0


def test_a_file_a_pipe_and_sitemaps() -> None:
    Path("urls.csv").write_text("url,importance\nhttps://a.example/,4\nhttps://b.example/,\n")
    run("add", "--file", "urls.csv", "--importance", "2", "--store", "my.db")
    assert importance("https://a.example/", "my.db") == 4.0
    assert importance("https://b.example/", "my.db") == 2.0
    run("add", "--file", "-", "--store", "my.db", given="# mine\nhttps://c.example/\n")
    assert importance("https://c.example/", "my.db") == 1.0
    printed = run("add", "--sitemap", "https://a.example/s.xml", "--store", "my.db").stdout
    assert printed.startswith("my.db: 1 sitemap to be read.")
    with SqliteStore.open("my.db") as store:
        assert [sitemap.url for sitemap in store.sitemaps.all()] == ["https://a.example/s.xml"]


def test_settings_say_where_the_store_is(monkeypatch: pytest.MonkeyPatch) -> None:
    Path("recrawl.toml").write_text('store = "file.db"\n', encoding="utf-8")
    run("add", "https://a.example/")
    monkeypatch.setenv("RECRAWL_STORE", "environment.db")
    run("add", "https://a.example/")
    run("add", "https://a.example/", "--store", "flag.db")
    assert {path.name for path in Path().glob("*.db")} == {"file.db", "environment.db", "flag.db"}


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ([], "URL: give a page, as in"),
        (["example.org"], "example.org: it must begin with http:// or https://"),
        (["https://a.example/", "ftp://a.example/"], "ftp://a.example/: ftp is not supported"),
        (["https://u:secret@a.example/"], "https://...@a.example/: it has a user name"),
        (["https://a.example/", "--importance", "-1"], "--importance: -1 is not a number, 0"),
        (["--sitemap", "sitemap.xml"], "sitemap.xml: it must begin with http:// or https://"),
        (["--file", "missing.txt"], "missing.txt: there is no such file"),
        (["https://a.example/", "--store", "no/such.db"], "no/such.db: there is no folder no"),
        (["https://a.example/", "--settings", "no.toml"], "no.toml: there is no such file"),
    ],
)
def test_what_cannot_be_added_leaves_nothing(
    tmp_path: Path, arguments: list[str], sentence: str
) -> None:
    assert left_alone(tmp_path, "add", *arguments).startswith(sentence)


def test_one_bad_row_and_nothing_is_added(tmp_path: Path) -> None:
    Path("urls.txt").write_text("https://a.example/\nb.example\n", encoding="utf-8")
    sentence = left_alone(tmp_path, "add", "--file", "urls.txt")
    assert sentence == "urls.txt, row 2: b.example: it must begin with http:// or https://"
    Path("none.txt").write_text("# nothing yet\n", encoding="utf-8")
    assert refused("add", "--file", "none.txt") == "none.txt: there are no pages in it"


@pytest.mark.parametrize("command", ["add", "remove"])
def test_a_file_given_as_a_page_is_told_how_to_give_it(command: str, tmp_path: Path) -> None:
    run("add", "https://a.example/")
    (tmp_path / "urls.txt").write_text("https://b.example/\n", encoding="utf-8")
    sentence = "urls.txt: this is a file; --file reads the URLs in it"
    assert refused(command, "urls.txt") == sentence
    assert "at most" in refused(command, f"{'x' * 5_000}.txt")


def test_something_else_is_not_written_to(tmp_path: Path) -> None:
    Path("notes.txt").write_text("my notes, which are no store, of course\n" * 9, encoding="utf-8")
    sentence = left_alone(tmp_path, "add", "https://a.example/", "--store", "notes.txt")
    assert sentence.startswith("notes.txt: ")


def test_a_hundred_thousand_pages_take_seconds_of_cpu_time() -> None:
    lines = "".join(f"https://a.example/{number}\n" for number in range(100_000))
    Path("urls.txt").write_text(lines, encoding="utf-8")
    begin = time.process_time()
    assert "100,000 new pages" in run("add", "--file", "urls.txt").stdout
    assert time.process_time() - begin < 60.0


def test_a_changed_importance_is_said() -> None:
    run("add", "https://a.example/", "https://b.example/")
    said = run("add", "https://a.example/", "https://b.example/", "--importance", "9").stdout
    assert "2 pages already known, the importance of 2 pages changed" in said
    again = run("add", "https://a.example/", "--importance", "9").stdout
    assert "importance" not in again

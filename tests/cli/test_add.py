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


NO_SCHEME = "it must begin with http:// or https://"
FTP = "ftp is not supported; http and https are"


def importance(url: str, store: str = "recrawl.db") -> float:
    with SqliteStore.open(store) as opened:
        page = opened.page(url)
    assert page is not None
    assert page.state is State.ALIVE
    return page.importance


def test_pages_are_added_to_a_new_store() -> None:
    printed = run("add", "HTTPS://A.example", "https://b.example/x#y").stdout
    assert printed == "recrawl.db: 2 new pages. `recrawl run` keeps them fresh.\n"
    printed = run("add", "https://c.example/x").stdout
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
        (["example"], "example: it must begin with http:// or https://"),
        (["urls.txt"], "urls.txt: it must begin with http:// or https://"),
        (["docs/a.example"], "docs/a.example: it must begin with http:// or https://"),
        (["me@a.example"], "me@a.example: it must begin with http:// or https://"),
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


@pytest.mark.parametrize(
    ("typed", "url"),
    [
        ("a.example", "https://a.example/"),
        ("A.example/b.txt?c=1", "https://a.example/b.txt?c=1"),
        ("bücher.example", "https://xn--bcher-kva.example/"),
        ("a.example:8443", "https://a.example:8443/"),
        ("localhost:8000", "http://localhost:8000/"),
        ("localhost/a", "http://localhost/a"),
        ("127.0.0.1:8000", "http://127.0.0.1:8000/"),
        ("192.0.2.7", "https://192.0.2.7/"),
    ],
)
def test_a_host_without_a_scheme_is_taken_for_its_url(typed: str, url: str) -> None:
    printed = run("add", typed).stdout
    assert f"{typed} is taken for {url}.\n" in printed
    assert importance(url) == 1.0
    assert run("remove", typed).stdout.startswith("recrawl.db: 1 page removed")
    run("add", "--sitemap", typed)
    with SqliteStore.open("recrawl.db") as store:
        assert [sitemap.url for sitemap in store.sitemaps.all()] == [url]


def test_a_file_that_exists_is_never_taken_for_a_host(tmp_path: Path) -> None:
    (tmp_path / "a.example").write_text("https://b.example/\n", encoding="utf-8")
    assert refused("add", "a.example") == "a.example: this is a file; --file reads the URLs in it"


def test_bad_rows_are_skipped_counted_and_named() -> None:
    good = "".join(f"https://a.example/{number},\n" for number in range(2_000))
    bad = "b.example,1\nhttps://b.example/,x\nhttps://b.example/\n,1\n" + "ftp://x/,\n" * 9
    Path("urls.csv").write_text(f"url,importance\n{good}{bad}https://z.example/,2\n")
    result = run("add", "--file", "urls.csv", "--skip-invalid")
    assert result.stdout.startswith("recrawl.db: 2,001 new pages.")
    assert result.stderr.splitlines() == [
        f"recrawl: urls.csv, row 2002, column 'url': b.example: {NO_SCHEME}",
        "recrawl: urls.csv, row 2003, column 'importance': 'x' is not a number, 0 or above",
        "recrawl: urls.csv, row 2004: has 1 cells, the header 2",
        "recrawl: urls.csv, row 2005, column 'url': is empty",
        *(
            f"recrawl: urls.csv, row {row}, column 'url': ftp://x/: {FTP}"
            for row in range(2006, 2012)
        ),
        "recrawl: and 3 more",
        "recrawl: 13 rows skipped",
    ]
    assert importance("https://z.example/") == 2.0


def test_lines_that_cannot_be_used_are_skipped_too() -> None:
    Path("urls.txt").write_text("https://a.example/\nb.example\n" + "x" * 1_200_000 + "\n")
    result = run("add", "--file", "urls.txt", "--skip-invalid")
    assert result.stdout.startswith("recrawl.db: 1 new page.")
    assert "recrawl: urls.txt, row 2: b.example: it must begin with" in result.stderr
    assert "row 3: the row is longer than 1 MB" in result.stderr


def test_a_file_without_a_row_that_can_be_used_is_refused(tmp_path: Path) -> None:
    Path("urls.txt").write_text("b.example\n", encoding="utf-8")
    sentence = left_alone(tmp_path, "add", "--file", "urls.txt", "--skip-invalid")
    assert sentence == "urls.txt, row 1: b.example: it must begin with http:// or https://"


MORE = "For more pages of a site, `recrawl run --follow` follows links, and `recrawl add --sitemap"


def test_who_adds_a_home_page_is_told_how_to_find_the_others() -> None:
    assert MORE in run("add", "https://a.example").stdout
    assert MORE not in run("add", "https://a.example/news").stdout
    assert MORE not in run("add", "https://a.example", "--sitemap", "https://a.example/s").stdout
    Path("recrawl.toml").write_text("follow = true\n", encoding="utf-8")
    assert MORE not in run("add", "https://a.example").stdout

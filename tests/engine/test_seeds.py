"""Pages named in a file."""

import gc
import gzip
import io
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from crawler.fakes import settings_of

from recrawl.config.site_tables import read_sites
from recrawl.engine.discovery.seeds import (
    checked_importance,
    named_page,
    no_collecting,
    read_seeds,
    with_importance,
    with_initial_importance,
)
from recrawl.errors import ArgumentError, InputError


def read(folder: Path, name: str, content: str | bytes) -> list[tuple[str, str, float | None]]:
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return [(page.url, page.host, page.importance) for page in read_seeds(path)]


def problem(folder: Path, name: str, content: str | bytes) -> str:
    with pytest.raises(InputError) as caught:
        read(folder, name, content)
    return str(caught.value).removeprefix(f"{folder / name}")


def test_a_line_is_a_page_and_comments_are_not(tmp_path: Path) -> None:
    text = (
        "# pages\n\nHTTP://A.example\r\n  https://b.example:444/x#top  \nhttps://c.example/ # c\n"
    )
    assert read(tmp_path, "urls.txt", text) == [
        ("http://a.example/", "a.example", None),
        ("https://b.example:444/x", "b.example:444", None),
        ("https://c.example/", "c.example", None),
    ]


def test_plain_lines_end_as_lines_do_anywhere(tmp_path: Path) -> None:
    text = "https://a.example/1\r\nhttps://a.example/2\nhttps://b.example/3\rhttps://a.example/4"
    assert [url for url, _, _ in read(tmp_path, "urls.txt", text)] == text.splitlines()
    # What only Python takes for the end of a line is a character of the URL.
    text = "https://a.example/1\nhttps://a.example/2\x85https://b.example/3\n"
    urls = [named_page(line).url for line in text.rstrip("\n").split("\n")]
    assert [url for url, _, _ in read(tmp_path, "urls.txt", text)] == urls
    said = problem(tmp_path, "urls.txt", text.replace("\x85", "\x1c"))
    assert "it contains control characters" in said


def test_a_table_may_tell_importance(tmp_path: Path) -> None:
    text = '\ufeffimportance,URL\n2.5,https://a.example/\n,"https://b.example/?q=1,2"\n\n'
    assert read(tmp_path, "urls.csv", text) == [
        ("https://a.example/", "a.example", 2.5),
        ("https://b.example/?q=1%2C2", "b.example", None),
    ]


def test_a_header_makes_a_table_whatever_the_name(tmp_path: Path) -> None:
    assert read(tmp_path, "pages", "url,importance\nhttps://a.example/,3\n")[0][2] == 3.0
    assert read(tmp_path, "urls.csv.gz", gzip.compress(b"url\nhttps://a.example/\n", mtime=0))


def test_standard_input_is_read_and_left_open(monkeypatch: pytest.MonkeyPatch) -> None:
    given = io.TextIOWrapper(io.BytesIO(b"https://a.example/\n"))
    monkeypatch.setattr(sys, "stdin", given)
    assert [page.url for page in read_seeds("-")] == ["https://a.example/"]
    assert not given.closed
    assert given.read() == ""


@pytest.mark.parametrize(
    ("name", "content", "problem_start"),
    [
        (
            "u.txt",
            "https://a.example/\n\nexample.org\n",
            ", row 3: example.org: it must begin with http://",
        ),
        (
            "u.txt",
            "https://a.example/\n" * 2_500 + "example.org\n",
            ", row 2501: example.org: it must begin with http://",
        ),
        ("u.txt", b"https://a.example/\xff\n", ", row 1: "),
        ("u.txt", "x" * 1_200_000, ", row 1: the row is longer than 1 MB"),
        ("u.txt", "", ": the file is empty"),
        ("u.csv", "https://a.example/,2\n", ", row 1: the column "),
        ("u.csv", "importance\n2\n", ", row 1: there is no column 'url'"),
        ("u.csv", "url,url\n", ", row 1, column 'url': appears twice"),
        ("u.csv", "url,importance\nhttps://a.example/\n", ", row 2: has 1 cells, the header 2"),
        ("u.csv", "url,importance\n,2\n", ", row 2, column 'url': is empty"),
        ("u.csv", "url\nftp://a.example/\n", ", row 2, column 'url': ftp://a.example/: ftp is not"),
        (
            "u.csv",
            "url,importance\nhttps://a.example/,-1\n",
            ", row 2, column 'importance': '-1' is",
        ),
        (
            "u.csv",
            "url,importance\nhttps://a.example/,inf\n",
            ", row 2, column 'importance': 'inf'",
        ),
        ("u.csv", "url,importance\nhttps://a.example/,x\n", ", row 2, column 'importance': 'x' is"),
    ],
)
def test_a_bad_row_is_named(
    tmp_path: Path, name: str, content: str | bytes, problem_start: str
) -> None:
    assert problem(tmp_path, name, content).startswith(problem_start)


def test_progress_tells_bytes(tmp_path: Path) -> None:
    path = tmp_path / "urls.txt"
    path.write_text("https://a.example/\n" * 5_000, encoding="utf-8")
    reports: list[tuple[int, int | None]] = []
    read_seeds(path, lambda done, total: reports.append((done, total)))
    assert len(reports) == 5
    assert {total for _, total in reports} == {path.stat().st_size}
    assert reports == sorted(reports)


def test_an_importance_of_its_own_is_kept() -> None:
    pages = [named_page("http://a.example/", 3.0), named_page("http://b.example/")]
    assert [page.importance for page in with_importance(pages, 2.0)] == [3.0, 2.0]
    assert [page.importance for page in with_importance(pages, None)] == [3.0, None]


@pytest.mark.parametrize("importance", [-1.0, float("nan"), float("inf")])
def test_an_importance_is_a_number_from_0_up(importance: float) -> None:
    with pytest.raises(ArgumentError, match="is not a number, 0 or above"):
        checked_importance(importance)


@pytest.mark.parametrize("size", [3, 200_000])
def test_a_table_with_a_cell_that_is_too_long_is_no_csv(size: int, tmp_path: Path) -> None:
    text = f"url,importance\nhttps://a.example/,{'1' * size}\n"
    if size == 3:
        assert len(read(tmp_path, "urls.csv", text)) == 1
    else:
        assert "this is not CSV" in problem(tmp_path, "urls.csv", text)


def test_the_importance_of_a_site_is_that_of_its_new_pages() -> None:
    pages = [named_page(f"https://{name}.example/") for name in "ab"]
    assert list(with_initial_importance(pages, settings_of())) == pages
    sites = read_sites({"host": {"a.example": {"importance": 3.0}}})
    found = with_initial_importance(pages, replace(settings_of(), sites=sites))
    assert [page.initial_importance for page in found] == [3.0, None]


@pytest.mark.parametrize("is_enabled", [True, False])
def test_the_garbage_collector_rests_while_pages_are_read(is_enabled: bool) -> None:
    before = gc.isenabled()
    try:
        (gc.enable if is_enabled else gc.disable)()
        with no_collecting():
            assert not gc.isenabled()
        assert gc.isenabled() is is_enabled
    finally:
        (gc.enable if before else gc.disable)()

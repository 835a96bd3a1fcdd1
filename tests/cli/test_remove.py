"""What ``recrawl remove`` takes away."""

from pathlib import Path

import pytest
from cli.crawling_site import move_to, run
from cli.refusing import refused
from crawler.filled import ABOUT, DAY, NEW, NEWS, fill

from recrawl.store.rows import NewPage
from recrawl.store.sqlite import SqliteStore


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    move_to(tmp_path, monkeypatch)


def test_pages_go_with_their_visits_and_copies() -> None:
    fill("recrawl.db", 20_000 * DAY)
    printed = run("remove", NEWS, NEWS, "https://nobody.example/").stdout
    assert printed == "recrawl.db: 1 page removed, 1 not in the store.\n"
    with SqliteStore.open("recrawl.db") as store:
        assert store.page(NEWS) is None
        assert store.page(ABOUT) is not None
        assert store.totals().with_copy == 1
        assert store.check() == []


def test_pages_in_a_file_go() -> None:
    fill("recrawl.db", 20_000 * DAY)
    Path("urls.txt").write_text(f"{NEWS}\n{ABOUT}\n", encoding="utf-8")
    assert run("remove", "--file", "urls.txt").stdout == "recrawl.db: 2 pages removed.\n"


def test_refusals() -> None:
    assert refused("remove").startswith("URL: give a page")
    assert "there is no store here" in refused("remove", NEWS)
    assert not Path("recrawl.db").exists()


MAP = "https://a.example/sitemap.xml"


def test_pages_that_match_a_pattern_go_and_others_stay() -> None:
    fill("recrawl.db", 20_000 * DAY)
    listed = run("remove", "--dry-run", "HTTPS://A.example/n*").stdout.splitlines()
    assert listed == [NEW, NEWS, "recrawl.db: 2 pages would be removed."]
    absent = run("remove", "--dry-run", NEWS, "https://a.example/absent").stdout.splitlines()
    assert absent == [NEWS, "recrawl.db: 1 page would be removed, 1 not in the store."]
    printed = run("remove", "https://a.example/n*").stdout.splitlines()
    assert printed[0] == "recrawl.db: 2 pages removed."
    assert "exclude" in printed[1]
    with SqliteStore.open("recrawl.db") as store:
        assert store.pages_at([NEW, NEWS, ABOUT]).keys() == {ABOUT}
        assert store.check() == []
    for options in ((), ("--dry-run",), (ABOUT,)):
        assert refused("remove", *options, "https://a.example/n*") == (
            "URL: no page in recrawl.db matches https://a.example/n*"
        )
    assert run("remove", ABOUT).stdout == "recrawl.db: 1 page removed.\n"


def test_what_was_removed_comes_back_only_by_hand() -> None:
    fill("recrawl.db", 20_000 * DAY)
    run("remove", NEWS)
    with SqliteStore.open("recrawl.db") as store:
        store.add([NewPage(NEWS, "a.example", source="sitemap")], at=0)
        assert store.page(NEWS) is None
    assert "1 new page" in run("add", NEWS).stdout


def test_sitemaps_go() -> None:
    run("add", "--sitemap", MAP)
    dry = run("remove", "--dry-run", "--sitemap", MAP).stdout.splitlines()
    assert dry == [MAP, "recrawl.db: 0 pages and 1 sitemap would be removed."]
    assert run("remove", "--sitemap", MAP).stdout == "recrawl.db: 1 sitemap removed.\n"
    again = run("remove", "--sitemap", MAP).stdout
    assert again == "recrawl.db: 0 sitemaps removed, 1 not in the store.\n"


def test_a_pattern_that_matches_no_page_is_refused() -> None:
    fill("recrawl.db", 20_000 * DAY)
    assert "a pattern of URLs begins with" in refused("remove", "ftp://a.example/*")

"""What ``recrawl remove`` takes away."""

from pathlib import Path

import pytest
from cli.crawling_site import move_to, run
from cli.refusing import refused
from crawler.filled import ABOUT, DAY, NEWS, fill

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

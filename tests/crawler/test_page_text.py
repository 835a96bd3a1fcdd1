"""The text of copies, for people who read them."""

from typing import Any

import pytest
from store.made_up import found

from recrawl.crawler.page_text import TextReader
from recrawl.crawler.settings import Settings
from recrawl.store.rows import NewPage
from recrawl.store.sqlite import SqliteStore

URL = "https://a.example/"
WORDS = "One long paragraph of running text that is certainly the page's own, and nobody else's."
PAGE = f"<nav><a href=/x>Home</a></nav><h1>Title</h1><p>{WORDS}<p id=price>7 euros".encode()


def lines(*, main: bool = False, **changed: Any) -> list[str]:  # noqa: ANN401
    with SqliteStore.open(":memory:") as store:
        store.add([NewPage(URL, "a.example")], 0)
        store.record([found(store.pages([0])[0], PAGE, 1)])
        copy = store.copy(URL)
        assert copy is not None
        reader = TextReader(store, Settings(**changed))
        return [block.text for block in reader.lines(copy, main=main)]


def test_the_text_is_that_of_the_page_without_what_is_around_it() -> None:
    assert lines() == ["Title", WORDS, "7 euros"]


def test_what_the_settings_leave_out_is_not_text() -> None:
    assert lines(ignore=("#price",)) == ["Title", WORDS]
    assert lines(fingerprint="selector", selector="#price") == ["7 euros"]


@pytest.mark.parametrize("changed", [{}, {"fingerprint": "selector", "selector": "#price"}])
def test_the_main_text_is_that_whatever_the_settings_say(changed: dict[str, Any]) -> None:
    assert WORDS in lines(main=True, **changed)
    assert "Home" not in lines(main=True, **changed)


def test_pages_that_are_compared_byte_by_byte_have_a_text_all_the_same() -> None:
    assert WORDS in lines(fingerprint="bytes")

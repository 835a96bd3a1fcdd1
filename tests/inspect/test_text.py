"""The text of copies, for people who read them."""

import asyncio
from typing import Any

import pytest
from store.made_up import found

from recrawl.config.settings import Settings
from recrawl.content.html.copy_text import CopySource, lines_of, text_of
from recrawl.content.html.text_diff import marked_diff
from recrawl.content.reader import Reader
from recrawl.errors import StoreError
from recrawl.inspect.text import CopyParser, TextReader
from recrawl.parsing.pool import ParsePool
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
        return lines_of(reader.source(copy, main=main))


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


HOSTILE = b"<p>x" * 400_000


def test_a_copy_that_takes_too_long_is_given_up_and_the_next_is_read() -> None:
    """The selector takes quadratic time in the parser, which nothing but a signal interrupts."""
    slow = Reader(ignore=("p:nth-last-child(3)",))
    with CopyParser(ParsePool(1)) as parser:
        with pytest.raises(StoreError, match=f"^{URL}: the text of this copy takes too much time"):
            parser.call(URL, text_of, CopySource(HOSTILE, "text/html", slow))
        next_one = CopySource(HOSTILE[:40_000], "text/html", Reader())
        assert parser.call(URL, text_of, next_one) == "x\n" * 10_000


def test_a_harmless_copy_needs_no_process() -> None:
    pool = ParsePool(1)
    with CopyParser(pool) as parser:
        assert parser.call(URL, text_of, CopySource(PAGE, "text/html", Reader()))
        assert pool.pids == []


def test_a_copy_that_cannot_be_parsed_is_named() -> None:
    with CopyParser(ParsePool(1)) as parser, pytest.raises(StoreError, match="cannot be parsed"):
        parser.call(URL, text_of, CopySource(PAGE, "text/html", None))  # type: ignore[arg-type]


def test_the_event_loop_goes_on_while_a_copy_is_parsed() -> None:
    async def main() -> int:
        slow = CopySource(HOSTILE, "text/html", Reader(ignore=("p:nth-last-child(3)",)))
        turns = 0
        with CopyParser(ParsePool(1)) as parser:
            asked = asyncio.create_task(parser.run(URL, marked_diff, slow, slow, 10, 10))
            while not asked.done():
                await asyncio.sleep(0.05)
                turns += 1
            with pytest.raises(StoreError):
                await asked
        return turns

    assert asyncio.run(main()) > 10

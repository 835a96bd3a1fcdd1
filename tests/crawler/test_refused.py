"""Pages that may no longer be read: readers of the feed are told, and the copy kept or dropped."""

from pathlib import Path

import pytest
from crawler.fakes import PER_SECOND, FakeWeb, crawl, failure, settings_of
from site_server import page_about

from recrawl.hosts import host_of
from recrawl.records import DISALLOWED, Response, State
from recrawl.store.changes import Cursor
from recrawl.store.rows import NewPage
from recrawl.store.sqlite import SqliteStore

URL, OTHER = "https://a.example/private", "https://a.example/open"
DAY = 86_400_000_000
TEXT = page_about("Anyone may read this, for now.")


@pytest.mark.parametrize("copies", ["keep", "drop"])
@pytest.mark.parametrize(
    "answer",
    [
        *(Response("", code, 0, error=f"the server answered {code}") for code in (401, 403, 451)),
        failure(DISALLOWED, permanent=True, requests=0),
    ],
)
def test_a_page_that_is_refused_is_told_of_and_is_back_when_it_can_be_read(
    tmp_path: Path, answer: Response, copies: str
) -> None:
    settings = settings_of(budget=PER_SECOND, refused_copies=copies)
    web = FakeWeb({URL: TEXT, OTHER: TEXT})
    with SqliteStore.open(tmp_path / "store.db", create=True) as store:
        store.add([NewPage(url, host_of(url)) for url in (URL, OTHER)], 0)
        crawl(web, store, settings, seconds=120)
        web.answers = {URL: answer, OTHER: TEXT}
        crawl(web, store, settings, seconds=120, begin=1 * DAY)
        page = store.page(URL)
        assert page is not None
        assert page.state is State.REFUSED
        kept = store.copy(URL)
        assert (kept is not None) == (copies == "keep")
        assert store.copy(OTHER) is not None
        assert store.check() == []
        # Checked again, and still refused: there is no more to say.
        crawl(web, store, settings, seconds=120, begin=5 * DAY)
        web.answers = {URL: TEXT, OTHER: TEXT}
        crawl(web, store, settings, seconds=120, begin=9 * DAY)
        found = [change for change in store.feed.read(Cursor(0), 99) if change.url == URL]
        assert [(change.kind.name.lower(), change.reason) for change in found] == [
            ("new", None),
            ("refused", answer.error),
            ("back", None),
        ]
        assert (found[1].before, found[1].after) == (found[0].after, None)
        assert found[2].after == found[0].after
        copy = store.copy(URL)
        assert copy is not None
        assert copy.response.body == TEXT.encode()

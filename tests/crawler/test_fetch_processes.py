"""Processes that fetch, as far as no server is needed."""

from pathlib import Path

import pytest

from recrawl import Crawler
from recrawl.crawler import restarting_process
from recrawl.crawler.fetch_processes import LearnedElsewhere
from recrawl.errors import RecrawlError


def test_a_crawl_ends_if_its_processes_cannot_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    starts = tmp_path / "starts"
    note = f"open({str(starts)!r}, 'a').write('x')"
    monkeypatch.setattr(restarting_process, "_PROGRAM", note)
    monkeypatch.setattr(restarting_process, "FIRST_PAUSE", 0.0)
    with Crawler(tmp_path / "recrawl.db", processes=2) as crawler:
        crawler.add(["http://127.0.0.1:9/"])
        with pytest.raises(RecrawlError, match="end as soon as they start"):
            crawler.run(300.0)
    # One of the two is given up, the other may have been started as often.
    tries = len(starts.read_text("ascii"))
    assert restarting_process.MAX_STARTS + 1 <= tries <= 2 * restarting_process.MAX_STARTS


def test_what_was_learned_elsewhere_is_written_once() -> None:
    templates = LearnedElsewhere()
    templates.receive({"a.example": b"1", "b.example": b"1"})
    templates.receive({"a.example": b"2"})
    assert templates.changed() == {"a.example": b"2", "b.example": b"1"}
    assert templates.changed() == {}

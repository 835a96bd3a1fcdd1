"""The demo web's pages and their content."""

import math
import re
from collections import Counter
from itertools import pairwise

import pytest

from recrawl.demo.pages import PageRenderer, draw_pages
from recrawl.demo.sites import SITES
from recrawl.demo.vocabulary import WORDS
from recrawl.errors import ArgumentError

PAGES = draw_pages(300, seed=3)
ORIGINS = [f"http://127.0.0.{2 + number}:80" for number in range(len(SITES))]
RENDERER = PageRenderer(3, PAGES, ORIGINS)
TEMPLATES = [text for site in SITES for text in (*site.topic.headlines, *site.topic.sentences)]


def lines(number: int, version: int) -> list[bytes]:
    return b"".join(RENDERER.render(PAGES[number], version)).split(b"\n")


def test_the_same_seed_gives_the_same_web() -> None:
    assert draw_pages(300, seed=3) == PAGES
    assert draw_pages(300, seed=4) != PAGES
    other = PageRenderer(3, draw_pages(300, seed=3), ORIGINS)
    assert other.render(PAGES[100], 5) == RENDERER.render(PAGES[100], 5)


@pytest.mark.parametrize("count", [5, 6, 7, 13, 60, 300])
def test_every_site_has_a_home_page_and_every_page_its_address(count: int) -> None:
    pages = draw_pages(count, seed=1)
    assert [page.number for page in pages] == list(range(count))
    assert len({(page.site, page.path) for page in pages}) == count
    homes = [page for page in pages if page.path == "/"]
    assert [page.site for page in homes] == list(range(len(SITES)))
    assert all(a.site <= b.site for a, b in pairwise(pages))


def test_too_few_pages_are_refused() -> None:
    with pytest.raises(ArgumentError, match="pages: 4 is too few"):
        draw_pages(4, seed=1)


def test_pages_live_as_their_sites_say() -> None:
    for page in PAGES:
        site = SITES[page.site]
        assert site.fastest <= page.gap <= site.slowest
        assert page.path == "/" or page.path.split("/")[1] in site.folders
    gaps = [page.gap for page in PAGES]
    assert min(gaps) == 2.0
    assert max(gaps) > 900.0
    shares = Counter(page.site for page in PAGES)
    assert [shares[number] / 300 for number in range(len(SITES))] == [
        pytest.approx(site.share, abs=0.01) for site in SITES
    ]


def test_a_third_of_the_pages_is_noisy() -> None:
    noisy = sum(bool(page.noise) for page in PAGES) / len(PAGES)
    expected = sum(site.share * site.noisy for site in SITES)
    assert expected == pytest.approx(1 / 3, abs=0.03)
    assert noisy == pytest.approx(expected, abs=4 * math.sqrt(expected / len(PAGES)))


def test_popularity_is_zipfs() -> None:
    importance = sorted((page.importance for page in PAGES), reverse=True)
    assert sum(importance) == pytest.approx(len(PAGES))
    assert importance[0] / importance[99] == pytest.approx(100**0.7)
    homes = {page.importance for page in PAGES if page.path == "/"}
    assert homes == set(importance[: len(SITES)])


def test_each_change_alters_one_block_and_nothing_else() -> None:
    for number in range(0, 300, 7):
        for version in range(12):
            before, after = lines(number, version), lines(number, version + 1)
            assert len(before) == len(after)
            differ = [old for old, new in zip(before, after, strict=True) if old != new]
            # A headline has its summary on the next line.
            assert len(differ) == (2 if differ[0].startswith(b"<h1>") else 1)


def test_no_version_comes_back() -> None:
    for number in range(0, 300, 3):
        printed = {b"".join(RENDERER.render(PAGES[number], version)) for version in range(60)}
        assert len(printed) == 60


def test_headlines_paragraphs_and_prices_all_change() -> None:
    shop = next(page.number for page in PAGES if SITES[page.site].priced)
    altered = Counter(
        old.partition(b">")[0]
        for version in range(100)
        for old, new in zip(lines(shop, version), lines(shop, version + 1), strict=True)
        if old != new
    )
    assert set(altered) == {b"<h1", b'<p class="summary"', b'<p class="price"', b"<p"}
    assert altered[b"<h1"] == altered[b'<p class="summary"']


def test_home_pages_lead_to_every_page() -> None:
    found = set()
    for page in PAGES:
        if page.path == "/":
            text = b"".join(RENDERER.render(page, 0)).decode()
            found |= {(page.site, path) for path in re.findall(r'href="(/[^"]*)"', text)}
    assert {(page.site, page.path) for page in PAGES} <= found


def test_sites_link_to_one_another() -> None:
    text = b"".join(piece for page in PAGES for piece in RENDERER.render(page, 0)).decode()
    assert set(re.findall(r'href="(http://[^/]*)/"', text)) == set(ORIGINS)


def test_pages_have_a_realistic_size_and_no_gaps() -> None:
    for page in PAGES:
        text = b"".join(RENDERER.render(page, 1)).decode()
        assert 1_500 < len(text) < 15_000
        assert "{" not in text


def test_every_gap_has_words_and_no_two_sentences_are_alike() -> None:
    gaps = {gap for text in TEMPLATES for gap in re.findall(r"\{(.*?)\}", text)}
    assert gaps == set(WORDS)
    skeletons = [re.sub(r"\{.*?\}", "{}", text) for text in TEMPLATES]
    assert len(set(skeletons)) == len(skeletons)

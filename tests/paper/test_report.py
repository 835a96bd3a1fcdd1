"""The report as a page: well-formed, whole in itself, and true to what it was made of."""

import base64
import re
from collections.abc import Mapping
from dataclasses import replace
from html.parser import HTMLParser
from importlib.metadata import version
from itertools import pairwise

import pytest
from paper.made_up import ORIGIN, made_up_section

from recrawl.paper.report import Origin, report_html
from recrawl.paper.section import Section

#: Elements that have no end.
VOID = {"meta", "img"}
SECTIONS = {"one": made_up_section("one"), "two": made_up_section("two", rows=45, timed=True)}


class Page(HTMLParser):
    """Reads a page, and refuses an element that is not closed where it should be."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.words: list[str] = []
        self.feed(html)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if "style" not in self.open:
            self.words.append(data)

    def values(self, attribute: str) -> list[str]:
        found = (attributes.get(attribute) for _, attributes in self.elements)
        return [value for value in found if value is not None]

    def count(self, tag: str) -> int:
        return sum(found == tag for found, _ in self.elements)

    @property
    def text(self) -> str:
        return "".join(self.words)


def page(sections: Mapping[str, Section] = SECTIONS, origin: Origin = ORIGIN) -> Page:
    return Page(report_html(sections, origin))


def test_every_element_is_closed_and_every_id_is_there_once() -> None:
    shown = page()
    ids = shown.values("id")
    assert len(ids) == len(set(ids))
    assert {link[1:] for link in shown.values("href") if link.startswith("#")} <= set(ids)
    assert {"one", "two", "claims", "origin"} <= set(ids)


def test_it_needs_nothing_from_elsewhere_and_runs_nothing() -> None:
    shown = page()
    assert all(source.startswith("data:image/svg+xml;base64,") for source in shown.values("src"))
    assert not {"script", "link", "iframe", "object"} & {tag for tag, _ in shown.elements}
    html = report_html(SECTIONS, ORIGIN)
    assert "http" not in html
    assert not re.search(r"@import|url\(", html)


def test_links_lead_to_the_files_that_stand_beside_it() -> None:
    files = {link for link in page().values("href") if not link.startswith("#")}
    parts = {f"{name}.{ending}" for name in SECTIONS for ending in ("png", "svg", "csv")}
    assert files == parts | {"claims.csv", "timings.json"}


def test_text_is_shown_as_it_was_given() -> None:
    """Nothing that looks like markup is taken for it."""
    shown = page()
    for section in SECTIONS.values():
        for text in (section.title, *section.text, section.pictures[0].caption):
            assert text in shown.text
        for claim in section.claims:
            assert claim.says in shown.text
            assert claim.measured in shown.text
    assert "<2>, \"&'" in shown.text
    assert shown.count("i") == shown.count("b") == 0


def test_pictures_are_inside_with_their_captions_for_who_cannot_see_them() -> None:
    images = [attributes for tag, attributes in page().elements if tag == "img"]
    for section, image in zip(SECTIONS.values(), images, strict=True):
        (picture,) = section.pictures
        source = (image["src"] or "").removeprefix("data:image/svg+xml;base64,")
        assert base64.b64decode(source) == picture.svg
        assert image["alt"] == picture.caption


def test_long_tables_show_their_first_rows_and_say_so() -> None:
    shown = page()
    assert "the first 20 of 45 rows of two.csv" in shown.text
    assert "all 3 rows of one.csv" in shown.text
    # A line of headings in each of three tables, 3 and 20 rows, and 4 claims.
    assert shown.count("tr") == 3 + 3 + 20 + 4
    assert "0.14286" in shown.text


def test_claims_are_in_the_papers_order_with_verdicts_in_words() -> None:
    words = page().text
    assert "4 claims: 2 hold, 2 do not hold" in words
    table = words[words.index("Verdict") :]
    positions = [table.index(text) for text in ("one: it does", "two: it does", '"one": within')]
    assert all(first < then for first, then in pairwise(positions))
    assert table.count("✓ holds") == table.count("✗ does not hold") == 2


def test_what_was_run_is_told() -> None:
    words = page().text
    assert "recrawl paper all --runs 20 --seed 3" in words
    assert f"with recrawl {version('recrawl')}" in words
    assert "VALUETOOLS 2020" in words
    assert "on up to 20 random runs" in words


def test_times_are_named_as_what_differs_where_there_are_any() -> None:
    assert "only timings, in timings.json" in page().text
    untimed = page({"one": SECTIONS["one"]})
    assert "timings" not in untimed.text
    assert "The same command gives the same numbers" in untimed.text


@pytest.mark.parametrize("rows", [0, 1])
def test_little_can_be_shown_too(rows: int) -> None:
    assert page({"one": made_up_section("one", rows=rows)}).count("details") == 1


def test_a_part_without_claims_and_pictures_is_shown() -> None:
    bare = replace(SECTIONS["one"], pictures=(), tables=(), claims=())
    shown = page({"one": bare})
    assert "claims" not in shown.values("id")
    assert "#claims" not in shown.values("href")


def test_the_same_sections_give_the_same_page() -> None:
    again = {"one": made_up_section("one"), "two": made_up_section("two", rows=45, timed=True)}
    assert report_html(again, ORIGIN) == report_html(SECTIONS, ORIGIN)

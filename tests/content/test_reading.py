"""Which bodies are read without a process that can be killed, which teach something, what stays."""

import gc

import pytest

from recrawl.content.absence import Patience
from recrawl.content.boilerplate.template import YOUNG, SiteTemplate
from recrawl.content.html import outline
from recrawl.content.reader import Reader
from recrawl.content.reading import (
    HARMLESS_BYTES,
    HARMLESS_ENDS,
    HARMLESS_STARTS,
    is_harmless,
    read_response,
)
from recrawl.records import Page, Response


def test_the_limits_are_those_that_were_measured() -> None:
    assert (HARMLESS_BYTES, HARMLESS_STARTS, HARMLESS_ENDS) == (12_000, 100, 200)


@pytest.mark.parametrize(
    ("piece", "most"), [(b"x", HARMLESS_BYTES), (b"<b>", HARMLESS_STARTS), (b"</b>", HARMLESS_ENDS)]
)
def test_all_bodies_together_are_harmless_up_to_each_limit(piece: bytes, most: int) -> None:
    half = most // 2
    assert is_harmless(piece * half, None, piece * (most - half))
    assert not is_harmless(piece * half, None, piece * (most - half + 1))


@pytest.mark.parametrize("lessons", [YOUNG - 1, YOUNG])
def test_the_same_markup_teaches_only_a_young_template(lessons: int) -> None:
    template, page, copy = SiteTemplate(), Page(1, "http://e.org/", "e.org"), b"<p>Soup</p>"
    for number in range(lessons):
        template.learn(number, {})
    taught = []
    for at, body in enumerate((copy, copy + b"<i></i>", copy + b"<i></i><script>1</script>")):
        response = Response(page.url, 200, at, (("content-type", "text/html"),), body)
        reading = read_response(
            page, response, Reader(), copy, patience=Patience(), template=template
        )
        page = reading.found.page
        taught.append(reading.sketches is not None)
    is_young = lessons < YOUNG
    assert taught == [is_young, True, is_young]


def test_what_was_read_is_freed_at_once() -> None:
    page = Page(1, "http://e.org/", "e.org", body=bytes(16), last_visit=0)
    response = Response(page.url, 200, 1, (("content-type", "text/html"),), b"<p>Soup</p>")
    gc.collect()
    gc.disable()
    try:
        reading = read_response(
            page, response, Reader(), b"<p>Salad</p>", patience=Patience(), template=SiteTemplate()
        )
        left = [found for found in gc.get_objects() if type(found) is outline.Block]
    finally:
        gc.enable()
    assert reading.sketches
    assert left == []


@pytest.mark.parametrize("excess", [0, 1])
def test_pages_with_too_many_tags_are_not_remembered(
    monkeypatch: pytest.MonkeyPatch, excess: int
) -> None:
    monkeypatch.setattr(outline, "_MAX_TAGS", 4)
    tags, lines = outline._TAGS.copy(), outline._LINES.copy()  # noqa: SLF001 - what is remembered
    new = f"new{excess}"
    html = f"<p id='{new}'>{new}</p>" + "<hr>" * (2 + excess)
    assert [block.text for block in outline.outline(html)] == [new]
    is_new = (tags != outline._TAGS, lines != outline._LINES)  # noqa: SLF001
    assert is_new == (not excess, not excess)

"""What elements are called, from what the parser writes."""

from time import process_time

import pytest
from hypothesis import given
from hypothesis import strategies as st
from selectolax.lexbor import LexborHTMLParser

from recrawl.content.html.outline import Element, _split, outline


def elements(attributes: str) -> list[Element]:
    """Return the elements of the lines in a div with these attributes."""
    body = LexborHTMLParser(f"<div {attributes}>text</div>").body
    assert body is not None
    return [line.element for line in outline(body.inner_html or "")]


@pytest.mark.parametrize(
    ("attributes", "name"),
    [
        ("class=menu", "div.menu"),
        ("title=' class='", "div"),
        ("title=' class=' class=menu", "div.menu"),
        ("title=' id=' class=menu id=top", "div#top.menu"),
        ("title='&quot; id=&quot;top'", "div"),
        ("class=menu hidden", "div.menu[hidden]"),
        ("title=' hidden=' class=menu", "div.menu"),
        ("role=note style='display:none'", "div@note[hidden]"),
        ("title=' style=&quot;display:none'", "div"),
    ],
)
def test_an_attribute_is_not_looked_for_in_the_value_of_another(attributes: str, name: str) -> None:
    assert [element.name for element in elements(attributes)] == [name]


@given(st.lists(st.sampled_from(["id", "class", "x", " ", "=", '"', "'"]), max_size=20))
def test_any_attributes_can_be_read(parts: list[str]) -> None:
    for element in elements("".join(parts)):
        assert element.tag == "div"


@given(st.text(alphabet="<>/ab =\"'", max_size=60))
def test_the_text_is_what_the_parser_says_wherever_brackets_are(page: str) -> None:
    body = LexborHTMLParser(page).body
    assert body is not None
    lines = [block.text for block in outline(body.html or "") if not block.is_link]
    assert "".join("".join(lines).split()) == "".join(body.text().split())


@pytest.mark.parametrize("part", [' <a=""', '<a "" ', '<a"', "<a", "<br<", "< "])
def test_brackets_without_end_are_scanned_once(part: str) -> None:
    times = list[float]()
    for count in (10_000, 100_000):
        begin = process_time()
        texts = _split("<p>Soup</p>" + part * count)
        times.append(process_time() - begin)
        assert texts[:4] == ["", "p", "Soup", "/p"]
    # If each bracket were a new start, it would take a hundred times as long.
    assert times[1] < 40 * times[0] + 0.1

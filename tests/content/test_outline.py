"""What elements are called, from what the parser writes."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from selectolax.lexbor import LexborHTMLParser

from recrawl.content.outline import Element, outline


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
    ],
)
def test_an_attribute_is_not_looked_for_in_the_value_of_another(attributes: str, name: str) -> None:
    assert [element.name for element in elements(attributes)] == [name]


@given(st.lists(st.sampled_from(["id", "class", "x", " ", "=", '"', "'"]), max_size=20))
def test_any_attributes_can_be_read(parts: list[str]) -> None:
    for element in elements("".join(parts)):
        assert element.tag == "div"

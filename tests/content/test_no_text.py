"""Pages that scripts write are told from those with text, at a glance."""

import pytest

from recrawl.content.html.no_text import MAX_BYTES, MAX_TAGS, has_no_text

SHELL = """<!doctype html><html><head><title>A shop with a long name</title>
<style>body { margin: 0; font-family: sans-serif; color: #123456; background: white }</style>
</head><body><noscript>You need to enable JavaScript to run this app, or any other of ours.
</noscript><!-- A comment that is longer than the text that a page must have to be one. -->
<div id="root">&nbsp;Loading…</div><SCRIPT>var text = "a script that is very long"</SCRIPT >
</body></html>"""
TEXT = "<p>Once upon a time, there was a page that everybody could read, even without scripts.</p>"
SCRIPT = "<script>track()</script>"


def of(page: str, kind: str | None = "text/html; charset=utf-8") -> bool:
    return has_no_text(page.encode(), kind)


@pytest.mark.parametrize(
    "page", [SHELL, "<script src=app.js>", f"<h1>Shop</h1>{SCRIPT}", f"<svg>{TEXT}</svg>{SCRIPT}"]
)
def test_a_page_that_scripts_write_has_no_text(page: str) -> None:
    assert of(page)
    assert of(page, None) == page.startswith("<")


@pytest.mark.parametrize(
    "page",
    [
        SCRIPT + TEXT,
        TEXT + SCRIPT,
        SHELL.replace("<div", f"{TEXT}<div"),
        # Without scripts, what is there is all there is.
        "<p>OK</p>",
        "",
        # Nothing is said of what was not looked at.
        SCRIPT + "<br>" * MAX_TAGS + TEXT,
        f"{SCRIPT}<style>{' ' * MAX_BYTES}</style>{TEXT}",
    ],
)
def test_other_pages_have(page: str) -> None:
    assert not of(page)


def test_only_html_is_looked_at() -> None:
    assert not of("<script>", "application/json")

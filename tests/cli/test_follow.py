"""Links that lead to pages with odd names, and to files that are not pages."""

from pathlib import Path

import pytest
from cli.crawling_site import has_copies, move_to, run, run_until
from site_server import Site, page_about, serving

ODD = ("/js", "/css", "/docs/png", "/zip", "/node.js", "/topics/vue.js")


def test_pages_are_told_from_files_by_media_type(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    move_to(tmp_path, monkeypatch)
    pages = {"/": page_about("Home.", links=(*ODD, "/app.js", "/photo.png"))}
    pages |= {path: page_about(f"About {path}.") for path in ODD}
    pages |= {"/app.js": '<a href="/from-script">', "/photo.png": "a picture"}
    files = {"/app.js": {"Content-Type": "text/javascript"}}
    with serving(Site(pages, headers=files)) as site:
        run("add", f"{site.url}/")
        limits = ("--budget", "100/s", "--host-delay", "0s", "--allow-private", "--follow")
        run_until(
            lambda store: has_copies(1 + len(ODD))(store) and store.totals().refused == 1, *limits
        )
        assert {path: len(site.asked(path)) for path in ODD} == dict.fromkeys(ODD, 1)
        assert len(site.asked("/app.js")) == 1
        assert not site.asked("/photo.png")
        assert not site.asked("/from-script")
        listed = run("pages", "--state", "refused").output
        assert "not a page: text/javascript" in listed
        shown = run("show", f"{site.url}/app.js").output
        assert "not a page: text/javascript" in shown

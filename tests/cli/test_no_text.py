"""Pages with next to no text are flagged, wherever pages are shown."""

import json
from pathlib import Path

import pytest
from cli.crawling_site import has_copies, move_to, run, run_until
from site_server import Site, page_about, serving

SHELL = '<!doctype html><title>App</title><div id="root"></div><script src="/app.js"></script>'
FLAG = "no text without JavaScript?"


def test_a_page_without_text_is_flagged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    move_to(tmp_path, monkeypatch)
    text = page_about("Once upon a time, there was a page that everybody could read at once.")
    with serving(Site({"/app": SHELL, "/text": text})) as site:
        app, page = f"{site.url}/app", f"{site.url}/text"
        run("add", app, page)
        limits = ("--budget", "100/s", "--host-delay", "0s", "--allow-private")
        run_until(has_copies(2), *limits)
    assert FLAG in run("show", app).output
    assert FLAG not in run("show", page).output
    assert json.loads(run("show", app, "--format", "json").output)["no_text"] is True
    listed = json.loads(run("pages", "--format", "json").output)
    assert {row["page"]: row["no_text"] for row in listed} == {app: True, page: False}
    flags = [line.endswith(",true") for line in run("pages", "--format", "csv").output.split()]
    assert flags == [False, True, False]
    assert FLAG in run("pages").output.replace("\n", " ")

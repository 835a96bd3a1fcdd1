"""A crawl with a login, cookies and secret headers: none of them is in what it leaves behind."""

import gzip
import logging
from pathlib import Path

import pytest
from site_server import Site, page_about, serving
from typer.testing import CliRunner

from recrawl.cli.app import app
from recrawl.crawler.crawler import Crawler
from recrawl.hosts import host_of
from recrawl.http.access import basic_auth

#: Seconds after which a run ends although nothing happened: far more than any takes.
LONG = 300.0
SECRETS = ("open-sesame", basic_auth("me:open-sesame").partition(" ")[2], "cookie-4711", "key-4712")


def test_store_exports_and_logs_have_no_secrets(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SITE_KEY", "key-4712")
    caplog.set_level(logging.DEBUG)
    site = Site(
        {"/a": page_about("Members only.")},
        status={"/b": 500},
        headers={"/a": {"Set-Cookie": "session=cookie-4711"}},
    )
    with serving(site):
        domain = host_of(site.url).partition(":")[0]
        Path("cookies.txt").write_text(
            f"{domain}\tFALSE\t/\tFALSE\t0\tsession\tcookie-4711\n", encoding="utf-8"
        )
        table = {
            "auth": "me:open-sesame",
            "cookies": "cookies.txt",
            "headers": {"X-Key": "env:SITE_KEY"},
        }
        with Crawler(budget="60/s", allow_private=True, host={host_of(site.url): table}) as crawl:
            crawl.add([f"{site.url}/a", f"{site.url}/b"])
            crawl.run(LONG, watch=lambda stats: crawl.stop() if stats.visits >= 2 else None)
    sent = site.asked("/a")[0].headers
    assert sent["Authorization"] == basic_auth("me:open-sesame")
    assert (sent["Cookie"], sent["X-Key"]) == ("session=cookie-4711", "key-4712")
    for command in (["log", "log.csv"], ["copies", "copies.warc.gz"]):
        assert CliRunner().invoke(app, ["export", *command]).exit_code == 0
    left = [path.read_bytes() for path in tmp_path.iterdir() if path.name != "cookies.txt"]
    assert len(left) >= 3
    printed = caplog.text.encode() + b"".join(left) + unpacked(tmp_path / "copies.warc.gz")
    assert b"Members only." in printed
    for secret in SECRETS:
        assert secret.encode() not in printed


def unpacked(path: Path) -> bytes:
    return gzip.decompress(path.read_bytes())

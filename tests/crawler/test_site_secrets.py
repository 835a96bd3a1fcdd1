"""A crawl with a login, cookies and secret headers: none of them is in what it leaves behind."""

import gzip
import logging
from pathlib import Path

import pytest
from site_server import Site, page_about, serving
from typer.testing import CliRunner

from recrawl.cli.app import app
from recrawl.config.access import site_access
from recrawl.config.secrets import MASK, Secret, without_arguments
from recrawl.config.settings import Settings
from recrawl.config.sources import load_settings
from recrawl.crawler.crawler import Crawler
from recrawl.errors import SettingsError
from recrawl.hosts import host_of
from recrawl.http.access import Proxy, basic_auth

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


def test_secrets_and_cookies_are_read_once(tmp_path: Path) -> None:
    """Tables may meet for the first time in mid-crawl, when a file is not there any more."""
    (tmp_path / "jar.txt").write_text("a.example\tFALSE\t/\tFALSE\t0\tn\tv\n", encoding="utf-8")
    (tmp_path / "login.txt").write_text("me:open-sesame", encoding="utf-8")
    file = tmp_path / "recrawl.toml"
    file.write_text(
        '[host."a.example"]\ncookies = "jar.txt"\nauth = "file:login.txt"\n'
        '[url."https://a.example/news/*"]\nheaders = { X-Key = "4712" }\n'
    )
    access = site_access(load_settings(file=file, environ={}))
    (tmp_path / "jar.txt").unlink()
    (tmp_path / "login.txt").unlink()
    url = "https://a.example/news/today"
    assert access(url).headers_for(url, 0.0) == {
        "Authorization": basic_auth("me:open-sesame"),
        "Cookie": "n=v",
        "X-Key": "4712",
    }


def test_a_proxy_for_all_may_be_in_a_file_next_to_the_settings(tmp_path: Path) -> None:
    (tmp_path / "proxy.txt").write_text("http://proxy.example:3128\n", encoding="utf-8")
    file = tmp_path / "recrawl.toml"
    file.write_text('proxy = "file:proxy.txt"\n')
    proxy = site_access(load_settings(file=file, environ={}))("https://a.example/").proxy
    assert proxy == Proxy("http://proxy.example:3128")


@pytest.mark.parametrize(
    ("content", "problem"),
    [(b"\xff\xfe", "this is not text in UTF-8"), (b" \n", "the file is empty"), (None, "No such")],
)
def test_a_file_without_a_secret_is_an_error_that_names_it(
    content: bytes | None, problem: str, tmp_path: Path
) -> None:
    path = tmp_path / "token"
    if content is not None:
        path.write_bytes(content)
    secret = Secret(f"file:{path}")
    with pytest.raises(SettingsError, match=problem) as caught:
        secret.reveal("headers")
    assert str(caught.value).startswith(f"headers: {path}: ")


def test_a_secret_is_in_no_text_about_the_settings() -> None:
    secret = Secret("sesame")
    assert "sesame" not in f"{secret} {secret!r} {Settings(proxy=secret)!r}"
    assert without_arguments(" notify --key very ") == f"notify {MASK}"
    assert without_arguments("notify") == "notify"

"""One identity of a host: odd spellings, ports and punycode, one by one and in columns."""

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recrawl.hosts import host_of, number_hosts

SIGNS = "aZ0%/.;?&=:@#[]\\ ü\u3002\u00a0\t\n\x1c\x85hHtTpPsS0x4388"
ODD = st.text(st.sampled_from(SIGNS), max_size=20)
URLS = st.builds(
    "{}{}://{}{}".format,
    st.sampled_from(["", " ", "\t", "\u00a0"]),
    st.sampled_from(["http", "HTTPS", "ht\ttp", "ftp"]),
    st.one_of(st.sampled_from(["a.org", "A.org.", "a.org:443", "u:p@a.org", "[::1]:80"]), ODD),
    ODD,
)
NAMES = st.one_of(URLS, ODD, st.text(max_size=20))


@pytest.mark.parametrize(
    "url",
    ["https://a.org:443/x", "https://A.org/", "https://a.org.", "https://a.org:/", " https://a.org",
     "https://user:secret@a.org/", "HTTP://a.org:80?q", "http://a.org#top", "https://a.o\trg\\x",
     "https://ａ.org/", "https://a。org/"],
)  # fmt: skip
def test_spellings_of_one_host_are_one_host(url: str) -> None:
    assert host_of(url) == "a.org"


@pytest.mark.parametrize(
    ("url", "host"),
    [
        ("https://a.org:80/", "a.org:80"),
        ("ftp://a.org:21/", "a.org:21"),
        ("http://Bücher.example/", "xn--bcher-kva.example"),
        ("http://xn--bcher-kva.example/", "xn--bcher-kva.example"),
        ("http://0x7f.1/", "127.0.0.1"),
        ("http://[::0:1]:80/", "[::1]"),
        ("http://A b:x/", "a b:x"),
        ("docs/install.md", ""),
        ("mailto:x@a.org", ""),
        ("file:///x", ""),
        ("//a.org/x", ""),
        ("", ""),
    ],
)
def test_ports_notations_and_names_without_a_host(url: str, host: str) -> None:
    assert host_of(url) == host


@given(st.lists(NAMES, min_size=1, max_size=8))
def test_a_column_of_names_has_the_hosts_of_its_cells(names: list[str]) -> None:
    numbers, hosts = number_hosts(pa.array(names, pa.large_string()))
    assert [hosts[number] for number in numbers] == [host_of(name) for name in names]
    assert hosts == list(dict.fromkeys(host_of(name) for name in names))


def test_whole_numbers_share_one_host() -> None:
    numbers, hosts = number_hosts(pa.array([7, 8]))
    assert (numbers.tolist(), hosts) == ([0, 0], [""])
